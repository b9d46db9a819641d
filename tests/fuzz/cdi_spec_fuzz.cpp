// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "cdi-devices/plan/combined_edits.h"
#include "cdi-devices/spec/names.h"
#include "cdi-devices/spec/parse.h"
#include "promise.h"
#include "support/yaml_values.h"
#include "target.h"
#include "yaml/plain_block.h"
#include "yaml/plain_json.h"

namespace ogh::fuzz {

using namespace ogh::cdi_devices;

namespace {

void check_edits(const ContainerEdits &edits)
{
    for (const DeviceNode &node : edits.nodes) {
        require(!node.path.empty(), "a node without a path");
        require(node.path.find('\0') == std::string::npos, "a path that is cut short");
        require(node.type.size() <= 1, "a type of several letters");
    }
    for (const Mount &mount : edits.mounts)
        require(!mount.host_path.empty() && !mount.container_path.empty(), "a mount of nothing");
    for (const SpecHook &hook : edits.hooks)
        require(!hook.path.empty(), "a hook without a program");
    for (const std::string &variable : edits.env)
        require(variable.find('=') != std::string::npos && variable.front() != '=',
                "a variable without a name");
}

/** Whether it is of a form that needs no library. */
bool is_plain(std::string_view input)
{
    return attempt([&] {
               return test::is_understood(read_plain_json, input) ||
                      test::is_understood(read_plain_block, input);
           })
        .value.value_or(false);
}

} // namespace

void check(std::string_view input)
{
    const auto outcome = attempt([&] { return parse_spec(input); });
    require(outcome.value || outcome.kind == ErrorKind::BrokenHost,
            "a specification that is wrong is the host's fault");
    if (is_plain(input)) {
        // With a comment it is none of the forms that are read without the library.
        const auto by_library = attempt([&] { return parse_spec(std::string(input) + "\n#"); });
        require(by_library.value == outcome.value, "a plain form is read in another way than by the library");
    }
    if (!outcome.value)
        return;
    const SpecFile file{"/etc/cdi/a.yaml", 0, *outcome.value};
    require(kind_problem(file.spec.kind).empty(), "a kind that is none");
    require(!file.spec.devices.empty(), "no device");
    check_edits(file.spec.edits);
    for (const Device &device : file.spec.devices) {
        require(device_problem(device.name).empty(), "a name that is none");
        require(!device.edits.empty(), "a device without edits");
        check_edits(device.edits);
        const ContainerEdits edits = combine({{&file, &device}});
        require(edits.nodes.size() <= file.spec.edits.nodes.size() + device.edits.nodes.size(), "more nodes");
    }
}

} // namespace ogh::fuzz
