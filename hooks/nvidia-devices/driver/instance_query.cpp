// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/instance_query.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "host/trusted_path.h"
#include "kernel/inode.h"
#include "nvidia-devices/driver/driver_root.h"
#include "nvidia-devices/driver/library_search.h"
#include "nvidia-devices/driver/library_table.h"
#include "nvidia-devices/nvml/limited_program.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *program_name = "nvidia-devices-nvml";
constexpr std::string_view library_name = "libnvidia-ml";
constexpr const char *own_executable = "/proc/self/exe";
constexpr const char *null_device = "/dev/null";
constexpr const char *caps_directory = "/dev/nvidia-caps";
constexpr std::chrono::seconds time_limit{5};
constexpr size_t max_answer = 65536; // 512 instances

struct OwnExecutable {
    std::string directory; ///< without a slash at the end
    struct stat status;
};

OwnExecutable own()
{
    std::array<char, PATH_MAX> path{};
    struct stat status {};
    const ssize_t size = ::readlink(own_executable, path.data(), path.size());
    if (size <= 0 || static_cast<size_t>(size) == path.size() || ::stat(own_executable, &status) != 0)
        throw SystemError(errno, "cannot tell where this hook's executable is", ErrorKind::BrokenHost);
    const std::string_view text(path.data(), static_cast<size_t>(size));
    return {std::string(text.substr(0, text.rfind('/'))), status};
}

/**
 * As safe from others as this hook itself.
 * @param for_nobody permissions that others need: nobody opens it by the descriptor, so that no directory matters
 * @return it as O_PATH; an invalid one if it is not there
 */
UniqueFd open_safe(const std::string &path, const OwnExecutable &own, mode_t for_nobody)
{
    auto place = find_trusted(Sysroot("/"), path, own.status.st_uid);
    if (!place)
        return {};
    if ((Inode::of(place->fd.get(), quote(path)).mode & for_nobody) != for_nobody)
        throw Error(ErrorKind::BrokenHost, quote(path) +
                                               " is not for everybody, and nobody (user 65534) is to run it: "
                                               "its mode has to be 0755");
    return std::move(place->fd);
}

UniqueFd open_program(const std::string &path, const OwnExecutable &own)
{
    UniqueFd fd = open_safe(path, own, S_IXOTH);
    if (!fd.valid())
        throw NoLibrary("there is no " + quote(path) + ", which asks it");
    return fd;
}

UniqueFd open_library(const Sysroot &driver_root, const std::string &version, const OwnExecutable &own)
{
    Notes notes;
    const DriverRoot root(driver_root);
    const auto cache = read_library_cache(root, notes);
    LibrarySearch search(root, cache, native_machine(), version);
    const auto names = library_names();
    const auto name =
        std::find_if(names.begin(), names.end(), [](const auto &each) { return each.name == library_name; });
    const auto library = search.find(*name);
    UniqueFd fd = library ? open_safe(library->host_path, own, S_IROTH) : UniqueFd();
    if (!fd.valid())
        throw NoLibrary("this host has no " + quote(std::string(library_name) + ".so." + version));
    return fd;
}

/** A node, or the directory of nvidia-caps with its nodes, that NVIDIA's library opens. */
struct QueryNode {
    UniqueFd fd;      ///< O_PATH
    std::string path; ///< "/dev/nvidia0"
};

/** @return nothing if it is not there */
std::optional<QueryNode> find_query_node(const Sysroot &sysroot, const std::string &path, dev_t number)
{
    auto place = sysroot.find(path);
    if (!place)
        return std::nullopt;
    const std::string shown = quote(sysroot.on_host(path));
    const Inode inode = Inode::of(place->fd.get(), shown);
    if (!inode.is_node(S_IFCHR, number))
        throw Error(ErrorKind::BrokenHost, shown + " is not the driver's device " +
                                               std::to_string(major(number)) + ":" +
                                               std::to_string(minor(number)));
    constexpr mode_t for_all = S_IROTH | S_IWOTH;
    if ((inode.mode & for_all) != for_all)
        throw Error(ErrorKind::BrokenHost,
                    shown + " is for its owner and its group alone, and NVIDIA's library is "
                            "asked by nobody (user 65534): its mode has to be 0666 for that");
    return QueryNode{std::move(place->fd), path};
}

/**
 * What NVIDIA's library needs of /dev to say what it calls the instances of GPUs: it counts all GPUs that it can open. It
 * runs as nobody.
 * @throws Error (BrokenHost) if a node that is needed is not there, is another device, or not for everybody
 */
std::vector<QueryNode> open_query_nodes(const Sysroot &sysroot, const Inventory &inventory)
{
    const unsigned number = gpu_major(inventory);
    std::vector<QueryNode> nodes;
    const auto add = [&](const std::string &path, unsigned minor_number, bool is_needed) {
        auto node = find_query_node(sysroot, path, makedev(number, minor_number));
        if (node)
            nodes.push_back(std::move(*node));
        else if (is_needed)
            throw Error(ErrorKind::BrokenHost,
                        "there is no " + quote(sysroot.on_host(path)) + ", which NVIDIA's library opens");
    };
    add(control_path, control_minor, true);
    for (const Gpu &gpu : inventory.gpus) {
        if (gpu.problem.empty())
            add(node_path(gpu), *gpu.information.minor, gpu.is_divided);
    }
    if (auto directory = sysroot.find(caps_directory))
        nodes.push_back({std::move(directory->fd), caps_directory});
    return nodes;
}

/** What the library sees of the host. */
std::vector<QueryNode> seen_nodes(const Sysroot &sysroot, const Inventory &inventory)
{
    std::vector<QueryNode> nodes = open_query_nodes(sysroot, inventory);
    auto null = Sysroot("/").find(null_device);
    if (!null)
        throw Error(ErrorKind::BrokenHost, std::string("this host has no ") + null_device);
    nodes.push_back({std::move(null->fd), null_device});
    return nodes;
}

std::vector<BoxEntry> entries_of(const std::vector<QueryNode> &nodes)
{
    std::vector<BoxEntry> entries;
    entries.reserve(nodes.size());
    for (const QueryNode &node : nodes)
        entries.push_back({node.fd.get(), node.path.substr(1)});
    return entries;
}

} // namespace

std::string query_instances(const Sysroot &sysroot, const Sysroot &driver_root, const Inventory &inventory,
                            const std::vector<std::string> &addresses, Notes &notes)
{
    const OwnExecutable self = own();
    const std::string path = self.directory + "/" + program_name;
    const UniqueFd program = open_program(path, self);
    const UniqueFd library = open_library(driver_root, inventory.version.value(), self);
    LimitedProgram query{program.get(), {program_name},
                         library.get(), time_limit,
                         max_answer,    quote(path) + ", which asks NVIDIA's library (NVML),"};
    query.words.insert(query.words.end(), addresses.begin(), addresses.end());
    std::vector<QueryNode> nodes;
    // Whoever is root never goes without, whether or not the namespaces can be had; in a user namespace, too.
    if (::geteuid() == 0) {
        nodes = seen_nodes(sysroot, inventory);
        query.box = entries_of(nodes);
    } else {
        notes.push_back({LogLevel::Info, "NVIDIA's library is asked with the rights of this user, who cannot "
                                         "shut it in: it sees this user's files"});
    }
    return run_limited(query);
}

} // namespace ogh::nvidia_devices
