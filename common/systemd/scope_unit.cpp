// SPDX-License-Identifier: Apache-2.0
//
// The interface is described in org.freedesktop.systemd1(5).
#include "systemd/scope_unit.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"

namespace ogh {

namespace {

using dbus::Marshaller;
using dbus::MethodCall;
using dbus::Unmarshaller;

/** One entry of a unit's DeviceAllow; systemd.resource-control(5). */
struct AllowedDevice {
    std::string node;   ///< a path below /dev, or a group of devices: "char-pts"
    std::string access; ///< of "r", "w" and "m"
};

using AllowedDevices = std::vector<AllowedDevice>;

/** A unit of systemd's, and how systemd restricts the devices of what runs in it. */
struct Unit {
    std::string id; ///< its name: "libpod-4f.scope"
    std::string control_group =
        {}; ///< as /proc/PID/cgroup names it; "" of what is no scope, as all that follows
    std::string device_policy = {}; ///< "auto", "closed" or "strict"
    AllowedDevices device_allow = {};
};

/**
 * Whether the unit is the container's own, and nothing else is in it: a scope, which runtimes make for one container,
 * and of a cgroup of this container's. systemd names the nearest unit above a cgroup; that may be the service of the
 * engine, or of a whole worker.
 */
bool is_containers_own(const Unit &unit, const std::vector<std::string> &scopes)
{
    return unit.id.ends_with(".scope") && contains(scopes, unit.control_group);
}

/**
 * Whether systemd denies devices in the unit. If it does not, DeviceAllow must be left alone: the first entry would
 * take all other devices away.
 */
bool restricts_devices(const Unit &unit)
{
    return unit.device_policy != "auto" || !unit.device_allow.empty();
}

/** systemd takes the numbers from such a path, and does not look whether it exists: src/core/bpf-devices.c. */
AllowedDevice allowed_by(const DeviceRule &rule)
{
    const std::string directory = rule.type == DeviceRule::Type::Char ? "/dev/char/" : "/dev/block/";
    return {directory + std::to_string(rule.major) + ":" + std::to_string(rule.minor),
            access_text(rule.access)};
}

/** What DeviceAllow lacks of the rules. Nodes are named by number: the host need not have them. */
AllowedDevices missing_devices(const Unit &unit, const DeviceRules &rules)
{
    AllowedDevices missing;
    for (const DeviceRule &rule : rules) {
        const AllowedDevice wanted = allowed_by(rule);
        const auto covers_it = [&](const AllowedDevice &present) {
            return present.node == wanted.node &&
                   wanted.access.find_first_not_of(present.access) == std::string::npos;
        };
        if (std::none_of(unit.device_allow.begin(), unit.device_allow.end(), covers_it))
            missing.push_back(wanted);
    }
    return missing;
}

MethodCall manager_call(const char *member, const char *signature, const Marshaller &body)
{
    return {"/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", member, signature, body.bytes()};
}

dbus::Message property(ManagerConnection &manager, const std::string &unit, const char *interface,
                       const char *name)
{
    Marshaller body;
    body.put_string(std::string("org.freedesktop.systemd1.") + interface);
    body.put_string(name);
    return manager.call({unit, "org.freedesktop.DBus.Properties", "Get", "ss", body.bytes()});
}

Unmarshaller values_of(const dbus::Message &reply, const char *signature)
{
    if (reply.signature != signature)
        throw Error(ErrorKind::Failure, "systemd's answer is of another type than it should be");
    return reply.values();
}

std::string text_of(const dbus::Message &reply)
{
    Unmarshaller values = values_of(reply, "v");
    values.expect_signature("s");
    return values.take_string();
}

AllowedDevices devices_of(const dbus::Message &reply)
{
    AllowedDevices devices;
    Unmarshaller values = values_of(reply, "v");
    values.expect_signature("a(ss)");
    values.take_array_of_structs([&] {
        values.begin_struct();
        std::string node = values.take_string();
        devices.push_back({std::move(node), values.take_string()});
    });
    return devices;
}

/** The object of the unit that is the cgroup's, or of the nearest one above it. */
std::string unit_of(ManagerConnection &manager, const std::string &cgroup)
{
    Marshaller body;
    body.put_string(cgroup);
    return values_of(manager.call(manager_call("GetUnitByControlGroup", "s", body)), "o").take_string();
}

/** How the object of a scope ends: `.` is escaped (sd_bus_path_encode(3)). What is no scope lacks its properties. */
constexpr std::string_view scope_object = "_2escope";

Unit look_at(ManagerConnection &manager, const std::string &object)
{
    Unit unit{text_of(property(manager, object, "Unit", "Id"))};
    if (object.ends_with(scope_object)) {
        unit.control_group = text_of(property(manager, object, "Scope", "ControlGroup"));
        unit.device_policy = text_of(property(manager, object, "Scope", "DevicePolicy"));
        unit.device_allow = devices_of(property(manager, object, "Scope", "DeviceAllow"));
    }
    return unit;
}

void put_device_allow(Marshaller &body, const AllowedDevices &devices)
{
    body.begin_struct();
    body.put_string("DeviceAllow");
    body.put_signature("a(ss)");
    body.put_array_of_structs([&] {
        for (const AllowedDevice &device : devices) {
            body.begin_struct();
            body.put_string(device.node);
            body.put_string(device.access);
        }
    });
}

enum class Change { Add, Replace };

/** For as long as the unit lives: nothing is written below /etc. */
void change(ManagerConnection &manager, const std::string &id, const AllowedDevices &devices, Change how)
{
    constexpr std::uint32_t only_at_run_time = 1; // a boolean
    Marshaller body;
    body.put_string(id);
    body.put_uint32(only_at_run_time);
    body.put_array_of_structs([&] {
        if (how == Change::Replace)
            put_device_allow(body, {}); // empties the list, and all of the message is one change
        put_device_allow(body, devices);
    });
    manager.call(manager_call("SetUnitProperties", "sba(sv)", body));
}

Note allow_in(ManagerConnection &manager, const std::vector<std::string> &scopes, const DeviceRules &rules)
{
    const Unit unit = look_at(manager, unit_of(manager, scopes.back()));
    const std::string &id = unit.id;
    if (!is_containers_own(unit, scopes))
        return {LogLevel::Info,
                "systemd's unit " + quote(id) + " is not the container's own, and stays as it is"};
    if (!restricts_devices(unit))
        return {LogLevel::Debug, "systemd does not restrict the devices of " + quote(id)};
    const AllowedDevices missing = missing_devices(unit, rules);
    if (missing.empty())
        return {LogLevel::Debug, "systemd allows the devices in " + quote(id) + " already"};
    change(manager, id, missing, Change::Add);
    return {LogLevel::Info, "systemd allows the devices in " + quote(id) + " too"};
}

} // namespace

Notes allow_in_scope(ManagerConnection &manager, const std::vector<std::string> &scopes,
                     const DeviceRules &rules)
try {
    return {allow_in(manager, scopes, rules)};
} catch (const Error &error) {
    return {{LogLevel::Warning, std::string(error.what()) +
                                    "; the container works, but may lose its devices at the next "
                                    "'systemctl daemon-reload', see oci-gpu-hooks(7)"}};
}

void deny_in_scope(ManagerConnection &manager, const std::vector<std::string> &scopes,
                   const DeviceRules &rules)
{
    Unit unit = look_at(manager, unit_of(manager, scopes.back()));
    const auto is_denied = [&](const AllowedDevice &present) {
        return std::any_of(rules.begin(), rules.end(),
                           [&](const DeviceRule &rule) { return allowed_by(rule).node == present.node; });
    };
    if (!is_containers_own(unit, scopes) || std::erase_if(unit.device_allow, is_denied) == 0)
        return;
    // Without any entry this policy denies nothing.
    if (unit.device_policy == "auto" && unit.device_allow.empty())
        throw Error(ErrorKind::Failure, "systemd would allow every device in " + quote(unit.id));
    change(manager, unit.id, unit.device_allow, Change::Replace);
}

} // namespace ogh
