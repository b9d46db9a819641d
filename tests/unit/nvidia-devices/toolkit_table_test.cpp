// SPDX-License-Identifier: Apache-2.0
// What a container's environment asks of NVIDIA's toolkit, value by value: what comes of it there (libnvidia-container 1.17
// and nvidia-container-toolkit 1.20), what comes of it here with `env`, and why where that is not the same.
#include <boost/test/unit_test.hpp>

#include "base/exit_status.h"
#include "nvidia-devices/host/candidates.h"
#include "nvidia-devices/host/imex.h"
#include "nvidia-devices/host/inventory.h"
#include "nvidia-devices/request/capabilities.h"
#include "nvidia-devices/request/image_requirements.h"
#include "request/selection.h"
#include "request/visible_devices.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_toolkit_table)

using namespace ogh;
using namespace ogh::nvidia_devices;

namespace {

struct Row {
    std::string_view environment; ///< variables, "; " between
    std::string_view there;
    std::string_view here; ///< "GPUs; capabilities; requirements", "nothing", or "exit N"
    std::string_view why_not_the_same = "";
};

constexpr std::string_view only_the_unmet =
    "only what is surely not met stops a container; this is a warning";
constexpr std::string_view library_is_missing = "NVIDIA's library alone knows that, and is not loaded";

std::vector<std::string> parts_of(std::string_view text)
{
    std::vector<std::string> parts;
    while (!text.empty()) {
        const size_t end = std::min(text.find("; "), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 2, text.size()));
    }
    return parts;
}

/** A host with the GPUs 0 and 1, or, if they are divided, with 0/1/0 and 0/2/0 of the GPU 0, and the GPU 1. */
std::vector<Candidate> two_gpus(bool is_divided)
{
    Inventory inventory;
    for (const char *const uuid :
         {"GPU-5a1c0de0-1111-4222-8333-0123456789a0", "GPU-5a1c0de0-1111-4222-8333-0123456789a1"}) {
        Gpu gpu;
        gpu.address.bus = static_cast<std::uint8_t>(0x5e + inventory.gpus.size());
        gpu.information.uuid = uuid;
        inventory.gpus.push_back(gpu);
    }
    if (is_divided) {
        inventory.gpus[0].is_divided = true;
        inventory.gpus[0].instances = {{1, 0}, {2, 0}};
    }
    return candidates(inventory);
}

std::string gpus_of(const Selectors &selectors, bool is_divided)
{
    Notes notes;
    std::string text;
    const auto gpus = two_gpus(is_divided);
    if (find_library_name(selectors, {}))
        throw Error(ErrorKind::NotAvailable, "a name that NVIDIA's library alone knows");
    for (const size_t gpu : first_of(resolve(selectors, gpus, {}, notes))) {
        const std::string &key = gpus[gpu].lease_key;
        text += (text.empty() ? "" : ",") +
                (gpus[gpu].whole ? std::to_string(*gpus[gpu].whole) + key.substr(key.find('/'))
                                 : std::to_string(gpu));
    }
    return text.empty() ? "none" : text;
}

/** A part that begins with a slash is a mount. */
std::string outcome_of(std::string_view environment, bool is_divided)
{
    Config config;
    for (std::string &part : parts_of(environment)) {
        if (part.starts_with('/'))
            config.binds.push_back({std::move(part), "/dev/null"});
        else
            config.environment.push_back(std::move(part));
    }
    try {
        refuse_plugin_mounts(config, nvidia_plugin_names());
        const auto selectors = nvidia_visible_devices(config);
        if (!selectors)
            return "nothing";
        const Capabilities capabilities = capabilities_of_environment(config);
        std::string text = gpus_of(*selectors, is_divided) + "; " + to_text(capabilities);
        for (const RequestValue &requirement : requirements_of(config))
            text += "; " + requirement.value;
        for (const unsigned channel : imex_channels_of_environment(config))
            text += "; channel " + std::to_string(channel);
        return text;
    } catch (const Error &error) {
        return "exit " + std::to_string(static_cast<int>(exit_status(error.kind())));
    }
}

