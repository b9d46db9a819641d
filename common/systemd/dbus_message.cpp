// SPDX-License-Identifier: Apache-2.0
#include "systemd/dbus_message.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/little_endian.h"
#include "base/text.h"

namespace ogh::dbus {

namespace {

constexpr char little = 'l';
constexpr char big = 'B';
constexpr std::uint8_t protocol_version = 1;

/** Header fields; "Message Format". */
enum class Field : std::uint8_t {
    Path = 1,
    Interface = 2,
    Member = 3,
    ErrorName = 4,
    ReplySerial = 5,
    Destination = 6,
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

bool is_object_path(std::string_view path)
{
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '/';
    };
    return path == "/" ||
           (path.starts_with('/') && !path.ends_with('/') && path.find("//") == std::string_view::npos &&
            std::all_of(path.begin(), path.end(), is_plain));
}

void put_field(Marshaller &header, Field field, const char *signature, const std::string &value)
{
    if (value.empty())
        return;
    header.begin_struct();
    header.put_byte(static_cast<std::uint8_t>(field));
    header.put_signature(signature);
    if (field == Field::Signature)
        header.put_signature(value);
    else
        header.put_string(value);
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
    } else {
        header.skip(header.take_signature());
    }
}

void check(const Message &message)
{
    if (message.serial == 0)
        throw malformed("its serial is 0");
    const bool is_error = message.type == MessageType::Error;
    if ((is_error || message.type == MessageType::MethodReturn) && !message.reply_serial)
        throw malformed("a reply to no call");
    if (is_error && message.error_name.empty())
        throw malformed("an error without a name");
    if (message.signature.empty() && !message.body.empty())
        throw malformed("a body without a signature");
}

} // namespace

void Marshaller::pad(std::size_t alignment)
{
    bytes_.append(padding(bytes_.size(), alignment), '\0');
}

void Marshaller::put_byte(std::uint8_t value)
{
    bytes_ += static_cast<char>(value);
}

void Marshaller::put_uint32(std::uint32_t value)
{
    pad(sizeof value);
    append_little_endian(bytes_, value);
}

void Marshaller::put_boolean(bool value)
{
    put_uint32(value ? 1 : 0);
}

void Marshaller::put_string(std::string_view text)
{
    if (text.size() > max_message || text.find('\0') != std::string_view::npos || as_utf8(text) != text)
        throw Error(ErrorKind::Failure, quote(text) + " is no text for D-Bus");
    put_uint32(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
    bytes_ += '\0';
}

void Marshaller::put_signature(std::string_view text)
{
    constexpr std::size_t longest = 255;
    if (text.size() > longest || text.find('\0') != std::string_view::npos)
        throw Error(ErrorKind::Failure, quote(text) + " is no signature of D-Bus");
    put_byte(static_cast<std::uint8_t>(text.size()));
    bytes_.append(text);
    bytes_ += '\0';
}

std::size_t Marshaller::begin_array()
{
    put_uint32(0);
    const std::size_t length = bytes_.size() - sizeof(std::uint32_t);
    pad(8); // the length does not count it
    return length;
}

void Marshaller::set_uint32(std::size_t at, std::uint32_t value)
{
    std::string digits;
    append_little_endian(digits, value);
    bytes_.replace(at, digits.size(), digits);
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
    const std::string_view skipped = take(padding(at_, alignment));
    if (skipped.find_first_not_of('\0') != std::string_view::npos)
        throw malformed("padding that is not zero");
}

std::uint8_t Unmarshaller::take_byte()
{
    return static_cast<std::uint8_t>(take(1)[0]);
}

std::uint32_t Unmarshaller::take_uint32()
{
    skip_padding(sizeof(std::uint32_t));
    const auto value = load_little_endian<std::uint32_t>(take(sizeof(std::uint32_t)), 0);
    if (!big_endian_)
        return value;
    return (value << 24U) | ((value & 0xFF00U) << 8U) | ((value >> 8U) & 0xFF00U) | (value >> 24U);
}

std::string Unmarshaller::take_text(std::size_t length)
{
    const std::string_view text = take(length);
    if (take(1)[0] != '\0' || text.find('\0') != std::string_view::npos)
        throw malformed("a text that does not end where it says");
    return std::string(text);
}

std::string Unmarshaller::take_string()
{
    std::string text = take_text(take_uint32());
    if (as_utf8(text) != text)
        throw malformed("a text that is not UTF-8");
    return text;
}

std::string Unmarshaller::take_object_path()
{
    std::string path = take_string();
    if (!is_object_path(path))
        throw malformed("an object path that is none");
    return path;
}

std::string Unmarshaller::take_signature()
{
    return take_text(take_byte());
}

void Unmarshaller::expect_signature(std::string_view signature)
{
    if (take_signature() != signature)
        throw malformed("a value of another type than '" + std::string(signature) + "'");
}

void Unmarshaller::skip(std::string_view signature)
{
    if (signature == "s" || signature == "o") {
        take_string();
    } else if (signature == "g") {
        take_signature();
    } else if (signature == "u" || signature == "i" || signature == "b" || signature == "h") {
        take_uint32();
    } else if (signature == "y") {
        take_byte();
    } else {
        // Fields that a later version of the protocol may add are to be skipped; no systemd has any.
        throw malformed("a value of a type that is not expected");
    }
}

std::size_t Unmarshaller::begin_array()
{
    const std::size_t length = take_uint32();
    skip_padding(8);
    if (length > bytes_.size() - at_)
        throw malformed("it is cut short");
    return at_ + length;
}

void Unmarshaller::check_array_end(std::size_t end) const
{
    if (at_ != end)
        throw malformed("an array that does not end where it says");
}

std::string marshal(const MethodCall &call, std::uint32_t serial)
{
    Marshaller header;
    header.put_byte(little);
    header.put_byte(static_cast<std::uint8_t>(MessageType::MethodCall));
    header.put_byte(0); // no flags: a reply is expected
    header.put_byte(protocol_version);
    header.put_uint32(static_cast<std::uint32_t>(call.body.size()));
    header.put_uint32(serial);
    header.put_array_of_structs([&] {
        put_field(header, Field::Path, "o", call.path);
        put_field(header, Field::Destination, "s", call.destination);
        put_field(header, Field::Interface, "s", call.interface);
        put_field(header, Field::Member, "s", call.member);
        put_field(header, Field::Signature, "g", call.signature);
    });
    header.begin_struct(); // the body is aligned like one
    return header.bytes() + call.body;
}

std::size_t message_length(std::string_view start)
{
    Unmarshaller header(start.substr(0, fixed_header), start.starts_with(big));
    if (!start.starts_with(big) && !start.starts_with(little))
        throw malformed("no byte order");
    header.take_byte();
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
    message.big_endian = bytes.starts_with(big);
    Unmarshaller header(bytes, message.big_endian);
    header.take_byte();
    message.type = static_cast<MessageType>(header.take_byte());
    header.take_byte();
    header.take_byte();
    header.take_uint32();
    message.serial = header.take_uint32();
    header.take_array_of_structs([&] { take_field(header, message); });
    header.skip_padding(8);
    message.body = bytes.substr(header.offset());
    check(message);
    return message;
}

} // namespace ogh::dbus
