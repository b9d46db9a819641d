// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/**
 * Messages of D-Bus as bytes, protocol version 1, least significant byte first as all hosts are; D-Bus Specification,
 * "Type System", "Marshaling (Wire Format)" and "Message Protocol". Only what it takes to call the methods of systemd
 * that are called here, and to read their replies. Nothing here does input or output.
 */
namespace ogh::dbus {

/** No reply that is asked for here comes near it; the specification allows 128 MiB. */
constexpr std::size_t max_message = std::size_t{1} << 20U;

/** So much of a message tells how long it is. */
constexpr std::size_t fixed_header = 16;

/** Puts values behind each other, with the padding that each needs. */
class Marshaller final {
public:
    [[nodiscard]] const std::string &bytes() const { return bytes_; }

    void put_byte(std::uint8_t value) { bytes_ += static_cast<char>(value); } ///< y
    void put_uint32(std::uint32_t value);                                     ///< u, b
    void put_string(std::string_view text);                                   ///< s, o
    void put_signature(std::string_view text); ///< g, and what a variant begins with
    void begin_struct() { pad(8); }

    /** An array whose elements are structs, as all are here: `put` puts them, each with begin_struct(). */
    template<typename Put> void put_array_of_structs(const Put &put)
    {
        put_uint32(0);
        const std::size_t length_end = bytes_.size();
        pad(8); // the length does not count it
        const std::size_t start = bytes_.size();
        put();
        set_uint32(length_end, static_cast<std::uint32_t>(bytes_.size() - start));
    }

private:
    void pad(std::size_t alignment);
    void set_uint32(std::size_t end, std::uint32_t value);

    std::string bytes_;
};

/** Takes values off, in order. Each call @throws Error (Failure) if there is no such value. */
class Unmarshaller final {
public:
    /** @param bytes begin where a message's header or body does, which is aligned; they outlive this */
    explicit Unmarshaller(std::string_view bytes) : bytes_(bytes) {}

    std::uint8_t take_byte() { return static_cast<std::uint8_t>(take(1)[0]); }
    std::uint32_t take_uint32();
    std::string take_string() { return take_text(take_uint32()); }  ///< s, o
    std::string take_signature() { return take_text(take_byte()); } ///< g, and what a variant begins with
    void begin_struct() { skip_padding(8); }

    /** Takes the values of an array of structs: `take` takes one element, with begin_struct(). */
    template<typename Take> void take_array_of_structs(const Take &take)
    {
        const std::size_t length = take_uint32();
        skip_padding(8);
        const std::size_t end = at_ + length;
        while (at_ < end)
            take();
        check_end(end);
    }

    /** The variant's own signature has to be this. */
    void expect_signature(std::string_view signature);

    [[nodiscard]] std::string_view rest() const { return bytes_.substr(at_); }

private:
    std::string_view take(std::size_t count);
    std::string take_text(std::size_t length);
    void skip_padding(std::size_t alignment);
    void check_end(std::size_t end) const;

    std::string_view bytes_;
    std::size_t at_ = 0;
};

/** A call of a method of whoever is at the other end. */
struct MethodCall {
    std::string path; ///< of the object
    std::string interface;
    std::string member;
    std::string signature = {}; ///< of the body
    std::string body = {};      ///< Marshaller::bytes()
};

/** The call as a message. @param serial not 0 */
std::string marshal(const MethodCall &call, std::uint32_t serial);

enum class MessageType : std::uint8_t { MethodCall = 1, MethodReturn = 2, Error = 3, Signal = 4 };

/** What came in. */
struct Message {
    MessageType type = MessageType::Signal;
    std::uint32_t reply_serial = 0; ///< of a reply: which call it answers
    std::string error_name = {};    ///< of an error
    std::string signature = {};
    std::string body = {};

    [[nodiscard]] Unmarshaller values() const { return Unmarshaller(body); }
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
