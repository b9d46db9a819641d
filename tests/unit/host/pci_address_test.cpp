// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "host/pci_address.h"

BOOST_AUTO_TEST_SUITE(pci_address)

using namespace ogh;

namespace {

/** As it is written back; "-" if it is no address. */
std::string again(std::string_view text, PciDomain domain = PciDomain::Required)
{
    const auto address = parse_pci_address(text, domain);
    return address ? to_text(*address) : "-";
}

} // namespace

BOOST_AUTO_TEST_CASE(an_address_has_four_numbers)
{
    BOOST_TEST((parse_pci_address("0001:5e:1f.7") == PciAddress{1, 0x5e, 0x1f, 7}));
    BOOST_TEST((parse_pci_address("0000:00:00.0") == PciAddress{}));
}

BOOST_AUTO_TEST_CASE(the_case_of_letters_does_not_matter)
{
    BOOST_TEST(again("0000:5E:1F.0") == "0000:5e:1f.0");
    BOOST_TEST(again("ABCD:ef:0a.1") == "abcd:ef:0a.1");
}

BOOST_AUTO_TEST_CASE(a_domain_has_four_to_eight_digits)
{
    BOOST_TEST(again("00000000:5e:00.0") == "0000:5e:00.0");
    BOOST_TEST(again("10000:01:00.0") == "10000:01:00.0");
    BOOST_TEST(again("ffffffff:ff:1f.7") == "ffffffff:ff:1f.7");
    for (const char *text : {"000:5e:00.0", "0:5e:00.0", ":5e:00.0", "000000000:5e:00.0", "0x000:5e:00.0"})
        BOOST_TEST(again(text, PciDomain::Optional) == "-", text);
}

BOOST_AUTO_TEST_CASE(a_domain_may_be_left_out_where_that_is_allowed)
{
    BOOST_TEST(again("5e:00.0", PciDomain::Optional) == "0000:5e:00.0");
    BOOST_TEST(again("5e:00.0") == "-");
}

BOOST_AUTO_TEST_CASE(numbers_have_limits)
{
    BOOST_TEST(again("0000:ff:1f.7") == "0000:ff:1f.7");
    for (const char *text : {"0000:00:20.0", "0000:00:00.8", "0000:00:00.a", "0000:100:00.0"})
        BOOST_TEST(again(text) == "-", text);
}

BOOST_AUTO_TEST_CASE(anything_else_is_none)
{
    for (const char *text :
         {"", "0", "0000:5e:00", "0000:5e:00.", "0000:5e:00.00", "0000:5e:0.0", "0000:5:00.0", "0000.5e.00.0",
          "0000-5e:00.0", " 0000:5e:00.0", "0000:5e:00.0 ", "0000:5e:00.0\n", "0000:+e:00.0", "0000:-1:00.0",
          "000g:5e:00.0", "GPU-5a1c0de0-1111-4222-8333-0123456789ab", "5e:00:0", "5e.00.0"})
        BOOST_TEST(again(text, PciDomain::Optional) == "-", text);
}

BOOST_AUTO_TEST_CASE(addresses_are_ordered_by_domain_bus_device_and_function)
{
    const std::vector<PciAddress> ordered{
        {0, 1, 0, 0}, {0, 1, 0, 1}, {0, 1, 2, 0}, {0, 0x5e, 0, 0}, {1, 0, 0, 0}};
    std::vector<PciAddress> sorted{ordered.rbegin(), ordered.rend()};
    std::sort(sorted.begin(), sorted.end());
    BOOST_TEST((sorted == ordered));
}

BOOST_AUTO_TEST_SUITE_END()
