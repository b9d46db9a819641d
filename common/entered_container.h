// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "blank_file.h"
#include "edits.h"
#include "host_proc.h"
#include "init_process.h"
#include "log.h"
#include "places.h"
#include "source.h"

namespace ogh {

/** The container that is being created, as its state and config.json name it. */
struct Container {
    pid_t pid = 0;
    std::string rootfs = {};      ///< absolute on the host
    bool read_only = false;       ///< root.readonly
    std::string mount_label = {}; ///< linux.mountLabel
};

/**
 * A container that this process has entered, once and for good. What is needed of the host is opened before:
 * inside, the host's files are out of reach.
 */
class EnteredContainer final {
public:
    /**
     * Opens the sources of `mounts` on the host, and enters. In a user namespace all that is brought along is locked:
     * otherwise the container's root could undo the attributes, and uncover what lies below a mount.
     * @throws Error
     */
    EnteredContainer(const Container &container, const std::vector<MountEdit> &mounts);

    [[nodiscard]] const std::vector<Source> &sources() const { return sources_; }

    /** Files of our own, to be filled and mounted in this container. @throws Error */
    [[nodiscard]] std::vector<BlankFile> make_blank_files(size_t count) const;

    [[nodiscard]] const HostProc &proc() const { return proc_; }
    [[nodiscard]] const Root &root() const { return places_->root(); }
    [[nodiscard]] Places &places() { return *places_; }

    /** As Ground::mounts_of(). */
    [[nodiscard]] std::vector<InnerMount> mounts_of(const std::string &source)
    {
        return places_->ground().mounts_of(source, root().inode());
    }

    /** What is worth saying about the sources in this container. */
    [[nodiscard]] const Notes &notes() const { return notes_; }

private:
    void bring_along(const std::vector<MountEdit> &mounts);

    HostProc proc_;
    InitProcess init_;
    std::vector<Source> sources_;
    std::string mount_label_;
    Notes notes_;
    std::optional<Places> places_;
};

} // namespace ogh
