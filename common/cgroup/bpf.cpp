// SPDX-License-Identifier: Apache-2.0
#include "cgroup/bpf.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace ogh::bpf {

namespace {

constexpr size_t max_instructions = 1'000'000; // BPF_COMPLEXITY_LIMIT_INSNS of the kernel
constexpr int max_rounds = 8;                  // of a question whose answer grows meanwhile

/** What is not set is 0, every byte of it: the kernel refuses the call otherwise. */
bpf_attr blank()
{
    bpf_attr attr{};
    std::memset(&attr, 0, sizeof attr);
    return attr;
}

// From Linux 6.17 to before 7.2, BPF_PROG_QUERY writes query.revision for a cgroup whatever size it was given; Debian 12's
// header does not know that member yet.
constexpr size_t revision_offset = 56;
static_assert(sizeof(bpf_attr) >= revision_offset + sizeof(std::uint64_t));

/** Always the whole union, so that what the kernel writes into it stays in it. */
long call(bpf_cmd command, bpf_attr &attr)
{
    return ::syscall(SYS_bpf, command, &attr, sizeof attr);
}

std::uint32_t number(int fd)
{
    return static_cast<std::uint32_t>(fd);
}

template<typename Type> std::uint64_t address(Type *object)
{
    return reinterpret_cast<std::uintptr_t>(object);
}

SystemError failure(const char *what)
{
    return {errno, std::string("device program of a cgroup: cannot ") + what, ErrorKind::BrokenHost};
}

void check(long result, const char *what)
{
    if (result < 0)
        throw failure(what);
}

Attached query(int cgroup, std::uint32_t query_flags)
{
    Attached found;
    found.ids.resize(64); // as many as one cgroup may have
    for (int round = 0; round < max_rounds; ++round) {
        bpf_attr attr = blank();
        attr.query.target_fd = number(cgroup);
        attr.query.attach_type = BPF_CGROUP_DEVICE;
        attr.query.query_flags = query_flags;
        attr.query.prog_ids = address(found.ids.data());
        attr.query.prog_cnt = static_cast<std::uint32_t>(found.ids.size());
        const bool done = call(BPF_PROG_QUERY, attr) == 0;
        if (!done && errno != ENOSPC)
            throw failure("ask which are attached");
        found.ids.resize(attr.query.prog_cnt);
        found.flags = attr.query.attach_flags;
        if (done)
            return found;
    }
    throw failure("ask which are attached");
}

/** @param info of a program or of a link; what it says of where to write to is heeded */
template<typename Info> void ask_info(int fd, Info &info, const char *what)
{
    bpf_attr attr = blank();
    attr.info.bpf_fd = number(fd);
    attr.info.info_len = sizeof info;
    attr.info.info = address(&info);
    check(call(BPF_OBJ_GET_INFO_BY_FD, attr), what);
}

/** The length of what the kernel would show, in instructions, is in the answer even if it shows nothing. */
bpf_prog_info info_of(int program, DeviceProgram &instructions)
{
    bpf_prog_info info{};
    info.xlated_prog_insns = instructions.empty() ? 0 : address(instructions.data());
    info.xlated_prog_len = static_cast<std::uint32_t>(instructions.size() * sizeof(bpf_insn));
    ask_info(program, info, "read it back");
    return info;
}

/** What has that id: a program, or a link, whose ids have one place in bpf_attr. @return nothing if it has gone meanwhile */
std::optional<UniqueFd> open_by_id(bpf_cmd command, std::uint32_t id, const char *what)
{
    bpf_attr attr = blank();
    attr.prog_id = id;
    UniqueFd fd(static_cast<int>(call(command, attr)));
    if (!fd.valid() && errno != ENOENT)
        throw failure(what);
    return fd.valid() ? std::optional(std::move(fd)) : std::nullopt;
}

bool is_the_link(int link, std::uint64_t cgroup_id, std::uint32_t program_id)
{
    bpf_link_info info{};
    ask_info(link, info, "look at a link");
    return info.type == BPF_LINK_TYPE_CGROUP && info.prog_id == program_id &&
           info.cgroup.attach_type == BPF_CGROUP_DEVICE && info.cgroup.cgroup_id == cgroup_id;
}

/** The next id after `id`, 0 after the last. */
std::uint32_t next_link(std::uint32_t id)
{
    bpf_attr attr = blank();
    attr.start_id = id;
    if (call(BPF_LINK_GET_NEXT_ID, attr) == 0)
        return attr.next_id;
    if (errno != ENOENT)
        throw failure("list the links");
    return 0;
}

} // namespace

