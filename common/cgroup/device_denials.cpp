// SPDX-License-Identifier: Apache-2.0
#include "cgroup/device_denials.h"

#include <fcntl.h>

#include <cerrno>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cgroup/bpf.h"
#include "cgroup/cgroup_folder.h"
#include "cgroup/device_cgroup_paths.h"
#include "cgroup/device_list.h"

namespace ogh {

namespace {

constexpr size_t max_file = size_t{1} << 20U;
void add_of_list(const Cgroup &cgroup, const DeviceRules &rules, std::vector<DeviceDenial> &denials)
{
    const UniqueFd fd(::openat(cgroup.fd.get(), "devices.list", O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid())
        throw SystemError(errno, "cannot open devices.list of the cgroup " + quote(cgroup.path));
    const std::string list = read_all(fd.get(), max_file, "devices.list");
    for (const DeviceRule &rule : rules)
        if (!list_allows(list, rule))
            denials.push_back({rule, "devices.list of the cgroup " + quote(cgroup.path), true});
}

void add_of_program(const Cgroup &cgroup, std::uint32_t id, const DeviceRules &rules,
                    std::vector<DeviceDenial> &denials)
{
    const auto program = bpf::open_program(id);
    if (!program)
        return; // gone meanwhile
    const bpf::ProgramInfo info = bpf::read_program(program->get());
    const std::string by = "the device program " + (info.name.empty() ? "" : quote(info.name) + " ") +
                           "(id " + std::to_string(id) + ") of the cgroup " + quote(cgroup.path);
    for (const DeviceRule &rule : rules) {
        const Verdict answer =
            info.instructions.empty() ? Verdict::Unknown : verdict(info.instructions, rule);
        if (answer != Verdict::Allows)
            denials.push_back({rule, by, answer == Verdict::Denies});
    }
}

void add_of_programs(Cgroup lowest, const DeviceRules &rules, std::vector<DeviceDenial> &denials)
{
    std::optional<Cgroup> cgroup(std::move(lowest));
    for (int depth = 0; cgroup && depth < max_cgroup_depth; ++depth) {
        for (const std::uint32_t id : bpf::attached_programs(cgroup->fd.get()).ids)
            add_of_program(*cgroup, id, rules, denials);
        cgroup = parent_of(*cgroup);
    }
}

} // namespace

std::vector<DeviceDenial> find_denials(const ProcFs &proc, pid_t pid, const DeviceRules &rules)
{
    std::vector<DeviceDenial> denials;
    const MountTable mounts(proc.open_self("mountinfo").get());
    const std::string names = read_all(proc.open_of(pid, "cgroup").get(), max_file, "a process's cgroups");
    // A list of version 1 never has more than its parent's: the process's own says all.
    if (const auto path = cgroup_of(names, cgroup_version_1.controller))
        if (auto fd = open_cgroup(mounts, cgroup_version_1, *path))
            add_of_list({std::move(*fd), *path}, rules, denials);
    if (const auto path = cgroup_of(names, cgroup_version_2.controller))
        if (auto fd = open_cgroup(mounts, cgroup_version_2, *path))
            add_of_programs({std::move(*fd), *path}, rules, denials);
    return denials;
}

} // namespace ogh
