// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kernel/fs_credentials.h"

namespace ogh {

/** Where an AtomicFile is made: the directory, which outlives it, what it is to be called, and as whose. */
struct AtomicPlace {
    int directory;
    std::string name;
    std::string path;                   ///< in the container, for messages
    std::optional<FsCredentials> owner; ///< see act_for()
};

/**
 * A file of a container in the making, or a device node or a symlink: whole under a temporary name before it gets its
 * own, so that a reader sees the old one or the new one, and a symlink of the image is replaced, never followed.
 *
 * The temporary name of NAME is always `.oci-gpu-hooks-NAME`, so that what a process leaves that is killed goes with the
 * next one that makes NAME. Of several processes that may do so one at a time makes such files: see ContainerWriter.
 */
class AtomicFile final {
public:
    /** Makes something of that name in `directory`. @return 0 or an error number */
    using Make = std::function<int(int directory, const std::string &name)>;

    /**
     * Writes a plain file.
     * @throws SystemError; Error if something has the temporary name that is not left of an earlier run
     */
    AtomicFile(AtomicPlace place, std::string_view content, mode_t mode);

    /** The same for something else, which `make` makes. */
    AtomicFile(AtomicPlace place, const Make &make);
    AtomicFile(const AtomicFile &) = delete;
    AtomicFile &operator=(const AtomicFile &) = delete;
    ~AtomicFile(); ///< takes it away unless it has got its name

    /**
     * Gives it its name. What had that before is there as long as this is: under the temporary name.
     * @return whether nothing had the name, or that cannot be kept, on a filesystem whose renames know no exchange
     * @throws SystemError; a mount point or a directory cannot be replaced
     */
    bool exchange();

    [[nodiscard]] const AtomicPlace &place() const { return place_; }

    /** Takes away what has the temporary name. */
    void discard() noexcept;

    /** What had the name before exchange() has it again. */
    void change_back() noexcept;

    /**
     * Takes away what a process that was killed has left of this name.
     * @return false if it cannot be that: it stays
     * @throws SystemError
     */
    [[nodiscard]] static bool remove_leftover(const AtomicPlace &place);

    /** Whether something has the temporary name. */
    [[nodiscard]] static bool has_leftover(const AtomicPlace &place);

private:
    [[nodiscard]] Acted make_new(const std::function<int()> &make) const;
    [[nodiscard]] int rename(unsigned flags) const;

    AtomicPlace place_;
    std::string temporary_; ///< "" once nothing of it has this name any more
};

} // namespace ogh
