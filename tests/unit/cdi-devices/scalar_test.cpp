// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <boost/test/unit_test.hpp>

#include "cdi-devices/spec/fields.h"
#include "cdi-devices/spec/scalar.h"
#include "support/expect.h"
#include "yaml/yaml_text.h"

BOOST_AUTO_TEST_SUITE(cdi_devices_scalar)

using namespace ogh;
using namespace ogh::cdi_devices;
using ogh::test::failure_of;

namespace {

constexpr const char *refused = "REFUSED";

struct Case {
    const char *written;
    const char *text;   ///< where a text is wanted
    const char *number; ///< where a whole number is
};

/** What sigs.k8s.io/yaml 1.3.0 makes of each, with which the reference implementation reads its files. */
constexpr auto cases = std::to_array<Case>({
    {"0", "0", "0"},
    {"0660", "432", "432"},
    {"432", "432", "432"},
    {"0x1F", "31", "31"},
    {"0X1f", "31", "31"},
    {"0o17", "15", "15"},
    {"0b101", "5", "5"},
    {"1_000", "1000", "1000"},
    {"0x_1F", "31", "31"},
    {"0_", "0", "0"},
    {"_0", "_0", refused},
    {"00", "0", "0"},
    {"+5", "5", "5"},
    {"-0660", "-432", "-432"},
    {"-0b11", "-3", "-3"},
    {"0b-11", "-3", "-3"},
    {"0b+11", "3", "3"},
    {"-0b-11", "-0b-11", refused},
    {"0x-11", "0x-11", refused},
    {"08", "8", "8"},
    {"8.0", "8", "8"},
    {"1e3", "1000", "1000"},
    {"5.e3", "5000", "5000"},
    {"1.10", "1.1", refused},
    {"09.5", "9.5", refused},
    {".5", "0.5", refused},
    {".5_0", "0.5", refused},
    {"1_0.5", "10.5", refused},
    {"0.0001", "0.0001", refused},
    {"0.00001", "1e-05", refused},
    {"100000.0", "100000", "100000"},
    {"1000000.0", "1e+06", "1000000"},
    {"1234567.5", "1.2345675e+06", refused},
    {"1e-400", "0", "0"},
    {"1e400", "1e400", refused},
    {"9223372036854775807", "9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "9223372036854775808", refused},
    {"-9223372036854775808", "-9223372036854775808", "-9223372036854775808"},
    {"-9223372036854775809", "-9.223372e+18", refused},
    {"18446744073709551615", "18446744073709551615", refused},
    {"18446744073709551616", "1.8446744e+19", refused},
    {".inf", "+Inf", refused},
    {"-.INF", "-Inf", refused},
    {".nan", "NaN", refused},
    {"-0", "0", "0"},
    {"-0.0", "-0", "0"},
    {"0x", "0x", refused},
    {"0x1g", "0x1g", refused},
    {"0b2", "0b2", refused},
    {"0o8", "0o8", refused},
    {".", ".", refused},
    {".e3", ".e3", refused},
    {"+", "+", refused},
    {"1:30", "1:30", refused},
    {"2001-01-01", "2001-01-01", refused},
    {"", "", "0"},
    {"~", "", "0"},
    {"null", "", "0"},
    {"Null", "", "0"},
    {"nUll", "nUll", refused},
    {"y", "true", refused},
    {"Yes", "true", refused},
    {"on", "true", refused},
    {"TRUE", "true", refused},
    {"n", "false", refused},
    {"no", "false", refused},
    {"Off", "false", refused},
    {"tRue", "tRue", refused},
    {"<<", "<<", refused},
    {"=", "=", refused},
    {"\"0660\"", "0660", refused},
    {"'yes'", "yes", refused},
    {"!!str 0660", "0660", refused},
    {"!!int \"5\"", "5", "5"},
    {"!!int x", refused, refused},
    {"!!bool yes", "true", refused},
    {"!!float 5", "5", "5"},
    {"!!float 18446744073709551615", refused, refused},
    {"! 5", "5", refused},
    {"!own 5", "5", refused},
    {"[]", refused, refused},
    {"{}", refused, refused},
    // Where it differs: nobody writes a path in base64, or as a date.
    {"!!binary aGk=", refused, refused},
    {"!!timestamp 2001-01-01", refused, refused},
});

template<typename Read> std::string read(const char *written, const Read &as)
{
    const YamlDocument document = read_yaml(std::string("x: ") + written);
    const Value value(document, document.member(*document.root(), 1));
    std::string text = refused;
    failure_of([&] { text = as(value); });
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(scalars_are_what_they_are_to_the_reference)
{
    for (const Case &each : cases)
        BOOST_TEST_CONTEXT(each.written)
        {
            BOOST_TEST(read(each.written, [](const Value &value) { return value.text(); }) == each.text);
            BOOST_TEST(read(each.written, [](const Value &value) {
                           return std::to_string(value.number(INT64_MIN, INT64_MAX));
                       }) == each.number);
        }
}

BOOST_AUTO_TEST_SUITE_END()
