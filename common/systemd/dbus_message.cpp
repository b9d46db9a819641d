// SPDX-License-Identifier: Apache-2.0
#include "systemd/dbus_message.h"

#include "base/error.h"
#include "base/little_endian.h"

namespace ogh::dbus {

namespace {

constexpr char little_endian = 'l';
constexpr std::uint8_t protocol_version = 1;

/** Header fields; "Message Format". */
enum class Field : std::uint8_t {
    Path = 1,
    Interface = 2,
    Member = 3,
    ErrorName = 4,
    ReplySerial = 5,
    Signature = 8,
};

Error malformed(const std::string &why)
{
    return {ErrorKind::Failure, "a malformed D-Bus message: " + why};
}

std::size_t padding(std::size_t at, std::size_t alignment)
{
    return (alignment - at % alignment) % alignment;
}

void begin_field(Marshaller &header, Field field, const char *signature)
{
    header.begin_struct();
    header.put_byte(static_cast<std::uint8_t>(field));
    header.put_signature(signature);
}

void put_field(Marshaller &header, Field field, const char *signature, const std::string &text)
{
    begin_field(header, field, signature);
    header.put_string(text);
}

/** One header field, which @throws Error unless it is of the type that the specification gives it. */
void take_field(Unmarshaller &header, Message &message)
{
    header.begin_struct();
    const auto field = static_cast<Field>(header.take_byte());
    if (field == Field::ReplySerial) {
        header.expect_signature("u");
        message.reply_serial = header.take_uint32();
    } else if (field == Field::ErrorName) {
        header.expect_signature("s");
        message.error_name = header.take_string();
    } else if (field == Field::Signature) {
        header.expect_signature("g");
        message.signature = header.take_signature();
    } else if (const std::string type = header.take_signature(); type == "s" || type == "o") {
        header.take_string();
    } else if (type == "u") {
        header.take_uint32();
    } else {
        // Fields that a later version of the protocol may add are to be skipped; no systemd has any.
        throw malformed("a value of a type that is not expected");
    }
}

} // namespace

void Marshaller::pad(std::size_t alignment)
{
    bytes_.append(padding(bytes_.size(), alignment), '\0');
}

void Marshaller::put_uint32(std::uint32_t value)
{
    pad(sizeof value);
    append_little_endian(bytes_, value);
}

void Marshaller::put_string(std::string_view text)
{
    put_uint32(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
    bytes_ += '\0';
}

void Marshaller::put_signature(std::string_view text)
{
    put_byte(static_cast<std::uint8_t>(text.size()));
    bytes_.append(text);
    bytes_ += '\0';
}

void Marshaller::set_uint32(std::size_t end, std::uint32_t value)
{
    std::string digits;
    append_little_endian(digits, value);
    bytes_.replace(end - digits.size(), digits.size(), digits);
}

std::string_view Unmarshaller::take(std::size_t count)
{
    if (count > bytes_.size() - at_)
        throw malformed("it is cut short");
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
}

void Unmarshaller::skip_padding(std::size_t alignment)
{
    take(padding(at_, alignment));
}

std::uint32_t Unmarshaller::take_uint32()
{
    skip_padding(sizeof(std::uint32_t));
    return load_little_endian<std::uint32_t>(take(sizeof(std::uint32_t)), 0);
}

std::string Unmarshaller::take_text(std::size_t length)
{
    const std::string_view text = take(length);
    if (take(1)[0] != '\0' || text.find('\0') != std::string_view::npos)
        throw malformed("a text that does not end where it says");
    return std::string(text);
}

void Unmarshaller::expect_signature(std::string_view signature)
{
    if (take_signature() != signature)
        throw malformed("a value of another type than '" + std::string(signature) + "'");
}

void Unmarshaller::check_end(std::size_t end) const
{
    if (at_ != end)
        throw malformed("an array that does not end where it says");
}

std::string marshal(const MethodCall &call, std::uint32_t serial)
{
    Marshaller header;
    header.put_byte(little_endian);
    header.put_byte(static_cast<std::uint8_t>(MessageType::MethodCall));
    header.put_byte(0); // no flags: a reply is expected
    header.put_byte(protocol_version);
    header.put_uint32(static_cast<std::uint32_t>(call.body.size()));
    header.put_uint32(serial);
    header.put_array_of_structs([&] {
        put_field(header, Field::Path, "o", call.path);
        put_field(header, Field::Interface, "s", call.interface);
        put_field(header, Field::Member, "s", call.member);
        if (!call.signature.empty()) {
            begin_field(header, Field::Signature, "g");
            header.put_signature(call.signature);
        }
    });
    header.begin_struct(); // the body is aligned like one
    return header.bytes() + call.body;
}

std::size_t message_length(std::string_view start)
{
    Unmarshaller header(start.substr(0, fixed_header));
    if (header.take_byte() != little_endian)
        throw malformed("it is not little-endian");
    header.take_byte();
    header.take_byte();
    if (header.take_byte() != protocol_version)
        throw malformed("another protocol version");
    const std::size_t body = header.take_uint32();
    header.take_uint32();
    const std::size_t fields = header.take_uint32();
    const std::size_t length = fixed_header + fields + padding(fields, 8) + body;
    if (length > max_message)
        throw malformed("it is longer than " + std::to_string(max_message) + " bytes");
    return length;
}

Message unmarshal(std::string_view bytes)
{
    if (bytes.size() < fixed_header || message_length(bytes) != bytes.size())
        throw malformed("it is not as long as it says");
    Message message;
    message.type = static_cast<MessageType>(bytes[1]);
    constexpr std::size_t before_fields = 12; // their length is the last of the fixed header
    Unmarshaller header(bytes);
    for (std::size_t at = 0; at < before_fields; at += sizeof(std::uint32_t))
        header.take_uint32();
    header.take_array_of_structs([&] { take_field(header, message); });
    header.begin_struct(); // as above
    message.body = header.rest();
    return message;
}

} // namespace ogh::dbus
