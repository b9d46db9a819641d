// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/sysroot.h"

namespace ogh {

inline constexpr size_t max_key_file = size_t{1} << 20U; ///< bytes

/** Whether the hook gives what leases are taken on, which a quota counts. */
bool takes_leases(std::string_view hook);

/** What whoever has a key may have at most, besides what the options of the hook allow. */
struct KeyLimits {
    std::optional<std::string> allow;              ///< as --allow
    std::optional<unsigned> max_devices;           ///< as --max-devices
    std::optional<std::string> allow_capabilities; ///< as --allow-capabilities
    /** At most so many devices at once for all that ask with a key of the line's name. */
    std::optional<unsigned> quota = {};
};

/** One line of a key file. */
struct Key {
    std::string hash; ///< SHA-256 of the key
    std::string name; ///< for people; not secret: what counts in a quota can be read by all
    KeyLimits limits = {};
    /**
     * Whom it serves. Of a container's variables nobody can tell which its pipeline has set, and which its image: an image
     * is not to ask with the pipeline's key for what that has no thought of, so all but GPUs have to be named.
     */
    std::vector<std::string> hooks = {"amd-kfd", "nvidia-devices"};

    [[nodiscard]] bool serves(std::string_view hook) const;
};

/**
 * The keys of --key-file. The file holds no key, only what tells a right one: a line each of the SHA-256 in hex, a name,
 * and perhaps whom it serves, and limits,
 *
 *     9f86d08…0a08 nightly --for nvidia-devices --max-devices 1 --quota 2 --allow 0,1 --allow-capabilities compute
 *
 * Blank lines and those that begin with # say nothing.
 */
class KeyFile final {
public:
    /** @throws Error (BrokenHost) with the number of a line that is wrong, and nothing of what it says */
    explicit KeyFile(std::string_view text);

    /**
     * In constant time: each line is compared in full.
     * @return of several lines for this key the last one that serves the hook, or one that does not if none does; nullptr
     *         if no line is for this key
     */
    [[nodiscard]] const Key *find(std::string_view key, std::string_view hook) const;

    [[nodiscard]] const std::vector<Key> &keys() const { return keys_; } ///< in the order of their lines

private:
    std::vector<Key> keys_;
};

/**
 * @param path absolute; no component may be a symlink
 * @return what is in it, which KeyFile understands; nothing if it is not there
 * @throws Error (BrokenHost) if it is not a plain file of root's with mode 0600 or less, or others may exchange it or a
 *         directory on the way to it
 */
std::optional<std::string> read_key_text(const Sysroot &sysroot, const std::string &path);

/** The same, understood. @throws Error (BrokenHost) also if it is not there, or a line is wrong */
KeyFile read_key_file(const Sysroot &sysroot, const std::string &path);

/** The words of a line: a hash, a name, options with their values. None of a blank line or a comment. */
std::vector<std::string> key_words(std::string line);

} // namespace ogh
