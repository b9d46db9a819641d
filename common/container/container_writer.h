// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "edits/edits.h"
#include "edits/inner_path.h"
#include "image/init_process.h"
#include "image/mount_policy.h"
#include "kernel/fs_credentials.h"
#include "kernel/inode.h"
#include "kernel/progress.h"

namespace ogh {

/** What is open (O_PATH) inside a container to be mounted on. */
struct Target {
    UniqueFd fd;
    Inode inode = {}; ///< of what was there before this run
};

/** A directory of the container, looked up once and then used by descriptor. */
struct InnerDirectory {
    UniqueFd fd;
    Inode inode;
    std::string why_not_make; ///< why nothing may be made in it; "" if something may
};

/** Finds what there is in an entered container, and tells what may be done with it. It changes nothing. */
class Resolver final {
public:
    /** @param mount_policy outlives this */
    Resolver(EnteredRoot root, MountPolicy &mount_policy);
    Resolver(const Resolver &) = delete;
    Resolver &operator=(const Resolver &) = delete;

    /**
     * The directory at `path`, symlinks followed inside the root.
     * @return nullptr if it does not exist; it lives as long as this
     * @throws Error if something else has the name
     */
    const InnerDirectory *directory(const std::string &path);

    /** The same for one that was just made there. */
    const InnerDirectory &directory(const std::string &path, UniqueFd made);

    /**
     * What has the name in `parent`, symlinks followed inside the root, for a directory or file to be mounted on it.
     * @throws Error if it does not exist, is of another kind, is the root itself, or lies on procfs or sysfs or on a
     *         shared mount
     */
    [[nodiscard]] Target mount_target(const InnerDirectory &parent, const InnerPath &path, Kind kind);

    /** Whether what has a name will do as it is. */
    using IsRight = std::function<bool(const Inode &)>;

    /**
     * The same for a device node to be mounted on it; what is there may be a node of the image.
     * @param is_right asked about what is mounted there, or is in a directory of the host's where nothing is made
     * @return nothing if that will do
     */
    [[nodiscard]] std::optional<Target> node_target(const InnerDirectory &parent, const InnerPath &path,
                                                    const IsRight &is_right);

    /**
     * A directory of /proc for a tmpfs to be mounted on it: on procfs, or on a tmpfs that the container alone has.
     * @return nothing if it does not exist
     * @throws Error if what is there lies anywhere else, or on a shared mount
     */
    [[nodiscard]] std::optional<Target> proc_target(const InnerPath &path);

    /**
     * Why nothing may be made in the directory `path`, which need not exist: it would lie in a volume, or on a shared
     * mount; "" if it may.
     */
    [[nodiscard]] std::string why_not_make(const std::string &path);

    /** Whether it lies on a mount whose source in the mount table is `source`. */
    [[nodiscard]] bool is_on(const std::string &source, const Inode &inode)
    {
        return mount_policy_.is_on(source, inode);
    }

    /** What the container sees at `path` now. @throws Error if nothing is there */
    [[nodiscard]] Inode look(const InnerPath &path) const;

private:
    [[nodiscard]] const RootFs &root() const { return root_.files(); }
    UniqueFd find_in(const InnerDirectory &parent, const InnerPath &path) const;
    void check_mountable(const Target &target, const std::string &path);

    EnteredRoot root_;
    MountPolicy &mount_policy_;
    std::map<std::string, InnerDirectory> directories_;
};

/** "cannot make 'PATH' in the container: WHY" */
Error cannot_make(const std::string &path, const std::string &why);

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
     * @param made where `make` opens what it makes: in a shared volume the name may be another file's a moment later
     * @throws SystemError; Error if something has the temporary name that is not left of an earlier run
     */
    AtomicFile(AtomicPlace place, const Make &make, const UniqueFd &made = {});
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