Attached attached_programs(int cgroup)
{
    return query(cgroup, 0);
}

std::vector<std::uint32_t> effective_programs(int cgroup)
{
    return query(cgroup, BPF_F_QUERY_EFFECTIVE).ids;
}

std::optional<UniqueFd> open_program(std::uint32_t id)
{
    return open_by_id(BPF_PROG_GET_FD_BY_ID, id, "open it");
}

ProgramInfo read_program(int program)
{
    DeviceProgram instructions;
    const size_t count = info_of(program, instructions).xlated_prog_len / sizeof(bpf_insn);
    if (count > max_instructions)
        throw Error(ErrorKind::BrokenHost,
                    "a device program of a cgroup has " + std::to_string(count) + " instructions");
    instructions.resize(count);
    const bpf_prog_info info = info_of(program, instructions);
    if (info.xlated_prog_insns == 0)
        instructions.clear();
    return {std::string(info.name, ::strnlen(info.name, sizeof info.name)), std::move(instructions)};
}

UniqueFd load_program(const DeviceProgram &instructions, const std::string &name)
{
    constexpr const char *license = "Apache-2.0";
    bpf_attr attr = blank();
    attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attr.expected_attach_type = BPF_CGROUP_DEVICE;
    attr.insns = address(instructions.data());
    attr.insn_cnt = static_cast<std::uint32_t>(instructions.size());
    attr.license = address(license);
    name.copy(attr.prog_name, sizeof attr.prog_name - 1);
    UniqueFd program(static_cast<int>(call(BPF_PROG_LOAD, attr)));
    if (!program.valid())
        throw failure("load it with the new rules");
    return program;
}

void attach_program(int cgroup, int program, std::uint32_t flags, int old)
{
    const bool replaces = old >= 0 && (flags & BPF_F_ALLOW_MULTI) != 0;
    bpf_attr attr = blank();
    attr.target_fd = number(cgroup);
    attr.attach_bpf_fd = number(program);
    attr.attach_type = BPF_CGROUP_DEVICE;
    attr.attach_flags = replaces ? BPF_F_ALLOW_MULTI | BPF_F_REPLACE : flags;
    if (replaces)
        attr.replace_bpf_fd = number(old);
    check(call(BPF_PROG_ATTACH, attr), replaces ? "replace it" : "attach it");
}

std::optional<UniqueFd> find_link(int cgroup, std::uint32_t program_id)
{
    // A cgroup's id is the number of its inode.
    struct stat status {};
    if (::fstat(cgroup, &status) != 0)
        throw failure("look at the cgroup");
    for (std::uint32_t id = next_link(0); id != 0; id = next_link(id)) {
        std::optional<UniqueFd> link = open_by_id(BPF_LINK_GET_FD_BY_ID, id, "open a link");
        if (link && is_the_link(link->get(), status.st_ino, program_id))
            return link;
    }
    return std::nullopt;
}

void update_link(int link, int program, int old)
{
    bpf_attr attr = blank();
    attr.link_update.link_fd = number(link);
    attr.link_update.new_prog_fd = number(program);
    attr.link_update.flags = BPF_F_REPLACE;
    attr.link_update.old_prog_fd = number(old);
    check(call(BPF_LINK_UPDATE, attr), "replace it in its link");
}

} // namespace ogh::bpf
