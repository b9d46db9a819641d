// SPDX-License-Identifier: Apache-2.0
#include "nvidia/mig.h"

#include <fcntl.h>

#include <algorithm>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

constexpr size_t max_names = 1024;

/** Nothing if the name is any other. */
std::optional<unsigned> number_in(std::string_view name, const NumberedNames &wanted)
{
    if (!name.starts_with(wanted.prefix))
        return std::nullopt;
    name.remove_prefix(wanted.prefix.size());
    const auto number = parse_small_number(name, wanted.limit);
    return number && (name.size() == 1 || name.front() != '0') ? number : std::nullopt;
}

constexpr const char *minors_file = "/proc/driver/nvidia-caps/mig-minors";
constexpr size_t max_access_size = 4096;
constexpr size_t max_minors_size = size_t{1} << 20U; // 110 KB with 32 GPUs
constexpr unsigned max_cap_minor = 8191;             // of NV_CAPS_MINORS in the kernel module
constexpr unsigned max_mode = 0777;
constexpr unsigned max_instance = 255; // of one GPU; drivers have 15 GPU instances of 8 compute instances

std::string number_text(std::string_view prefix, unsigned number)
{
    return std::string(prefix) + std::to_string(number);
}

/** The files below `capabilities` have a directory `mig` between, which mig-minors does not have. */
std::string name_in_minors(unsigned gpu_minor, unsigned gpu_instance)
{
    return number_text("gpu", gpu_minor) + number_text("/gi", gpu_instance);
}

} // namespace

std::vector<NumberedName> numbered_names(int directory, const NumberedNames &wanted)
{
    const auto is_wanted = [&](std::string_view name) { return number_in(name, wanted).has_value(); };
    std::vector<NumberedName> found;
    for (const auto &entry :
         list_directory(directory, {quote(wanted.directory), is_wanted, max_names, ErrorKind::BrokenHost}))
        found.push_back({*number_in(entry.name, wanted), entry.name});
    std::sort(found.begin(), found.end(),
              [](const NumberedName &a, const NumberedName &b) { return a.number < b.number; });
    return found;
}

std::string cap_node_path(const CapNode &node)
{
    return "/dev/nvidia-caps/nvidia-cap" + std::to_string(node.minor);
}

std::optional<CapNode> parse_cap_access(std::string_view text)
{
    std::optional<unsigned> minor;
    std::optional<unsigned> mode;
    for (const std::string_view line : split_views(text, '\n')) {
        const size_t colon = line.find(':');
        if (colon == std::string_view::npos)
            continue;
        const std::string_view key = trimmed(line.substr(0, colon));
        const std::string_view value = trimmed(line.substr(colon + 1));
        if (key == "DeviceFileMinor")
            minor = parse_small_number(value, max_cap_minor);
        else if (key == "DeviceFileMode")
            mode = parse_small_number(value, max_mode);
    }
    return minor && mode ? std::optional(CapNode{*minor, *mode}) : std::nullopt;
}

MigMinors::MigMinors(std::string_view text)
{
    for (std::string_view line : split_views(text, '\n')) {
        const std::string_view name = next_part(line, ' ');
        minors_.try_emplace(std::string(name), parse_small_number(line, max_cap_minor));
    }
}

std::optional<unsigned> MigMinors::find(const std::string &name) const
{
    const auto found = minors_.find(name);
    return found == minors_.end() ? std::nullopt : found->second;
}

std::string gpu_instance_access(unsigned gpu_minor, unsigned gpu_instance)
{
    return number_text("gpu", gpu_minor) + number_text("/mig/gi", gpu_instance) + "/access";
}

std::string compute_instance_access(unsigned gpu_minor, const MigInstance &instance)
{
    return number_text("gpu", gpu_minor) + number_text("/mig/gi", instance.gpu_instance) +
           number_text("/ci", instance.compute_instance) + "/access";
}

MigReader::MigReader(const Sysroot &sysroot) : sysroot_(sysroot)
{
    auto found = sysroot.find(capabilities_directory);
    if (!found)
        return;
    directory_ = std::move(found->fd);
    directory_name_ = sysroot.on_host(found->path);
}

const MigMinors &MigReader::minors()
{
    if (!minors_)
        minors_ = MigMinors(read_host_file(sysroot_, minors_file, max_minors_size).value_or(""));
    return *minors_;
}

/** A wrong number would give the right to another instance, or to divide every GPU: the driver says it twice. */
CapNode MigReader::read_access(const std::string &path, const std::string &name)
{
    const std::string what = quote(directory_name_ + "/" + path);
    const auto text = read_file_in(directory_.get(), path, max_access_size, what);
    const auto node = text ? parse_cap_access(*text) : std::nullopt;
    if (!node)
        throw Error(ErrorKind::BrokenHost, "the driver names no usable node in " + what);
    if (minors().find(name) != node->minor)
        throw Error(ErrorKind::BrokenHost, what + " has the minor " + std::to_string(node->minor) + ", and " +
                                               quote(sysroot_.on_host(minors_file)) + " does not");
    return *node;
}

CapNode MigReader::read_gpu_node(unsigned gpu_minor, unsigned gpu_instance)
{
    const std::string file = gpu_instance_access(gpu_minor, gpu_instance);
    if (!last_gpu_node_ || last_gpu_node_->first != file)
        last_gpu_node_.emplace(file, read_access(file, name_in_minors(gpu_minor, gpu_instance) + "/access"));
    return last_gpu_node_->second;
}

void MigReader::read_nodes(unsigned gpu_minor, MigInstance &instance)
{
    try {
        const CapNode outer = read_gpu_node(gpu_minor, instance.gpu_instance);
        instance.compute_node = read_access(compute_instance_access(gpu_minor, instance),
                                            name_in_minors(gpu_minor, instance.gpu_instance) +
                                                number_text("/ci", instance.compute_instance) + "/access");
        instance.gpu_node = outer;
    } catch (const Error &error) {
        instance.problem = error.what();
    }
}

std::optional<std::vector<MigInstance>> MigReader::instances_of(unsigned gpu_minor) const
{
    if (!directory_.valid())
        return std::nullopt;
    const std::string name = number_text("gpu", gpu_minor) + "/mig";
    const std::string what = directory_name_ + "/" + name;
    const auto mig = find_path(directory_.get(), name, O_PATH | O_DIRECTORY, Walk::Beneath, quote(what));
    if (!mig)
        return std::nullopt;
    const auto gpu_instances = numbered_names(mig->get(), {what, "gi", max_instance});
    if (gpu_instances.empty())
        return std::nullopt;
    std::vector<MigInstance> instances;
    for (const NumberedName &outer : gpu_instances) {
        const std::string directory = what + "/" + outer.name;
        const UniqueFd fd =
            open_path(mig->get(), outer.name, O_PATH | O_DIRECTORY, Walk::Beneath, quote(directory));
        for (const NumberedName &inner : numbered_names(fd.get(), {directory, "ci", max_instance}))
            instances.push_back({outer.number, inner.number});
    }
    return instances;
}

} // namespace ogh
