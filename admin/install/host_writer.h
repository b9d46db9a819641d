// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/undo_log.h"
#include "base/unique_fd.h"
#include "host/sysroot.h"

namespace ogh::admin {

/** What lies where a file is to be. */
struct PresentFile {
    bool exists = false;
    bool is_plain = false; ///< and not a symlink, a folder or anything else
    std::string text;      ///< of a plain file
};

/**
 * Writes files of the host below a sysroot, as root. No symlink is followed, not even in the folders on the way: that of
 * an administrator may lead anywhere, and is theirs to know. Each change is whole or not at all, on the disk before the
 * next one is made, and on the undo log: what is not kept is taken back.
 */
class HostWriter final {
public:
    explicit HostWriter(const Sysroot &sysroot);

    /** Before anything is written; until then nothing is made. @throws Error (Busy) if another process has the lock */
    void lock();

    /** @throws Error (BrokenHost) if a folder on the way is a symlink, or others than root may write to it */
    [[nodiscard]] PresentFile look(const std::string &path) const;

    /**
     * Gives the file this text, root as its owner, and mode 0644; makes the folders on the way.
     * @param way where the file lies under another name until it is whole: a folder of the same filesystem in which that
     *        does no harm
     * @throws Error
     */
    void write(const std::string &path, std::string_view text, const std::string &way);

    /**
     * Puts a copy of a program in the place of what is there, with root as its owner and mode 0755, after the copy on
     * the disk was compared. This is not on the undo log.
     * @param source open for reading @param source_path that names it
     * @param kept the name in the same folder that what was there has from then on; "" for none
     * @throws Error; what was there is there then
     */
    void copy(const std::string &source_path, int source, const std::string &path,
              const std::string &kept) const;

    /** @throws Error; a file that is not there is none */
    void remove(const std::string &path);

    /** What was done stays. */
    void keep() noexcept { undo_.drop(); }

private:
    [[nodiscard]] std::optional<UniqueFd> open_folder(const std::string &path) const;
    UniqueFd make_folder(const std::string &path);
    void replace(const std::string &path, std::string_view text, const std::string &way) const;
    void unlink(const std::string &path) const;

    UniqueFd root_;
    UniqueFd lock_;
    UndoLog undo_;
};

} // namespace ogh::admin
