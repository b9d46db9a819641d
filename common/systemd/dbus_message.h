// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/**
 * Messages of D-Bus as bytes, protocol version 1; D-Bus Specification, "Type System", "Marshaling (Wire Format)" and
 * "Message Protocol". Only what it takes to call methods and to read their replies: no file descriptors, and of values
 * the types y, b, u, s, o, g, v, arrays and structs. Nothing here does input or output.
 */
namespace ogh::dbus {

/** No reply that is asked for here comes near it; the specification allows 128 MiB. */
constexpr std::size_t max_message = std::size_t{1} << 20U;

/** So much of a message tells how long it is. */
constexpr std::size_t fixed_header = 16;

/** Puts values behind each other, with the padding that each needs; least significant byte first. */
class Marshaller final {
public:
    [[nodiscard]] const std::string &bytes() const { return bytes_; }

    void put_byte(std::uint8_t value); ///< y
    void put_uint32(std::uint32_t value);
    void put_boolean(bool value);
    void put_string(std::string_view text);    ///< s, o. @throws Error for a NUL, or no UTF-8
    void put_signature(std::string_view text); ///< g, and what a variant begins with. @throws Error
    void begin_struct() { pad(8); }

    /** An array whose elements are structs, as all are here: `put` puts them, each with begin_struct(). */
    template<typename Put> void put_array_of_structs(const Put &put)
    {
        const std::size_t length = begin_array();
        const std::size_t start = bytes_.size();
        put();
        set_uint32(length, static_cast<std::uint32_t>(bytes_.size() - start));
    }

private:
    void pad(std::size_t alignment);
    std::size_t begin_array();
    void set_uint32(std::size_t at, std::uint32_t value);

    std::string bytes_;
};

/** Takes values off, in order. Each call @throws Error (Failure) if there is no such value. */
class Unmarshaller final {
public:
    /** @param bytes begin where a message's header or body does, which is aligned; they outlive this */
    Unmarshaller(std::string_view bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

    std::uint8_t take_byte();
    std::uint32_t take_uint32();
    std::string take_string();      ///< s
    std::string take_object_path(); ///< o
    std::string take_signature();   ///< g, and what a variant begins with
    void begin_struct() { skip_padding(8); }

    /** Takes the values of an array of structs: `take` takes one element, with begin_struct(). */
    template<typename Take> void take_array_of_structs(const Take &take)
    {
        const std::size_t end = begin_array();
        while (at_ < end)
            take();
        check_array_end(end);
    }

    /** The variant's own signature has to be this. */
    void expect_signature(std::string_view signature);

    /** Skips a value of a basic type. */
    void skip(std::string_view signature);

    [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
    [[nodiscard]] std::size_t offset() const { return at_; }
    void skip_padding(std::size_t alignment);

private:
    std::string_view take(std::size_t count);
    std::string take_text(std::size_t length);
    std::size_t begin_array();
    void check_array_end(std::size_t end) const;

    std::string_view bytes_;
    std::size_t at_ = 0;
    bool big_endian_;
};

/** A call of a method. */
struct MethodCall {
    std::string destination; ///< the bus name of whom it is for; "" where the other end is meant
    std::string path;        ///< of the object
    std::string interface;
    std::string member;
    std::string signature = {}; ///< of the body
    std::string body = {};      ///< Marshaller::bytes()
};

/** The call as a message. @param serial not 0. @throws Error for a text that no message can have */
std::string marshal(const MethodCall &call, std::uint32_t serial);

enum class MessageType : std::uint8_t { MethodCall = 1, MethodReturn = 2, Error = 3, Signal = 4 };

/** What came in. Of a type that is none of the above nothing else is told. */
struct Message {
    MessageType type = MessageType::Signal;
    std::uint32_t serial = 0;
    std::optional<std::uint32_t> reply_serial = {}; ///< of a reply: which call it answers
    std::string error_name = {};                    ///< of an error
    std::string signature = {};
    std::string body = {};
    bool big_endian = false;

    [[nodiscard]] Unmarshaller values() const { return {body, big_endian}; }
};

/**
 * How long the message is that begins so.
 * @param start at least `fixed_header` bytes
 * @throws Error (Failure) if none begins so, or it is longer than `max_message`
 */
std::size_t message_length(std::string_view start);

/** @param bytes one whole message. @throws Error (Failure) if it is none */
Message unmarshal(std::string_view bytes);

} // namespace ogh::dbus
