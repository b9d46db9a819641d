// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/driver/instance_query.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
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
    struct stat status {};
    if (::stat(own_executable, &status) != 0)
        throw SystemError(errno, "cannot tell where this hook's executable is", ErrorKind::BrokenHost);
    return {directory_of(read_link(AT_FDCWD, own_executable, quote(own_executable))), status};
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
    const auto cache = read_library_cache(driver_root, notes);
    LibrarySearch search(driver_root, cache, native_machine(), version);
    const auto names = library_names();
    const auto name =
        std::find_if(names.begin(), names.end(), [](const auto &each) { return each.name == library_name; });
    const auto library = search.find(*name);
    UniqueFd fd = library ? open_safe(library->host_path, own, S_IROTH) : UniqueFd();
    if (!fd.valid())
        throw NoLibrary("this host has no " + quote(std::string(library_name) + ".so." + version));
    return fd;
}

/** @return nothing if it is not there */
std::optional<UniqueFd> find_query_node(const Sysroot &sysroot, const std::string &path, dev_t number)
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
    return std::move(place->fd);
}

/**
 * What NVIDIA's library sees of the host: the nodes that it needs to say what it calls the instances of GPUs, as it counts
 * all GPUs that it can open, and /dev/null. It runs as nobody.
 * @param kept gets the descriptors
 * @throws Error (BrokenHost) if a node that is needed is not there, is another device, or not for everybody
 */
std::vector<BoxEntry> seen_nodes(const Sysroot &sysroot, const Inventory &inventory,
                                 std::vector<UniqueFd> &kept)
{
    const unsigned number = gpu_major(inventory);
    std::vector<BoxEntry> nodes;
    const auto add = [&](const std::string &path, UniqueFd fd) {
        kept.push_back(std::move(fd));
        nodes.push_back({kept.back().get(), path.substr(1)});
    };
    const auto add_node = [&](const std::string &path, unsigned minor_number, bool is_needed) {
        auto node = find_query_node(sysroot, path, makedev(number, minor_number));
        if (node)
            add(path, std::move(*node));
        else if (is_needed)
            throw Error(ErrorKind::BrokenHost,
                        "there is no " + quote(sysroot.on_host(path)) + ", which NVIDIA's library opens");
    };
    add_node(control_path, control_minor, true);
    for (const Gpu &gpu : inventory.gpus) {
        if (gpu.problem.empty())
            add_node(node_path(gpu), *gpu.information.minor, gpu.is_divided);
    }
    if (auto directory = sysroot.find(caps_directory))
        add(caps_directory, std::move(directory->fd));
    auto null = Sysroot("/").find(null_device);
    if (!null)
        throw Error(ErrorKind::BrokenHost, std::string("this host has no ") + null_device);
    add(null_device, std::move(null->fd));
    return nodes;
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
    std::vector<UniqueFd> kept;
    // Whoever is root never goes without, whether or not the namespaces can be had; in a user namespace, too.
    if (::geteuid() == 0) {
        query.box = seen_nodes(sysroot, inventory, kept);
    } else {
        notes.push_back({LogLevel::Info, "NVIDIA's library is asked with the rights of this user, who cannot "
                                         "shut it in: it sees this user's files"});
    }
    return run_limited(query);
}

} // namespace ogh::nvidia_devices
