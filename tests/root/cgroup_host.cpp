// SPDX-License-Identifier: Apache-2.0
#include "cgroup_host.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/bpf.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "cgroup/bpf.h"
#include "cgroup/device_program.h"
#include "support/device_programs.h"

namespace ogh::test {

namespace {

unsigned free_major()
{
    std::ifstream devices("/proc/devices");
    std::set<unsigned> taken;
    for (std::string line; std::getline(devices, line);) {
        std::istringstream words(line);
        unsigned number = 0;
        if (words >> number)
            taken.insert(number);
    }
    for (unsigned number = 254; number > 200; --number) {
        if (taken.count(number) == 0)
            return number;
    }
    throw std::runtime_error("no major without a driver");
}

UniqueFd bpf_fd(bpf_cmd command, bpf_attr &attr, const char *what)
{
    const long fd = ::syscall(SYS_bpf, command, &attr, sizeof attr);
    check_call(fd, what);
    return UniqueFd(static_cast<int>(fd));
}

bpf_attr blank()
{
    bpf_attr attr;
    std::memset(&attr, 0, sizeof attr);
    return attr;
}

} // namespace

CgroupHost::CgroupHost() : major_(free_major()), top_("/ogh-test-" + std::to_string(::getpid()))
{
    for (const char *name : {"v1", "v2", "dev"})
        TempDirectory::directory(name);
    check_call(::mount("none", path("v1").c_str(), "cgroup", 0, "devices"), "mount cgroup devices");
    check_call(::mount("none", path("v2").c_str(), "cgroup2", 0, nullptr), "mount cgroup2");
    check_call(::mount("none", path("dev").c_str(), "tmpfs", 0, nullptr), "mount tmpfs");
    for (const DeviceRule &rule : questions()) {
        const mode_t type = rule.type == DeviceRule::Type::Char ? S_IFCHR : S_IFBLK;
        if (::mknod(node_path(rule).c_str(), type | 0666, makedev(rule.major, rule.minor)) != 0 &&
            errno != EEXIST)
            fail("mknod");
    }
    make(Version::One);
    make(Version::Two);
}

CgroupHost::~CgroupHost()
{
    init_.reset();
    while (!made_.empty()) {
        // A process that has ended leaves its cgroup a moment later.
        for (int round = 0; round < 100 && ::rmdir(made_.back().c_str()) != 0 && errno == EBUSY; ++round)
            ::usleep(10'000);
        made_.pop_back();
    }
    for (const char *name : {"v1", "v2", "dev"})
        ::umount2(path(name).c_str(), MNT_DETACH);
}

std::string CgroupHost::directory(Version version, const std::string &path_of) const
{
    return path(version == Version::One ? "v1" : "v2") + path_of;
}

std::string CgroupHost::make(Version version, const std::string &name)
{
    std::string made = name.empty() ? top_ : top_ + "/" + name;
    check_call(::mkdir(directory(version, made).c_str(), 0755), "mkdir " + made);
    made_.push_back(directory(version, made));
    return made;
}

UniqueFd CgroupHost::open(Version version, const std::string &path_of) const
{
    const int fd = ::open(directory(version, path_of).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check_call(fd, "open " + path_of);
    return UniqueFd(fd);
}

std::string CgroupHost::read(const std::string &path_of, const std::string &file) const
{
    std::ostringstream text;
    text << std::ifstream(directory(Version::One, path_of) + "/" + file).rdbuf();
    return text.str();
}

void CgroupHost::write(const std::string &path_of, const std::string &file, const std::string &text) const
{
    std::ofstream out(directory(Version::One, path_of) + "/" + file);
    if (!(out << text << std::flush))
        fail("write " + file);
}

pid_t CgroupHost::start(Version version, const std::string &path_of)
{
    init_.reset();
    init_.emplace([] {
        while (true)
            ::pause();
    });
    std::ofstream procs(directory(version, path_of) + "/cgroup.procs");
    if (!(procs << init_->pid() << std::flush))
        fail("join " + path_of);
    return init_->pid();
}

DeviceCgroups device_cgroups_of(pid_t init, const std::string &cgroups_path)
{
    const ProcFs proc;
    return {proc, MountTable(proc.open_self("mountinfo").get()), init, cgroups_path};
}

Notes CgroupHost::try_to_allow(const std::string &cgroups_path, const DeviceRules &rules) const
{
    DeviceCgroups cgroups = container(cgroups_path);
    UndoLog undo;
    return cgroups.allow(rules, undo);
}

DeviceCgroups CgroupHost::container(const std::string &cgroups_path) const
{
    return device_cgroups_of(init_->pid(), cgroups_path);
}

DeviceRules CgroupHost::questions() const
{
    using Type = DeviceRule::Type;
    DeviceRules asked;
    for (const auto &[type, number, minor] :
         std::vector<std::tuple<Type, unsigned, unsigned>>{{Type::Char, major_, 0},
                                                           {Type::Char, major_, 1},
                                                           {Type::Char, major_, 256},
                                                           {Type::Block, major_, 0},
                                                           {Type::Block, major_, 1},
                                                           {Type::Char, 1, 3},
                                                           {Type::Char, 1, 5},
                                                           {Type::Char, 5, 0},
                                                           {Type::Char, 136, 1048575}})
        for (const unsigned access : {access_mknod, access_read, access_write, access_read | access_write})
            asked.push_back({type, number, minor, access});
    return asked;
}

std::string CgroupHost::node_path(const DeviceRule &rule) const
{
    return path("dev/") + (rule.type == DeviceRule::Type::Char ? "c" : "b") + std::to_string(rule.major) +
           "-" + std::to_string(rule.minor);
}

bool CgroupHost::is_allowed(const DeviceRule &asked) const
{
    const std::string node = node_path(asked);
    if (asked.access == access_mknod) {
        const mode_t type = asked.type == DeviceRule::Type::Char ? S_IFCHR : S_IFBLK;
        const std::string made = node + ".new";
        const bool done = ::mknod(made.c_str(), type | 0666, makedev(asked.major, asked.minor)) == 0;
        ::unlink(made.c_str());
        return done;
    }
    int flags = asked.access == access_read ? O_RDONLY : O_RDWR;
    if (asked.access == access_write)
        flags = O_WRONLY;
    const UniqueFd fd(::open(node.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    return fd.valid() || errno != EPERM;
}

std::string CgroupHost::answers(Version version, const std::string &path_of) const
{
    const Outcome outcome = in_child([&] {
        const UniqueFd procs(
            ::open((directory(version, path_of) + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
        check_call(::write(procs.get(), "0", 1), "join");
        std::string text;
        for (const DeviceRule &asked : questions())
            text += is_allowed(asked) ? to_text(asked) + "\n" : "";
        return text;
    });
    return outcome.code == 0 ? outcome.text : "failed: " + outcome.text;
}

std::string CgroupHost::expected(const std::vector<DeviceProgram> &programs, const DeviceRules &rules) const
{
    std::string text;
    for (const DeviceRule &asked : questions()) {
        bool allowed = true;
        for (const DeviceProgram &program : programs)
            allowed = allowed && run(program, asked) == Verdict::Allows;
        for (const DeviceRule &rule : rules)
            allowed = allowed || (asked.type == rule.type && asked.major == rule.major &&
                                  asked.minor == rule.minor && (asked.access & ~rule.access) == 0);
        text += allowed ? to_text(asked) + "\n" : "";
    }
    return text;
}

std::uint32_t attach(int cgroup, const DeviceProgram &program, std::uint32_t flags)
{
    bpf::attach_program(cgroup, bpf::load_program(program, "test").get(), flags);
    return bpf::attached_programs(cgroup).ids.back();
}

UniqueFd attach_by_link(int cgroup, const DeviceProgram &program)
{
    return link_to(cgroup, bpf::load_program(program, "test").get());
}

UniqueFd link_to(int cgroup, int program)
{
    bpf_attr attr = blank();
    attr.link_create.prog_fd = static_cast<std::uint32_t>(program);
    attr.link_create.target_fd = static_cast<std::uint32_t>(cgroup);
    attr.link_create.attach_type = BPF_CGROUP_DEVICE;
    return bpf_fd(BPF_LINK_CREATE, attr, "BPF_LINK_CREATE");
}

UniqueFd make_map()
{
    bpf_attr attr = blank();
    attr.map_type = BPF_MAP_TYPE_HASH;
    attr.key_size = 4;
    attr.value_size = 4;
    attr.max_entries = 1;
    return bpf_fd(BPF_MAP_CREATE, attr, "BPF_MAP_CREATE");
}

DeviceProgram with_map(int map)
{
    return {
        insn(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
        insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
        insn(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
        insn(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
        insn(0, 0, 0, 0, 0),
        insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
        move_to(BPF_REG_0, 0),
        end_here(),
    };
}

std::string attached(int cgroup)
{
    std::string text;
    for (const std::uint32_t id : bpf::attached_programs(cgroup).ids) {
        const size_t count = bpf::read_program(bpf::open_program(id).value().get()).instructions.size();
        text += std::to_string(id) + ":" + std::to_string(count) + " ";
    }
    return text;
}

} // namespace ogh::test
