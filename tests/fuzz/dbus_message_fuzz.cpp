// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "promise.h"
#include "systemd/dbus_message.h"
#include "target.h"

namespace ogh::fuzz::dbus_message {

using namespace dbus;

namespace {

/** Whatever is read of a body. */
void take_all(const Message &message)
{
    Unmarshaller values = message.values();
    for (const char type : message.signature) {
        if (type == 'a')
            values.take_array_of_structs([&] {
                values.begin_struct();
                values.take_string();
            });
        else if (type == 'v')
            values.take_signature();
        else if (type == 's' || type == 'o')
            values.take_string();
        else
            values.take_uint32();
    }
}

void check_message(std::string_view input)
{
    const auto length = attempt([&] { return message_length(input); });
    const auto message = attempt([&] { return unmarshal(input); });
    if (!message.value) {
        require(message.kind == ErrorKind::Failure, "what is no message is a plain failure");
        return;
    }
    require(length.value == input.size(), "a message is as long as its beginning says");
    require(input.size() <= max_message, "messages have a limit");
    require(input.ends_with(message.value->body), "the body is the end");
    attempt([&] {
        take_all(*message.value);
        return true;
    });
}

/** What is written here is read there. */
void check_call(std::string_view input)
{
    const std::string text(input.substr(0, input.find('\0')));
    Marshaller body;
    body.put_array_of_structs([&] {
        body.begin_struct();
        body.put_string(text);
        body.put_uint32(1);
    });
    const Message message = unmarshal(marshal({"/o", "i.f", text, "a(sb)", body.bytes()}, 1));
    Unmarshaller values = message.values();
    std::string taken;
    size_t count = 0;
    values.take_array_of_structs([&] {
        values.begin_struct();
        taken += values.take_string();
        count += values.take_uint32();
    });
    require(taken == text && count == 1 && values.rest().empty(), "what is written can be read");
}

} // namespace

void check(std::string_view input)
{
    check_message(input);
    check_call(input);
}

} // namespace ogh::fuzz::dbus_message
