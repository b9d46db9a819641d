// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "container/atomic_file.h"
#include "container/resolver.h"
#include "edits/edits.h"
#include "edits/inner_path.h"
#include "kernel/progress.h"

namespace ogh {

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
