// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_vendors.h"

#include <algorithm>
#include <array>

#include "base/path_names.h"
#include "base/text.h"
#include "host/host_file.h"

namespace ogh::admin {

namespace {

/** A program that gives containers GPUs. */
struct VendorTool {
    const char *prefix; ///< that its name begins with
    const char *vendor;
    const char *variable; ///< by which an image asks for GPUs
};

// The programs of nvidia-container-toolkit and libnvidia-container, and of amd's container-toolkit.
constexpr std::array tools{
    VendorTool{"nvidia-container-", "NVIDIA", "NVIDIA_VISIBLE_DEVICES"},
    VendorTool{"nvidia-ctk", "NVIDIA", "NVIDIA_VISIBLE_DEVICES"},
    VendorTool{"nvidia-cdi-hook", "NVIDIA", "NVIDIA_VISIBLE_DEVICES"},
    VendorTool{"amd-container-runtime", "AMD", "AMD_VISIBLE_DEVICES"},
    VendorTool{"amd-ctk", "AMD", "AMD_VISIBLE_DEVICES"},
};

std::string past_the_policy(const VendorTool &tool)
{
    return std::string("an image that sets ") + tool.variable + " gets GPUs past the hooks and their policy";
}

} // namespace

std::string read_settings(const Sysroot &sysroot, const std::string &file)
{
    constexpr size_t most = size_t{1} << 22U;
    std::string settings;
    for (std::string &line : split_list(read_host_file(sysroot, file, most).value_or(""), '\n')) {
        line.erase(std::remove(line.begin(), line.end(), ' '), line.end());
        if (!line.starts_with('#'))
            settings += line;
    }
    return settings;
}

Findings check_runtimes(const std::string &settings, const std::string &file)
{
    Findings findings;
    for (const VendorTool &tool : tools)
        if (settings.find(tool.prefix) != std::string::npos)
            findings.push_back({Severity::Warning,
                                quote(file) + " has " + tool.vendor +
                                    "'s runtime: where that is asked for, or the default, " +
                                    past_the_policy(tool),
                                "remove it, if the hooks alone are to give GPUs"});
    return findings;
}

Findings check_vendors(const Engine &engine)
{
    Findings findings;
    for (const FileInForce &each : files_in_force(engine.directories))
        for (const VendorTool &tool : tools)
            if (file_name_of(each.file->executable).starts_with(tool.prefix))
                findings.push_back({Severity::Warning,
                                    quote(each.file->path) + " calls " + tool.vendor + "'s own hook " +
                                        quote(each.file->executable) + ": " + past_the_policy(tool),
                                    "remove the file, if the hooks of this collection are to give GPUs"});
    for (const std::string &file : engine.kind->configuration(*engine.sysroot))
        add(findings, check_runtimes(read_settings(*engine.sysroot, file), file));
    return findings;
}

} // namespace ogh::admin
