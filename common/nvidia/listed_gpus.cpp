// SPDX-License-Identifier: Apache-2.0
#include "nvidia/listed_gpus.h"

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "host/host_file.h"
#include "kernel/directory_entries.h"
#include "kernel/user_namespace.h"

namespace ogh {

namespace {

constexpr const char *gpus_directory = "/proc/driver/nvidia/gpus";
constexpr size_t max_information_size = 65536;
constexpr std::string_view uuid_prefix = "GPU-";
constexpr size_t max_uuid_size = 64;
constexpr size_t max_gpus = 1024; // the driver has 248 minor numbers

/** Older drivers print question marks until the GPU has been opened once. */
bool is_uuid(std::string_view text)
{
    return text.starts_with(uuid_prefix) && text.size() > uuid_prefix.size() &&
           text.size() <= max_uuid_size &&
           text.substr(uuid_prefix.size()).find_first_not_of("0123456789abcdefABCDEF-") ==
               std::string_view::npos;
}

void set(GpuInformation &information, std::string_view key, std::string_view value)
{
    if (key == "Model")
        information.model = value;
    else if (key == "GPU UUID")
        information.uuid = is_uuid(value) ? value : "";
    else if (key == "Device Minor")
        information.minor = parse_small_number(value, max_gpu_minor);
    else if (key == "GPU Excluded" || key == "Blacklisted") // older drivers
        information.is_excluded = value == "Yes";
}

/** Understands /proc/driver/nvidia/gpus/ADDRESS/information; lines of other keys are passed over. */
GpuInformation parse_gpu_information(std::string_view text)
{
    GpuInformation information;
    for (const std::string_view line : split_views(text, '\n')) {
        const size_t colon = line.find(':');
        if (colon != std::string_view::npos)
            set(information, trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
    }
    return information;
}

void set_problem(ListedGpu &gpu, ErrorKind kind, const std::string &problem)
{
    gpu.problem_kind = kind;
    gpu.problem = problem;
}

ListedGpu read_gpu(int directory, const std::string &name, const PciAddress &address, const std::string &what)
{
    ListedGpu gpu{address, name, {}, "", ErrorKind::None};
    try {
        const auto text =
            read_file_in(directory, name + "/information", max_information_size, what + "'s information");
        if (!text)
            throw Error(ErrorKind::BrokenHost,
                        "the driver says nothing about it: " + what + " has no information");
        gpu.information = parse_gpu_information(*text);
        if (gpu.information.is_excluded)
            set_problem(gpu, ErrorKind::NotAvailable,
                        "the driver's settings exclude it (NVreg_ExcludedGpus)");
        else if (!gpu.information.minor)
            set_problem(gpu, ErrorKind::BrokenHost, "the driver gives it no usable device minor, in " + what);
    } catch (const Error &error) {
        set_problem(gpu, error.kind(), error.what());
    }
    return gpu;
}

void read_gpus(const Sysroot &sysroot, ListedGpus &listed, Notes &notes)
{
    std::vector<ListedGpu> &gpus = listed.gpus;
    const auto directory = sysroot.find(gpus_directory);
    if (!directory)
        return;
    const std::string what = sysroot.on_host(directory->path);
    listed.gpus_directory = what;
    const std::string below = what + "/";
    const auto is_any_gpu = [](std::string_view name) { return !name.starts_with('.'); };
    for (const auto &entry :
         list_directory(directory->fd.get(), {quote(what), is_any_gpu, max_gpus, ErrorKind::BrokenHost})) {
        if (const auto address = parse_pci_address(entry.name))
            gpus.push_back(read_gpu(directory->fd.get(), entry.name, *address, quote(below + entry.name)));
        else
            notes.push_back({LogLevel::Info, quote(below + entry.name) + " is no PCI address, ignoring"});
    }
    std::stable_sort(gpus.begin(), gpus.end(),
                     [](const ListedGpu &a, const ListedGpu &b) { return a.address < b.address; });
}

/** A node is known by its minor number alone: two GPUs of one number could not be told apart by any policy. */
void refuse_shared_minors(std::vector<ListedGpu> &gpus)
{
    for (ListedGpu &gpu : gpus) {
        const auto same = std::count_if(gpus.begin(), gpus.end(), [&](const ListedGpu &other) {
            return !other.information.is_excluded && other.information.minor == gpu.information.minor;
        });
        if (same > 1 && gpu.problem.empty())
            set_problem(gpu, ErrorKind::BrokenHost,
                        "the driver gives another GPU the same device minor, " +
                            std::to_string(*gpu.information.minor));
    }
}

/** `any` and `all` mean those that were passed into a system container. */
void leave_out_without_node(const Sysroot &sysroot, std::vector<ListedGpu> &gpus)
{
    if (in_initial_user_namespace())
        return;
    for (ListedGpu &gpu : gpus)
        if (gpu.problem.empty())
            set_problem(gpu, ErrorKind::NotAvailable,
                        why_without_node(sysroot, "/dev/nvidia" + std::to_string(*gpu.information.minor)));
}

/** A GPU that may be divided, and cannot be told how, is not given as if it were whole. */
void find_instances(const Sysroot &sysroot, ListedGpus &listed)
{
    const MigReader reader(sysroot);
    listed.capabilities_directory = reader.directory();
    for (ListedGpu &gpu : listed.gpus) {
        if (!gpu.problem.empty())
            continue;
        try {
            auto instances = reader.instances_of(*gpu.information.minor);
            gpu.is_divided = instances.has_value();
            gpu.instances = std::move(instances).value_or(std::vector<MigInstance>());
        } catch (const Error &error) {
            set_problem(gpu, ErrorKind::BrokenHost, error.what());
        }
    }
}

} // namespace

ListedGpus list_nvidia_gpus(const Sysroot &sysroot, Notes &notes)
{
    ListedGpus listed;
    read_gpus(sysroot, listed, notes);
    refuse_shared_minors(listed.gpus);
    leave_out_without_node(sysroot, listed.gpus);
    find_instances(sysroot, listed);
    return listed;
}

LeaseKey lease_key(const ListedGpu &gpu)
{
    return gpu_lease_key("nvidia", gpu.address);
}

LeaseKey lease_key(const ListedGpu &gpu, const MigInstance &instance)
{
    return lease_key(gpu) + "/" + std::to_string(instance.gpu_instance) + "/" +
           std::to_string(instance.compute_instance);
}

} // namespace ogh
