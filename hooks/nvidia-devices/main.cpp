// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "hook/declared_options.h"
#include "hook/gpu_hook.h"
#include "host/host_file.h"
#include "host/sysroot.h"
#include "image/container_view.h"
#include "kernel/directory_entries.h"
#include "lease/presence/gpu_users.h"
#include "nvidia-devices/driver/driver_files.h"
#include "nvidia-devices/driver/driver_root.h"
#include "nvidia-devices/driver/instance_query.h"
#include "nvidia-devices/host/candidates.h"
#include "nvidia-devices/host/imex.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/host/library_answer.h"
#include "nvidia-devices/plan/driver_tree.h"
#include "nvidia-devices/plan/plan.h"
#include "nvidia-devices/request/extras.h"
#include "request/availability.h"
#include "request/selection.h"
#include "request/selectors.h"
#include "request/visible_devices.h"

namespace ogh::nvidia_devices {

namespace {

constexpr const char *module_directory = "/sys/module/nvidia";
constexpr size_t most_text = 4096; // a page, as each file of sysfs

/** Of nvidia.ko, as /proc/devices names them. */
constexpr std::array driver_nodes{"nvidia",         "nvidia-frontend",           "nvidiactl",
                                  "nvidia-caps",    "nvidia-caps-imex-channels", "nvidia-nvlink",
                                  "nvidia-nvswitch"};
/** /dev/nvidia-modeset, of the major of GPUs, is nvidia-modeset.ko's. */
constexpr unsigned other_modules_minor = 254;

/**
 * try_module_get() of each file that is opened (fops_get() and cdev_get() in chrdev_open()), and of ref_module() for each
 * link in holders: what is left when these are taken away is files. One that takes a reference otherwise, as memory that
 * was exported for another driver does (dma_buf_export()), is counted for a file, and looked for in vain.
 */
std::optional<size_t> count_open_nodes(const Sysroot &sysroot)
{
    const auto holders = sysroot.find(std::string(module_directory) + "/holders");
    const auto text = read_host_file(sysroot, std::string(module_directory) + "/refcnt", most_text);
    if (!holders || !text)
        return std::nullopt;
    const auto is_module = [](std::string_view name) { return !name.starts_with('.'); };
    const size_t count =
        list_directory(holders->fd.get(), {"the modules on top of nvidia", is_module}).size();
    const auto references = parse_number(std::string_view(*text).substr(0, text->find('\n')));
    return references && *references >= count ? std::optional<size_t>(*references - count) : std::nullopt;
}

/**
 * The processes of the host that have a GPU's node open, compared with the kernel's own count: a module counts each open
 * file and each module that is built on it (refcnt), and lists these (holders). Where no file is open nobody is looked for.
 * @throws Error (BrokenHost)
 */
GpuUsers find_users(const Sysroot &sysroot, const Inventory &inventory, const Processes &processes,
                    const Monitors &monitors)
{
    const unsigned major_number = gpu_major(inventory);
    DriverNodes nodes{
        {}, {}, {{major_number, other_modules_minor}}, [&] { return count_open_nodes(sysroot); }};
    for (const char *const name : driver_nodes) {
        if (const auto number = inventory.devices.major_of(name))
            nodes.majors.insert(*number);
    }
    for (const Gpu &gpu : inventory.gpus) {
        if (gpu.information.minor)
            nodes.gpus.emplace(std::pair(major_number, *gpu.information.minor), lease_key(gpu));
    }
    return find_node_users(processes, nodes, monitors);
}

/**
 * Asks NVIDIA's library for names of instances (MIG), where a request or the policy has one and a GPU is divided.
 * @throws Error: NotAvailable if it cannot be asked, BrokenHost if it answers what cannot be; with the names that need no
 *         library
 */
void name_instances_for(const Selectors &selectors, const SelectionPolicy &policy, const DriverPlaces &places,
                        Inventory &inventory, Notes &notes)
{
    const auto name = find_library_name(selectors, policy);
    const auto addresses = addresses_of_divided(inventory);
    if (!name || addresses.empty())
        return;
    const auto no_names = [&](ErrorKind kind, const std::string &why) {
        return Error(kind, "no GPU " + quote(*name) + ": " + why + "; " + without_library(inventory));
    };
    try {
        if (!inventory.version)
            throw NoLibrary("the driver's version is not known");
        const std::string answer =
            query_instances(places.sysroot, open_driver_root(places), inventory, addresses, notes);
        name_instances(parse_library_answer(answer), inventory);
    } catch (const NoLibrary &error) {
        throw no_names(
            ErrorKind::NotAvailable,
            std::string("NVIDIA's library alone knows how the instances of a GPU (MIG) are counted, and "
                        "UUIDs and profiles of theirs, and ") +
                error.what());
    } catch (const Error &error) {
        throw no_names(error.kind(), error.what());
    }
}

TreeRecord record_for(const GpuSelection &selection, const Inventory &inventory)
{
    TreeRecord record{selection.capabilities};
    // Only the profile for graphics names GPUs: a second request for another GPU otherwise finds all there.
    if (selection.capabilities.has_any(for_graphics)) {
        for (const size_t gpu : selection.gpus)
            record.minors.insert(inventory.gpus[gpu].information.minor.value());
    }
    return record;
}

/**
 * Finds the files for what is chosen, together with what an earlier request for the same container has brought.
 * @param earlier what that one has left in the tree (record_name); nothing if there was none
 * @throws Error (BrokenHost) if what was named cannot work with what there is; not for a container without GPUs
 */
DriverTree read_requested_tree(const DriverPlaces &places, const GpuSelection &selection,
                               const Inventory &inventory, const std::optional<std::string> &earlier,
                               Notes &notes)
{
    const bool is_required = !selection.gpus.empty();
    if (!inventory.version && is_required)
        throw Error(ErrorKind::BrokenHost,
                    "the files of a driver whose version cannot be understood cannot be found");
    if (!inventory.version)
        return {};
    DriverTree tree{true, false, record_for(selection, inventory), *inventory.version, {}};
    if (const auto before = earlier ? parse_tree_record(*earlier) : std::nullopt) {
        tree.record = joined(tree.record, *before);
        tree.is_there = tree.record == *before;
    }
    tree.files = read_driver_files(places, tree.version, tree.record.capabilities, is_required, notes);
    return tree;
}

/** A further request of a container may move an earlier one to what this one does not mean. */
void read_chosen(const Sysroot &sysroot, Inventory &inventory, const std::vector<InstancePlace> &chosen)
{
    read_instances(sysroot, inventory, chosen);
    for (const auto &[gpu, place] : chosen) {
        const std::string &problem = inventory.gpus[gpu].instances[place].problem;
        if (!problem.empty())
            throw Error(ErrorKind::BrokenHost, "the instance cannot be given: " + problem);
    }
}

/** The driver's files for what is chosen, and the image that they are for. */
void read_files(const DriverPlaces &places, Hook &hook, NvidiaInputs &inputs, Notes &notes)
{
    std::optional<std::string> earlier;
    if (hook.config())
        earlier = read_previous_request(hook.look(), std::string(tree_directory) + "/" + record_name);
    inputs.tree = read_requested_tree(places, inputs.selection, inputs.inventory, earlier, notes);
    if (!hook.config())
        return;
    std::set<std::string> interpreters;
    for (const DriverFile &file : inputs.tree.files.files)
        if (!file.interpreter.empty())
            interpreters.insert(file.interpreter);
    const ImageReader &reader = hook.look().reader(ReadAs::Process);
    inputs.image = read_image(reader, *hook.config(), interpreters, notes);
    if (!earlier)
        inputs.image.own_tools =
            find_own_tools(reader, *hook.config(), inputs.selection.capabilities, tree_directory);
}

/** A host with NVIDIA's driver, and what a container wants of it. */
class NvidiaHost final : public GpuHost {
public:
    /** @param allow_imex must outlive it */
    NvidiaHost(DriverPlaces places, Inventory inventory, Extras extras, const ImexPolicy &allow_imex)
        : GpuHost(nvidia_devices::candidates(inventory)), places_(std::move(places)),
          inventory_(std::move(inventory)), extras_(std::move(extras)), allow_imex_(allow_imex)
    {
    }

