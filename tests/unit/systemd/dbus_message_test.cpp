// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/expect.h"
#include "systemd/dbus_message.h"

BOOST_AUTO_TEST_SUITE(dbus_message)

using namespace ogh;
using namespace ogh::dbus;
using namespace ogh::test;
using namespace std::string_literals;

namespace {

/** A reply to call 7, as sd-bus writes it: REPLY_SERIAL, SENDER, SIGNATURE; body "hi". */
const std::string reply = "l\x02\x01\x01\x07\0\0\0\x2a\0\0\0\x27\0\0\0"
                          "\x05\x01u\0\x07\0\0\0"
                          "\x07\x01s\0\x09\0\0\0org.a.b.c\0\0\0\0\0\0\0"
                          "\x08\x01g\0\x01s\0\0"
                          "\x02\0\0\0hi\0"s;

/** With another byte at one place. */
std::string changed(std::string message, size_t at, char byte)
{
    message.at(at) = byte;
    return message;
}

bool is_refused(const std::string &message)
{
    return failure_of([&] { unmarshal(message); }).says("malformed D-Bus message");
}

} // namespace

BOOST_AUTO_TEST_CASE(a_call_is_written_as_the_specification_says)
{
    Marshaller body;
    body.put_string("/a");
    const MethodCall call{"/o", "i.f", "M", "s", body.bytes()};
    BOOST_TEST(marshal(call, 3) == "l\x01\0\x01\x07\0\0\0\x03\0\0\0\x37\0\0\0"
                                   "\x01\x01o\0\x02\0\0\0/o\0\0\0\0\0\0"
                                   "\x02\x01s\0\x03\0\0\0i.f\0\0\0\0\0"
                                   "\x03\x01s\0\x01\0\0\0M\0\0\0\0\0\0\0"
                                   "\x08\x01g\0\x01s\0\0"
                                   "\x02\0\0\0/a\0"s);
}

BOOST_AUTO_TEST_CASE(an_array_of_structs_is_padded_and_its_length_does_not_count_that)
{
    Marshaller body;
    body.put_array_of_structs([&] {
        for (const char *text : {"a", "b"}) {
            body.begin_struct();
            body.put_string(text);
        }
    });
    BOOST_TEST(body.bytes() == "\x0e\0\0\0\0\0\0\0"
                               "\x01\0\0\0a\0\0\0"
                               "\x01\0\0\0b\0"s);
    Marshaller none;
    none.put_array_of_structs([] {});
    BOOST_TEST(none.bytes() == "\0\0\0\0\0\0\0\0"s);
}

BOOST_AUTO_TEST_CASE(a_reply_is_read)
{
    BOOST_TEST(message_length(reply) == reply.size());
    const Message message = unmarshal(reply);
    BOOST_TEST((message.type == MessageType::MethodReturn));
    BOOST_TEST(message.reply_serial == 7U);
    BOOST_TEST(message.signature == "s");
    BOOST_TEST(message.values().take_string() == "hi");
}

BOOST_AUTO_TEST_CASE(another_byte_order_is_refused)
{
    BOOST_TEST(failure_of([] { message_length("B\x02\x01\x01\0\0\0\x07\0\0\0\x2a\0\0\0\x27"s); }).message ==
               "a malformed D-Bus message: it is not little-endian");
}

BOOST_AUTO_TEST_CASE(what_is_no_message_is_refused)
{
    for (size_t length = 0; length < reply.size(); ++length)
        BOOST_TEST(is_refused(reply.substr(0, length)), length);
    const std::vector<std::pair<size_t, char>> changes = {
        {0, 'x'},   // byte order
        {3, 2},     // version
        {4, 8},     // a longer body
        {7, 1},     // one of 16 MiB
        {12, 0x26}, // fields that end elsewhere
        {18, 's'},  // not a number
        {34, 0},    // the sender with a NUL
        {50, 's'},  // no signature
        {56, 3},    // a text that is longer than the body
    };
    for (const auto &[at, byte] : changes) {
        const std::string message = changed(reply, at, byte);
        const Failure failure = failure_of([&] { unmarshal(message).values().take_string(); });
        BOOST_TEST(failure.says("malformed"), at);
    }
}

BOOST_AUTO_TEST_CASE(a_length_is_refused_before_there_is_so_much)
{
    std::string start = reply.substr(0, fixed_header);
    for (const size_t at : {size_t{7}, size_t{15}})
        BOOST_TEST(failure_of([&] { message_length(changed(start, at, '\x7f')); }).says("longer than"), at);
}

BOOST_AUTO_TEST_CASE(values_are_of_the_type_that_is_expected)
{
    const auto says_no = [](const std::string &bytes, void (*take)(Unmarshaller &)) {
        Unmarshaller values(bytes);
        return failure_of([&] { take(values); }).says("malformed");
    };
    BOOST_TEST(says_no("\x01s\0"s, [](Unmarshaller &v) { v.expect_signature("u"); }));
    BOOST_TEST(says_no("\x03\0\0\0a\0b\0"s, [](Unmarshaller &v) { v.take_string(); }));
    BOOST_TEST(says_no("\x01\0\0\0a."s, [](Unmarshaller &v) { v.take_string(); }));
    // The array ends in the middle of an element.
    const auto take_array = [](Unmarshaller &v) { v.take_array_of_structs([&] { v.take_string(); }); };
    BOOST_TEST(says_no("\x05\0\0\0\0\0\0\0\x01\0\0\0a\0"s, take_array));
    BOOST_TEST(says_no("\xff\xff\xff\xff\0\0\0\0\x01\0\0\0a\0"s, take_array));
}

BOOST_AUTO_TEST_SUITE_END()
