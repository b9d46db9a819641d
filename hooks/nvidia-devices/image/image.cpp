// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/image/image.h"

#include <algorithm>

#include "base/dotted_version.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "image/c_library.h"
#include "image/root_fs.h"
#include "kernel/inode.h"
#include "nvidia-devices/driver/library_search.h"
#include "nvidia/cuda_compat.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *program = "nvidia-smi";
constexpr const char *program_place = "/usr/bin/nvidia-smi"; // where a link to the host's is made
constexpr const char *management_library = "libnvidia-ml";
constexpr const char *cuda_library = "libcuda";
constexpr size_t max_directories = 32; // of a variable: more is nothing that an image needs
constexpr size_t max_versions = 16;
constexpr mode_t any_execute_bit = 0111;

/** Whether a shell takes it for a program, and the link to the host's does not take its place. */
bool is_program(const UniqueFd &file, const std::string &path)
{
    const Inode inode = Inode::of(file.get(), quote(path) + " in the container");
    return (inode.mode & any_execute_bit) != 0 && !(path == program_place && is_left_behind(inode));
}

/** The first of a variable's directories that has the file, if that is before `ours`; "" if there is none. */
std::string found_before(const ImageReader &reader, const std::string &variable, const std::string &file,
                         const std::string &ours)
{
    std::vector<std::string> directories = split_list(variable, ':');
    directories.resize(std::min(directories.size(), max_directories));
    for (const std::string &directory : directories) {
        if (directory == ours || directory == ours + "/")
            return "";
        const std::string path = path_in(directory, file);
        const auto found = directory.starts_with('/') ? open_image_file(reader, path) : std::nullopt;
        if (found && (file != program || is_program(*found, path)))
            return directory;
    }
    return "";
}

/** By the name of the library's file, which has the version of its driver. */
std::string version_in(const ImageReader &reader, const std::string &directory, const std::string &library)
{
    const std::string shown = quote(directory) + " in the container";
    const std::string start = library + ".so.";
    const auto is_wanted = [&](std::string_view name) {
        return name.starts_with(start) && is_driver_version(name.substr(start.size()));
    };
    try {
        const auto found = reader.find(directory);
        if (!found)
            return "";
        const auto entries = reader.list(found->get(), {shown, is_wanted, max_versions});
        return entries.size() == 1 ? entries.front().name.substr(start.size()) : "";
    } catch (const Error &) {
        return ""; // whatever keeps it from being read
    }
}

/** Where Debian and its descendants have the libraries of this machine. */
std::string triplet_directory()
{
    return std::string("/usr/lib/") + native_machine().triplet;
}

void add_own_program(const ImageReader &reader, const Config &config, const std::string &tree,
                     std::vector<OwnTool> &tools)
{
    const std::string path = environment_value(config, "PATH").value_or("");
    const std::string directory = found_before(reader, path, program, tree + "/bin");
    if (directory.empty())
        return;
    std::string version = version_in(reader, triplet_directory(), management_library);
    if (version.empty())
        version = version_in(reader, "/usr/lib64", management_library);
    tools.push_back({path_in(directory, program), version});
}

/** By either of the names by which programs load it; what stands in for it when they are linked has the second alone. */
void add_own_library(const ImageReader &reader, const Config &config, const std::string &tree,
                     const std::string &library, std::vector<OwnTool> &tools)
{
    const std::string path = environment_value(config, "LD_LIBRARY_PATH").value_or("");
    for (const std::string &file : {library + ".so.1", library + ".so"}) {
        const std::string directory = found_before(reader, path, file, tree + "/lib64");
        if (directory.empty())
            continue;
        tools.push_back({path_in(directory, file), version_in(reader, directory, library)});
        return;
    }
}

/** Where distributions have glibc for this machine: those with a directory for each machine, those with lib64, and Arch. */
std::optional<GlibcVersions> read_glibc(const ImageReader &reader)
{
    const std::string triplet = triplet_directory();
    const std::string without_usr = triplet.substr(triplet.find("/lib"));
    for (const std::string &directory :
         {triplet, without_usr, std::string("/usr/lib64"), std::string("/lib64"), std::string("/usr/lib"),
          std::string("/lib")}) {
        const auto file = open_image_file(reader, directory + "/libc.so.6");
        if (file)
            return defined_glibc(file->get());
    }
    return std::nullopt;
}

bool has_directory(const ImageReader &reader, const std::string &path)
{
    const auto found = reader.find(path);
    return found && Inode::of(found->get(), quote(path) + " in the container").is(Kind::Directory);
}

} // namespace

std::vector<OwnTool> find_own_tools(const ImageReader &reader, const Config &config,
                                    const Capabilities &capabilities, const std::string &tree)
{
    std::vector<OwnTool> tools;
    if (capabilities.has(Capability::Utility)) {
        add_own_program(reader, config, tree, tools);
        add_own_library(reader, config, tree, management_library, tools);
    }
    if (capabilities.has_any(for_compute))
        add_own_library(reader, config, tree, cuda_library, tools);
    return tools;
}

Image read_image(const ImageReader &reader, const Config &config, const std::set<std::string> &interpreters,
                 Notes &notes)
{
    Image image;
    image.path = environment_value(config, "PATH").value_or("");
    const bool has_own_loader = has_loader(reader, native_machine().loader);
    image.is_foreign = !has_own_loader && has_glibc(reader);
    image.has_loader_32 = image.is_foreign && has_loader(reader, compat32_machine().loader);
    image.has_only_musl = !has_own_loader && !image.is_foreign && !musl_machines(reader).empty();
    if (image.has_only_musl) // it gets no libraries
        return image;
    for (const std::string &interpreter : interpreters)
        if (has_own_loader && !open_image_file(reader, interpreter))
            image.lacking_interpreters.insert(interpreter);
    if (has_directory(reader, triplet_directory()))
        image.library_directory = triplet_directory();
    image.glibc = read_glibc(reader);
    image.compat = read_cuda_compat(reader, notes);
    return image;
}

} // namespace ogh::nvidia_devices
