// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/image/own_tools.h"

#include <algorithm>

#include "base/dotted_version.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "nvidia-devices/driver/library_machine.h"
#include "nvidia/image_file.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *program = "nvidia-smi";
constexpr const char *library = "libnvidia-ml.so.1";
constexpr std::string_view versioned = "libnvidia-ml.so.";
constexpr size_t max_directories = 32; // of a variable: more is nothing that an image needs
constexpr size_t max_versions = 16;

/** The first directory of the variable that has the file, if that is before `ours`; "" if there is none. */
std::string found_before(const ImageReader &reader, const std::string &variable, const char *file,
                         const std::string &ours)
{
    std::vector<std::string> directories = split_list(variable, ':');
    directories.resize(std::min(directories.size(), max_directories));
    for (const std::string &directory : directories) {
        if (directory == ours || directory == ours + "/")
            return "";
        if (directory.starts_with('/') && open_image_file(reader, path_in(directory, file)))
            return directory;
    }
    return "";
}

/** By the name of the library's file, which has the version of its driver. */
std::string version_in(const ImageReader &reader, const std::string &directory)
{
    const std::string shown = quote(directory) + " in the container";
    const auto is_wanted = [](std::string_view name) {
        return name.starts_with(versioned) && is_driver_version(name.substr(versioned.size()));
    };
    try {
        const auto found = reader.find(directory);
        if (!found)
            return "";
        const auto entries = reader.list(found->get(), {shown, is_wanted, max_versions});
        return entries.size() == 1 ? entries.front().name.substr(versioned.size()) : "";
    } catch (const Error &) {
        return ""; // whatever keeps it from being read
    }
}

} // namespace

std::vector<OwnTool> find_own_tools(const ImageReader &reader, const Config &config, const std::string &tree)
{
    std::vector<OwnTool> tools;
    const auto of = [&](const char *name) { return environment_value(config, name).value_or(""); };
    const std::string programs = found_before(reader, of("PATH"), program, tree + "/bin");
    const std::string libraries = found_before(reader, of("LD_LIBRARY_PATH"), library, tree + "/lib64");
    if (!programs.empty()) {
        std::string version = version_in(reader, std::string("/usr/lib/") + native_machine().triplet);
        if (version.empty())
            version = version_in(reader, "/usr/lib64");
        tools.push_back({path_in(programs, program), version});
    }
    if (!libraries.empty())
        tools.push_back({path_in(libraries, library), version_in(reader, libraries)});
    return tools;
}

} // namespace ogh::nvidia_devices
