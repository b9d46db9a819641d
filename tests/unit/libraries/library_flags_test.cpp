// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include <boost/test/unit_test.hpp>

#include "libraries/directory_libraries.h"

BOOST_AUTO_TEST_SUITE(library_flags)

using namespace ogh;

namespace {

/** -1 for a machine that is not known. */
std::int32_t flags(std::uint16_t machine, bool is_64, std::uint32_t processor_flags = 0)
{
    ElfLibrary library;
    library.machine = machine;
    library.is_64 = is_64;
    library.processor_flags = processor_flags;
    return ogh::library_flags(library).value_or(-1);
}

} // namespace

BOOST_AUTO_TEST_CASE(x86_has_three_kinds)
{
    BOOST_TEST(flags(EM_X86_64, true) == 0x0303);
    BOOST_TEST(flags(EM_X86_64, false) == 0x0803);
    BOOST_TEST(flags(EM_386, false) == 0x0003);
    BOOST_TEST(flags(EM_386, true) == -1);
}

BOOST_AUTO_TEST_CASE(arm_has_five)
{
    BOOST_TEST(flags(EM_AARCH64, true) == 0x0A03);
    BOOST_TEST(flags(EM_AARCH64, false) == -1);
    BOOST_TEST(flags(EM_ARM, false, 0x05000400) == 0x0903);
    BOOST_TEST(flags(EM_ARM, false, 0x05000200) == 0x0B03);
    BOOST_TEST(flags(EM_ARM, false, 0x05000000) == 0x0003);
    BOOST_TEST(flags(EM_ARM, false, 0x04000400) == 0x0003); // there the bit means something else
    BOOST_TEST(flags(EM_ARM, true, 0x05000400) == -1);
}

BOOST_AUTO_TEST_CASE(power_is_known_as_64_bits)
{
    BOOST_TEST(flags(EM_PPC64, true, 2) == 0x0503);
    BOOST_TEST(flags(EM_PPC64, false) == -1);
    BOOST_TEST(flags(EM_PPC, false) == -1);
}

BOOST_AUTO_TEST_CASE(other_machines_are_not_known)
{
    for (const unsigned machine : {0U, 2U, 8U, 22U, 243U, 247U, 258U, 0xFFFFU}) {
        BOOST_TEST(flags(static_cast<std::uint16_t>(machine), true) == -1);
        BOOST_TEST(flags(static_cast<std::uint16_t>(machine), false) == -1);
    }
}

BOOST_AUTO_TEST_SUITE_END()
