// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "image/image_reader.h"
#include "image/init_process.h"
#include "image/mount_policy.h"
#include "image/root_fs.h"
#include "kernel/proc_fs.h"

namespace ogh {

/** The container that is being created, as its state and config.json name it. */
struct Container {
    pid_t pid = 0;
    std::string rootfs = {};       ///< absolute on the host
    std::string mount_label = {};  ///< linux.mountLabel
    std::string cgroups_path = {}; ///< linux.cgroupsPath
    bool keeps_groups = false;     ///< its processes keep the groups of the engine's user (crun, keep-groups)
    ProcessUser user = {};
    std::string id = {}; ///< whole, as the engine names it
};

/** What there is of a ContainerView once its container is entered: nothing that looks at the host, or at the image from it. */
struct EnteredView {
    ProcFs proc; ///< the host's
    MountPolicy mount_policy;
    EnteredRoot root;
    std::optional<FsCredentials> owner; ///< the container's root, where that is not this process's own
};

/**
 * A container that is being created, seen from the host: its init is held, and nothing of it is entered. What a plan
 * must know of the container is read here.
 */
class ContainerView final {
public:
    /** @throws Error as InitProcess does */
    explicit ContainerView(Container container);
    ContainerView(const ContainerView &) = delete;
    ContainerView &operator=(const ContainerView &) = delete;

    [[nodiscard]] const Container &container() const { return container_; }
    [[nodiscard]] const ProcFs &proc() const { return proc_; }
    [[nodiscard]] const InitProcess &init() const { return init_; }
    [[nodiscard]] MountPolicy &mount_policy() { return *mount_policy_; }

    /**
     * Its root, to look at what there is: nothing can be made or mounted by it.
     * @throws Error if it is not there, because the container has pivoted already
     */
    [[nodiscard]] const RootFs &root();

    /** To read its files. Only one at a time. @throws Error as root() and ScopedContainerUser do */
    [[nodiscard]] ImageReader reader(ReadAs as);

    /** Joins the container, once and for good. @throws Error as InitProcess::enter() does */
    [[nodiscard]] EnteredView enter() &&;

private:
    Container container_;
    ProcFs proc_;
    InitProcess init_;
    std::optional<MountPolicy> mount_policy_;
    std::optional<RootFs> root_;
};

/**
 * What an earlier request has left in an injected tmpfs of this container, which is not entered yet: what is brought
 * along depends on it.
 * @param path absolute inside the container
 * @return nothing if there is no such file, or it is not on an injected tmpfs: an image may have one of that name
 */
std::optional<std::string> read_previous_request(ContainerView &view, const std::string &path);

} // namespace ogh
