// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "amd-kfd/kfd_topology.h"

BOOST_AUTO_TEST_SUITE(amd_kfd_gfx_version)

using namespace ogh::amd_kfd;

BOOST_AUTO_TEST_CASE(names_end_in_two_hexadecimal_digits)
{
    BOOST_TEST(name_of({90010}) == "gfx90a");
    BOOST_TEST(name_of({90012}) == "gfx90c");
    BOOST_TEST(name_of({90402}) == "gfx942");
    BOOST_TEST(name_of({90500}) == "gfx950");
    BOOST_TEST(name_of({100306}) == "gfx1036");
    BOOST_TEST(name_of({110000}) == "gfx1100");
    BOOST_TEST(name_of({120001}) == "gfx1201");
    BOOST_TEST(name_of({0}).empty());
    BOOST_TEST(name_of({4294967295U}).starts_with("gfx"));
}

BOOST_AUTO_TEST_CASE(what_only_cpus_have_is_integrated)
{
    for (const unsigned number : {90012U, 100305U, 100306U, 110003U, 110500U, 110501U, 110502U})
        BOOST_TEST(is_integrated(GfxVersion{number}), number);
    for (const unsigned number :
         {0U, 90000U, 90010U, 90402U, 100300U, 100301U, 100304U, 110000U, 110002U, 120001U})
        BOOST_TEST(!is_integrated(GfxVersion{number}), number);
}

BOOST_AUTO_TEST_CASE(hints_for_what_rocm_is_seldom_built_for)
{
    for (unsigned number = 100301; number <= 100306; ++number)
        BOOST_TEST(override_text({number}) == "HSA_OVERRIDE_GFX_VERSION=10.3.0", number);
    BOOST_TEST(override_text({110003}) == "HSA_OVERRIDE_GFX_VERSION=11.0.0");
    BOOST_TEST(override_text({110500}) == "HSA_OVERRIDE_GFX_VERSION=11.5.1");
    for (const unsigned number : {0U, 90010U, 90402U, 100300U, 100307U, 110000U, 110002U, 110501U, 120001U})
        BOOST_TEST(override_text({number}).empty(), number);
}

BOOST_AUTO_TEST_SUITE_END()
