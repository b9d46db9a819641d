// SPDX-License-Identifier: Apache-2.0
//
// The interface is described in org.freedesktop.systemd1(5).
#include "systemd/scope_unit.h"

#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "systemd/unit_devices.h"

namespace ogh {

namespace {

using dbus::Marshaller;
using dbus::MethodCall;
using dbus::Unmarshaller;

constexpr const char *no_bus_name = ""; // whoever is at the other end is systemd

MethodCall manager_call(const char *member, const char *signature, const Marshaller &body)
{
    return {no_bus_name, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", member, signature,
            body.bytes()};
}

MethodCall property_call(const std::string &unit, const char *interface, const char *name)
{
    Marshaller body;
    body.put_string(std::string("org.freedesktop.systemd1.") + interface);
    body.put_string(name);
    return {no_bus_name, unit, "org.freedesktop.DBus.Properties", "Get", "ss", body.bytes()};
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
    const auto replies = manager.call({manager_call("GetUnitByControlGroup", "s", body)});
    return values_of(replies.front(), "o").take_object_path();
}

/** How the object of a scope ends: `.` is escaped (sd_bus_path_encode(3)). What is no scope lacks its properties. */
constexpr std::string_view scope_object = "_2escope";

UnitDevices look_at(ManagerConnection &manager, const std::string &unit)
{
    if (!unit.ends_with(scope_object))
        return {text_of(manager.call({property_call(unit, "Unit", "Id")}).front()), "", "", {}};
    const auto replies = manager.call(
        {property_call(unit, "Unit", "Id"), property_call(unit, "Scope", "ControlGroup"),
         property_call(unit, "Scope", "DevicePolicy"), property_call(unit, "Scope", "DeviceAllow")});
    return {text_of(replies[0]), text_of(replies[1]), text_of(replies[2]), devices_of(replies[3])};
}

/** For as long as the unit lives: nothing is written below /etc. */
void allow(ManagerConnection &manager, const std::string &id, const AllowedDevices &devices)
{
    constexpr bool only_at_run_time = true;
    Marshaller body;
    body.put_string(id);
    body.put_boolean(only_at_run_time);
    body.put_array_of_structs([&] {
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
    });
    manager.call({manager_call("SetUnitProperties", "sba(sv)", body)});
}

Note allow_in(ManagerConnection &manager, const std::vector<std::string> &scopes, const DeviceRules &rules)
{
    const UnitDevices unit = look_at(manager, unit_of(manager, scopes.back()));
    const std::string &id = unit.id;
    if (!is_containers_own(unit, scopes))
        return {LogLevel::Info,
                "systemd's unit " + quote(id) + " is not the container's own, and stays as it is"};
    if (!restricts_devices(unit))
        return {LogLevel::Debug, "systemd does not restrict the devices of " + quote(id)};
    const AllowedDevices missing = missing_devices(unit, rules);
    if (missing.empty())
        return {LogLevel::Debug, "systemd allows the devices in " + quote(id) + " already"};
    allow(manager, id, missing);
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

} // namespace ogh
