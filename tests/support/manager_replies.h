// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "systemd/dbus_message.h"

/** What systemd sends on its own socket; tests play its part. */
namespace ogh::test {

constexpr const char *manager_welcome = "OK 0123456789abcdef0123456789abcdef\r\n";

/** A body and its signature. */
struct Values {
    std::string signature = {};
    std::string body = {};
};

inline Values object(const std::string &path)
{
    dbus::Marshaller body;
    body.put_string(path);
    return {"o", body.bytes()};
}

inline Values text_property(const std::string &text)
{
    dbus::Marshaller body;
    body.put_signature("s");
    body.put_string(text);
    return {"v", body.bytes()};
}

/** A scope of systemd's, and its DeviceAllow: nodes with what may be done to them. */
struct Scope {
    std::string id = "runc-4f.scope";
    std::string control_group = "/system.slice/runc-4f.scope";
    std::string device_policy = "strict";
    std::vector<std::pair<std::string, std::string>> device_allow = {};
};

inline Values devices_property(const Scope &scope)
{
    dbus::Marshaller body;
    body.put_signature("a(ss)");
    body.put_array_of_structs([&] {
        for (const auto &[node, access] : scope.device_allow) {
            body.begin_struct();
            body.put_string(node);
            body.put_string(access);
        }
    });
    return {"v", body.bytes()};
}

/** A message of any type. @param reply_serial 0 for none; @param error_name "" for none */
inline std::string message(dbus::MessageType type, std::uint32_t reply_serial, const Values &values,
                           const std::string &error_name = "")
{
    dbus::Marshaller header;
    for (const std::uint8_t byte :
         {std::uint8_t{'l'}, static_cast<std::uint8_t>(type), std::uint8_t{1}, std::uint8_t{1}})
        header.put_byte(byte);
    header.put_uint32(static_cast<std::uint32_t>(values.body.size()));
    header.put_uint32(1000);
    const auto begin_field = [&](std::uint8_t code, const char *signature) {
        header.begin_struct();
        header.put_byte(code);
        header.put_signature(signature);
    };
    header.put_array_of_structs([&] {
        if (reply_serial != 0) {
            begin_field(5, "u");
            header.put_uint32(reply_serial);
        }
        if (!error_name.empty()) {
            begin_field(4, "s");
            header.put_string(error_name);
        }
        if (!values.signature.empty()) {
            begin_field(8, "g");
            header.put_signature(values.signature);
        }
    });
    header.begin_struct();
    return header.bytes() + values.body;
}

inline std::string reply_to(std::uint32_t serial, const Values &values = {})
{
    return message(dbus::MessageType::MethodReturn, serial, values);
}

inline std::string error_to(std::uint32_t serial, const std::string &name, const std::string &text)
{
    dbus::Marshaller body;
    body.put_string(text);
    return message(dbus::MessageType::Error, serial, {"s", body.bytes()}, name);
}

/** What systemd says to all that allow_in_scope() asks and tells it, if it restricts the scope. */
inline std::string replies_on(const Scope &scope)
{
    const std::string type = scope.id.substr(scope.id.rfind('.') + 1);
    return manager_welcome + reply_to(1, object("/org/freedesktop/systemd1/unit/x_2e" + type)) +
           reply_to(2, text_property(scope.id)) + reply_to(3, text_property(scope.control_group)) +
           reply_to(4, text_property(scope.device_policy)) + reply_to(5, devices_property(scope)) +
           reply_to(6);
}

} // namespace ogh::test