    [[nodiscard]] HostListing table(const SelectionPolicy &policy) const override
    {
        HostListing listing = list_gpus(inventory_, candidates(), policy);
        if (const auto channels = imex_fact(inventory_, allow_imex_))
            listing.facts.emplace_back("imex", *channels);
        return listing;
    }

    [[nodiscard]] GpuUsers find_users(const Processes &processes, const Monitors &monitors) const override
    {
        return nvidia_devices::find_users(places_.sysroot, inventory_, processes, monitors);
    }

    [[nodiscard]] std::unique_ptr<const GpuInputs> gather(const std::vector<size_t> &chosen, Hook &hook,
                                                          Notes &notes) override
    {
        auto inputs = std::make_unique<NvidiaInputs>();
        inputs->selection = selection_of(chosen, inventory_);
        read_chosen(places_.sysroot, inventory_, inputs->selection.instances);
        inputs->selection.capabilities = extras_.capabilities;
        inputs->selection.imex_channels = extras_.imex_channels;
        inputs->requirements = extras_.requirements;
        inputs->nodes = read_device_nodes(places_.sysroot, inventory_, inputs->selection);
        inputs->inventory = std::move(inventory_);
        if (extras_.has_files)
            read_files(places_, hook, *inputs, notes);
        return inputs;
    }

private:
    DriverPlaces places_;
    Inventory inventory_; ///< moved into what gather() returns
    Extras extras_;
    const ImexPolicy &allow_imex_;
};

/** NVIDIA's GPUs, and the files of their driver. */
class NvidiaGpus final : public GpuVendor {
public:
    /**
     * The units of nvidia-container-toolkit 1.18 and later write /var/run/cdi/nvidia.yaml. `none` gives what the driver says of
     * itself; and, if any are named, capabilities.
     */
    NvidiaGpus()
        : GpuVendor(
              {.name = "nvidia-devices",
               .description = "Gives a container NVIDIA GPUs of the host",
               .tags = {"nvidia", "cuda"},
               .cdi = {"nvidia.com/gpu", {"nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service"}, {}},
               .plugin = {.names = nvidia_plugin_names(), .is_served_by_tools = has_vendor_hook},
               .asked_of_tools =
                   [this](const Config &config) { return nvidia_visible_devices(config, count_means_); },
               .has_use_for_none = true})
    {
    }