void check(const std::vector<Row> &rows, bool is_divided = false)
{
    for (const Row &row : rows) {
        BOOST_TEST_CONTEXT(row.environment)
        {
            BOOST_TEST(outcome_of(row.environment, is_divided) == row.here);
            BOOST_TEST((row.there == row.here) == row.why_not_the_same.empty());
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(which_gpus)
{
    check({
        {"PATH=/bin", "nothing", "nothing"},
        {"NVIDIA_VISIBLE_DEVICES=", "nothing", "nothing"},
        {"NVIDIA_VISIBLE_DEVICES= , ", "nothing", "nothing"},
        {"NVIDIA_VISIBLE_DEVICES=void", "nothing", "nothing"},
        {"NVIDIA_VISIBLE_DEVICES=0,void", "nothing", "nothing"},
        {"NVIDIA_VISIBLE_DEVICES=all,void", "nothing", "nothing"},
        {"NVIDIA_VISIBLE_DEVICES=none", "none; compute,utility", "none; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=all", "0,1; compute,utility", "0,1; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=1,all", "0,1; compute,utility", "0,1; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=0,none,all", "none; compute,utility", "none; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=all,none", "0,1; compute,utility", "0,1; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=All", "start fails", "exit 3", "the same in words: it is no GPU"},
        {"NVIDIA_VISIBLE_DEVICES=1", "1; compute,utility", "1; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES= 1 ,, 0 ,", "0,1; compute,utility", "0,1; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_VISIBLE_DEVICES=1", "1; compute,utility", "1; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=1,1", "1 and an empty place in the list", "1; compute,utility",
         "their defect: an item that stands twice is one"},
        {"NVIDIA_VISIBLE_DEVICES=GPU-5a1c0de0-1111-4222-8333-0123456789a1", "1; compute,utility",
         "1; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=gpu-5A1C0DE0-1111-4222-8333-0123456789A1", "1; compute,utility",
         "1; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=GPU-5a1c0de0", "start fails; of old, the first that begins so", "exit 3",
         "the beginning of a UUID may be that of another GPU tomorrow"},
        {"NVIDIA_VISIBLE_DEVICES=00000000:5F:00.0", "1; compute,utility", "1; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=7", "start fails", "exit 3", "the same, with all that there is"},
        {"NVIDIA_VISIBLE_DEVICES=0,7", "start fails", "exit 3", "the same"},
        {"NVIDIA_VISIBLE_DEVICES=0-1", "start fails", "0,1; compute,utility",
         "what a selector means, it means here too"},
        {"NVIDIA_VISIBLE_DEVICES=any:1", "start fails", "0; compute,utility",
         "what a selector means, it means here too: docker's --gpus has no other way to say it"},
        {"NVIDIA_VISIBLE_DEVICES=env", "start fails", "exit 2", "the same"},
        {"NVIDIA_VISIBLE_DEVICES=-1", "start fails", "exit 2", "the same"},
        {"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0", "a CDI device of any file", "exit 2",
         "CDI devices are the engine's: --device"},
    });
}

/** Where the GPU 0 is divided. */
BOOST_AUTO_TEST_CASE(which_instances)
{
    check({{"NVIDIA_VISIBLE_DEVICES=all", "1,0/1/0,0/2/0; compute,utility", "1,0/1/0,0/2/0; compute,utility"},
           {"NVIDIA_VISIBLE_DEVICES=1", "1; compute,utility", "1; compute,utility"},
           {"NVIDIA_VISIBLE_DEVICES=0", "the node of the GPU alone", "0; compute,utility",
            "a program could do nothing without instances: it gets all of them"},
           {"NVIDIA_VISIBLE_DEVICES=MIG-GPU-5a1c0de0-1111-4222-8333-0123456789a0/2/0",
            "0/2/0; compute,utility", "0/2/0; compute,utility"},
           {"NVIDIA_VISIBLE_DEVICES=mig-gpu-5A1C0DE0-1111-4222-8333-0123456789A0/1/0",
            "0/1/0; compute,utility", "0/1/0; compute,utility"},
           {"NVIDIA_VISIBLE_DEVICES=MIG-GPU-5a1c0de0-1111-4222-8333-0123456789a0/3/0", "start fails",
            "exit 3", "the same, with all that there is"},
           {"NVIDIA_VISIBLE_DEVICES=MIG-GPU-5a1c0de0-1111-4222-8333-0123456789a0", "start fails", "exit 3",
            "the same"},
           {"NVIDIA_VISIBLE_DEVICES=0:1", "the second instance of GPU 0", "exit 3", library_is_missing},
           {"NVIDIA_VISIBLE_DEVICES=MIG-5a1c0de0-1111-4222-8333-0123456789ff", "that instance", "exit 3",
            library_is_missing}},
          true);
}

BOOST_AUTO_TEST_CASE(which_capabilities)
{
    check({
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_DRIVER_CAPABILITIES=", "0; compute,utility", "0; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_DRIVER_CAPABILITIES= , ", "0; compute,utility",
         "0; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_DRIVER_CAPABILITIES= video ,,ngx", "0; video,ngx", "0; video,ngx"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_DRIVER_CAPABILITIES=all", "0; all", "0; all"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_DRIVER_CAPABILITIES=all,video", "0; all", "0; all,video",
         "what is named must be there, what is only of 'all' need not"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_DRIVER_CAPABILITIES=gds", "start fails", "exit 2", "the same"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_DRIVER_CAPABILITIES=Video", "start fails", "exit 2", "the same"},
        {"NVIDIA_VISIBLE_DEVICES=none; NVIDIA_DRIVER_CAPABILITIES=utility", "none; utility", "none; utility"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_GDS=enabled", "0; compute,utility,gds", "0; compute,utility,gds"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_GDS=Enabled", "0; compute,utility", "0; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_MOFED=enabled; NVIDIA_GDRCOPY=1", "0; compute,utility,mofed",
         "0; compute,utility,mofed"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_NVSWITCH=enabled", "the nodes of the switches too",
         "0; compute,utility", "whoever manages the fabric of a host is privileged, and has all nodes"},
        {"NVIDIA_GDRCOPY=enabled", "nothing", "nothing"},
    });
}

BOOST_AUTO_TEST_CASE(images_from_before_requirements)
{
    check({
        {"CUDA_VERSION=9.0.176", "0,1; all; cuda>=9.0", "0,1; all; cuda>=9.0"},
        {"CUDA_VERSION=9.0.176; NVIDIA_REQUIRE_CUDA=", "0,1; all; cuda>=9.0", "0,1; all; cuda>=9.0"},
        {"CUDA_VERSION=9.0; NVIDIA_VISIBLE_DEVICES=", "nothing", "nothing"},
        {"CUDA_VERSION=9.0; NVIDIA_VISIBLE_DEVICES=1", "1; all; cuda>=9.0", "1; all; cuda>=9.0"},
        {"CUDA_VERSION=9.0; NVIDIA_DRIVER_CAPABILITIES=", "0,1; compute,utility; cuda>=9.0",
         "0,1; compute,utility; cuda>=9.0"},
        {"CUDA_VERSION=9.0; NVIDIA_DISABLE_REQUIRE=true", "0,1; all", "0,1; all"},
        {"CUDA_VERSION=x", "start fails", "0,1; all; cuda>=x", only_the_unmet},
        {"CUDA_VERSION=12.4.1; NVIDIA_REQUIRE_CUDA=cuda>=12.4", "nothing", "nothing"},
        {"CUDA_VERSION=", "nothing", "nothing"},
    });
}

BOOST_AUTO_TEST_CASE(what_is_required)
{
    check({
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_REQUIRE_CUDA=cuda>=12.4", "0; compute,utility; cuda>=12.4",
         "0; compute,utility; cuda>=12.4"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_REQUIRE_X=arch>=7; NVIDIA_REQUIRE_A=driver>1",
         "0; compute,utility; driver>1; arch>=7", "0; compute,utility; driver>1; arch>=7"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_REQUIRE_JETPACK=csv-mounts=all", "0; compute,utility",
         "0; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_REQUIRE_CUDA=oops; NVIDIA_DISABLE_REQUIRE=1", "0; compute,utility",
         "0; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_REQUIRE_CUDA=cuda>=1; NVIDIA_DISABLE_REQUIRE=yes",
         "0; compute,utility; cuda>=1", "0; compute,utility; cuda>=1"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_REQUIRE_CUDA=cuda=>12", "start fails",
         "0; compute,utility; cuda=>12", only_the_unmet},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_REQUIRE_CUDA=memory>=1", "start fails",
         "0; compute,utility; memory>=1", only_the_unmet},
        {"NVIDIA_VISIBLE_DEVICES=void; NVIDIA_REQUIRE_CUDA=oops", "nothing", "nothing"},
    });
}

