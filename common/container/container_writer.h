// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/resolver.h"
#include "edits/edits.h"
#include "edits/inner_path.h"
#include "kernel/fs_credentials.h"
#include "kernel/progress.h"

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

/**
 * Makes directories, files, device nodes and symlinks in an entered container, and puts on the undo log that they go, and that
 * what had their names is there again.
 */
class ContainerWriter final {
public:
    /**
     * @param resolver, progress outlive this; this outlives what it adds to the undo log
     * @param owner of what is made: the container's root where that is not this process's own
     */
    ContainerWriter(Resolver &resolver, std::optional<FsCredentials> owner, Progress &progress);
    ContainerWriter(const ContainerWriter &) = delete;
    ContainerWriter &operator=(const ContainerWriter &) = delete;

    /**
     * As Resolver::mount_target(); where nothing has the name an empty placeholder is made, together with the directories
     * above it.
     * @throws Error also if it would have to be made in a volume
     */
    Target mount_target(const InnerPath &path, Kind kind);

    /** The same as Resolver::node_target(). */
    std::optional<Target> node_target(const InnerPath &path, const Resolver::IsRight &is_right);

    /** What shall have a name, besides directories and plain files. */
    struct Entry {
        AtomicFile::Make make;
        std::function<bool(int fd, const Inode &)> is_right; ///< whether what has the name (O_PATH) will do
    };

    /**
     * Makes a device node or a symlink. What the image has under that name is replaced, never opened or followed,
     * unless it will do.
     * @return whether it was made
     * @throws Error if a directory or a mount has the name, or nothing may be made there
     */
    bool make_entry(const InnerPath &path, const Entry &entry);

    /**
     * Writes a file under a temporary name in its directory, which is made if need be; replace() gives it its name.
     * @return this object's, which removes it at its end if it has not got its name
     * @throws Error if nothing may be made there, because it lies in a volume or on a shared mount
     */
    AtomicFile &write(const FileEdit &file);

    /** Gives a file its name, and puts on the undo log what had that. @throws Error */
    void replace(AtomicFile &file);

private:
    const InnerDirectory &directory(const std::string &path);
    std::optional<UniqueFd> make(const InnerDirectory &parent, const InnerPath &path, Kind kind);
    void is_made(const InnerDirectory &parent, const std::string &name, Kind kind);
    [[nodiscard]] bool has_to_make(const InnerDirectory &parent, const InnerPath &path, const Entry &entry);

    /** Whoever makes something under a temporary name holds the root for it: the name is a fixed one. */
    void hold_root();
    [[nodiscard]] AtomicPlace place(const InnerDirectory &parent, const InnerPath &path) const;

    Resolver &resolver_;
    std::optional<FsCredentials> owner_;
    Progress &progress_;
    std::optional<UniqueFd> held_root_;
    std::vector<std::unique_ptr<AtomicFile>> files_; ///< what was made, with what had their names
};

} // namespace ogh