    void add_options(CommandLine &cli) override
    {
        cli.add(declared("--driver-root"), driver_root_);
        cli.add_choice(declared("--count-means"), {"first", "any"}, [this](const std::string &name) {
            count_means_ = name == "any" ? CountMeans::Any : CountMeans::First;
        });
        cli.add(declared("--capabilities"), extras_.capabilities);
        cli.add(declared("--allow-capabilities"), allow_capabilities_);
        cli.add(declared("--allow-imex"), allow_imex_);
    }

    void check_options(const CommonOptions &common, bool is_for_cdi) override
    {
        if (extras_.capabilities && !common.request && !is_for_cdi)
            throw Error(ErrorKind::Usage, "--capabilities needs --request");
        if (count_means_ == CountMeans::Any && common.request != "env")
            throw Error(ErrorKind::Usage, "--count-means any needs --request env");
        if (allow_capabilities_)
            extras_.allow_capabilities =
                parse_allowed_capabilities({*allow_capabilities_, "option '--allow-capabilities'"});
        if (allow_imex_)
            extras_.allow_imex = ImexPolicy({*allow_imex_, "option '--allow-imex'"});
    }

    std::unique_ptr<GpuHost> look_at_all(const Sysroot &sysroot, const SelectionPolicy &policy,
                                         Notes &notes) const override
    {
        Inventory inventory = read_inventory(sysroot, notes);
        require_gpu(inventory);
        const DriverPlaces places{sysroot, driver_root_};
        name_instances_for({}, policy, places, inventory, notes);
        return std::make_unique<NvidiaHost>(places, std::move(inventory), Extras(), extras_.allow_imex);
    }

    std::unique_ptr<GpuHost> look(const Sysroot &sysroot, const GpuRequest &request,
                                  Notes &notes) const override
    {
        Extras extras = extras_of(request, extras_);
        Inventory inventory = find_gpus(sysroot, notes);
        // No error: nobody has asked for a GPU in this container.
        if (!inventory.has_driver && (request.asked.may_go_without() || request.selectors.none)) {
            notes.push_back({LogLevel::Info, "nothing to do: this host has no NVIDIA driver"});
            return nullptr;
        }
        require_driver(inventory);
        require_imex_channels(inventory, extras.imex_channels);
        const DriverPlaces places{sysroot, driver_root_};
        name_instances_for(request.selectors, request.policy, places, inventory, notes);
        read_instances(sysroot, inventory, meant_instances(request.selectors, inventory));
        if (request.selectors.allowed)
            read_access(sysroot, inventory);
        return std::make_unique<NvidiaHost>(places, std::move(inventory), std::move(extras),
                                            extras_.allow_imex);
    }

private:
    std::string driver_root_ = "/";
    CountMeans count_means_ = CountMeans::First;
    std::optional<std::string> allow_capabilities_;
    std::optional<std::string> allow_imex_;
    ExtrasOptions extras_;
};

} // namespace

} // namespace ogh::nvidia_devices

int main(int argc, char **argv)
{
    ogh::nvidia_devices::NvidiaGpus gpus;
    return ogh::run_gpu_hook(argc, argv, gpus);
}