/** Where the host's --allow-imex has them; there every channel is given. */
BOOST_AUTO_TEST_CASE(which_imex_channels)
{
    check({
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_IMEX_CHANNELS=", "0; compute,utility", "0; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_IMEX_CHANNELS=all", "0; compute,utility", "0; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_IMEX_CHANNELS=0,void", "0; compute,utility", "0; compute,utility"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_IMEX_CHANNELS= 2,, 0", "0; compute,utility; channel 0; channel 2",
         "0; compute,utility; channel 0; channel 2"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_IMEX_CHANNELS=0,0", "channel 0 and an empty place in the list",
         "0; compute,utility; channel 0", "their defect: an item that stands twice is one"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_IMEX_CHANNELS=none", "an item without a name",
         "0; compute,utility", "their defect: none is no channel"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_IMEX_CHANNELS=0,all", "start fails", "exit 2", "the same"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_IMEX_CHANNELS=channel0", "start fails; a CDI device is called so",
         "exit 2", "the variable has numbers"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_IMEX_CHANNELS=1048576", "start fails since 1.20; a node before",
         "exit 2", "there is no such channel"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_IMEX_CHANNELS=0-1", "start fails",
         "0; compute,utility; channel 0; channel 1", "ranges are as in the annotation"},
        {"NVIDIA_VISIBLE_DEVICES=void; NVIDIA_IMEX_CHANNELS=0", "nothing", "nothing"},
    });
}

BOOST_AUTO_TEST_CASE(what_is_not_given)
{
    check({
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_MIG_CONFIG_DEVICES=all",
         "the right to divide GPUs, with CAP_SYS_ADMIN; else start fails", "0; compute,utility",
         "whoever divides GPUs is privileged, and has all nodes"},
        {"NVIDIA_VISIBLE_DEVICES=0; NVIDIA_MIG_MONITOR_DEVICES=all",
         "the right to look at all instances, with CAP_SYS_ADMIN; else start fails", "0; compute,utility",
         "the same"},
        {"/var/run/nvidia-container-devices/0", "0, where the host accepts mounts; else nothing", "exit 2",
         "not understood yet, and a container must not start without its GPU"},
        {"/var/run/nvidia-container-devices2/0; NVIDIA_VISIBLE_DEVICES=1", "the GPU '2/0'",
         "1; compute,utility", "their defect: a name ends at a slash"},
    });
}

BOOST_AUTO_TEST_SUITE_END()
