// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "request/selectors.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(selectors)

using namespace ogh;
using ogh::test::failure_of;

namespace {

Selectors parse(const std::string &value)
{
    return parse_selectors({value, "annotation 'k'"});
}

/** Each named item with a letter for what it was taken for: index range, address, name. */
std::string kinds(const std::string &value)
{
    std::string text;
    for (const Selector &selector : parse(value).named)
        text += (text.empty() ? "" : " ") + selector.text + "=" +
                std::string("ran").substr(selector.what.index(), 1);
    return text;
}

void check_refused(const std::string &value)
{
    const auto failure = failure_of([&] { parse(value); });
    BOOST_TEST((failure.kind == ErrorKind::Usage), value);
    BOOST_TEST(failure.says("the annotation 'k' has "), failure.message);
    BOOST_TEST(failure.says("it takes 'all', 'none', 'env', 'any:N', 'allowed'"), failure.message);
}

} // namespace

BOOST_AUTO_TEST_CASE(keywords)
{
    BOOST_TEST((parse(" all ") == Selectors{false, false, true, 0, {}}));
    BOOST_TEST((parse("none") == Selectors{true, false, false, 0, {}}));
    BOOST_TEST((parse(" env") == Selectors{false, true, false, 0, {}}));
    BOOST_TEST((parse("any:2") == Selectors{false, false, false, 2, {}}));
    BOOST_TEST((parse("any:gfx1100:2") == Selectors{false, false, false, 2, {}, false, "gfx1100"}));
    BOOST_TEST((parse("any:a:b:2") == Selectors{false, false, false, 2, {}, false, "a:b"}));
    BOOST_TEST((parse("allowed, allowed") == Selectors{false, false, false, 0, {}, true}));
    BOOST_TEST((parse("0,allowed") == Selectors{false, false, false, 0, parse("0").named, true}));
}

BOOST_AUTO_TEST_CASE(none_and_env_stand_alone)
{
    for (const char *value : {"none,0", "0,none", "none,none", "all,none", "env,0", "0,env", "env,env"})
        check_refused(value);
}

BOOST_AUTO_TEST_CASE(items_are_indices_ranges_addresses_and_names)
{
    BOOST_TEST(kinds("0,2-5,0000:5e:00.0,5e:00.0") == "0=r 2-5=r 0000:5e:00.0=a 5e:00.0=a");
    BOOST_TEST(
        kinds("GPU-5a1c0de0-1111-4222-8333-0123456789ab,0x0badc0de12345678,renderD129,card1,gfx1100,dgpu,"
              "igpu,0:3,MIG-1-2/3/4") ==
        "GPU-5a1c0de0-1111-4222-8333-0123456789ab=n 0x0badc0de12345678=n renderD129=n card1=n gfx1100=n "
        "dgpu=n igpu=n 0:3=n MIG-1-2/3/4=n");
    BOOST_TEST((parse("2-5").named[0].what == decltype(Selector::what)(IndexRange{2, 5})));
    BOOST_TEST((parse("7").named[0].what == decltype(Selector::what)(IndexRange{7, 7})));
    BOOST_TEST((parse("5E:00.0").named[0].what == decltype(Selector::what)(PciAddress{0, 0x5e, 0, 0})));
}

BOOST_AUTO_TEST_CASE(blanks_and_repeats_are_allowed)
{
    BOOST_TEST(kinds(" 1 ,\t0,1, card1 ,card1") == "1=r 0=r card1=n");
    BOOST_TEST((parse("all,all") == Selectors{false, false, true, 0, {}}));
    BOOST_TEST((parse("any:2, any:2") == Selectors{false, false, false, 2, {}}));
    BOOST_TEST((parse("all,0") == Selectors{false, false, true, 0, parse("0").named}));
}

BOOST_AUTO_TEST_CASE(numbers_are_written_in_one_way)
{
    BOOST_TEST(kinds("0-0,999999999") == "0-0=r 999999999=r");
    for (const char *value :
         {"00", "01", "0-03", "00-1", "1000000000", "18446744073709551616", "0-18446744073709551616",
          "99999999999999999999999999999999", "-1", "0-", "-", "--", "0--1", "0-1-2", "3-2"})
        check_refused(value);
}

BOOST_AUTO_TEST_CASE(a_range_may_not_run_backwards)
{
    BOOST_TEST(failure_of([] {
                   parse("0,3-2");
               }).says("has '3-2', which is no number and no range that can be meant, in '0,3-2'"));
}

BOOST_AUTO_TEST_CASE(any_takes_a_number)
{
    for (const char *value : {"any", "any:", "any:0", "any:x", "any:01", "any:-1", "any:+1", "any: 1",
                              "any:1:2", "any:4294967297", "any::1", "any:x:0", "any:x:", "any:x:y",
                              "any:0-1:2", "any:00:02.0:1", "any:all:1", "any:any:1:1", "any:x y:1"})
        check_refused(value);
}

BOOST_AUTO_TEST_CASE(all_any_and_allowed_stand_alone)
{
    for (const char *value : {"any:1,any:2", "any:1,any:x:1", "all,any:x:1", "all,any:1", "any:1,all",
                              "allowed,any:1", "any:1,allowed", "all,allowed"})
        check_refused(value);
    BOOST_TEST((parse("0,any:1") == Selectors{false, false, false, 1, parse("0").named}));
}

BOOST_AUTO_TEST_CASE(what_names_nothing_is_refused)
{
    for (const std::string &value :
         {std::string(","), std::string("0,"), std::string(",0"), std::string("0,,1"), std::string("a b"),
          std::string("a\nb"), std::string("a\0b", 3), std::string("GPU-\xc3\xa4"),
          std::string("nvidia.com/gpu=0"), std::string("'0'"), std::string("*"), std::string("0;1"),
          std::string("+1")})
        check_refused(value);
}

BOOST_AUTO_TEST_CASE(an_item_has_a_length)
{
    BOOST_TEST(parse(std::string(128, 'a')).named.size() == 1U);
    check_refused(std::string(129, 'a'));
}

BOOST_AUTO_TEST_CASE(an_allow_list_has_no_other_word_than_all)
{
    const auto allow = [](const std::string &value) {
        return parse_allowed_selectors({value, "option '--allow'"});
    };
    BOOST_TEST((allow("0-3,card1") == parse("0-3,card1")));
    BOOST_TEST(allow("all").all);
    for (const char *value : {"none", "env", "any:1", "0,any:1", "allowed", "0,allowed"})
        BOOST_TEST((failure_of([&] { allow(value); }).kind == ErrorKind::Usage), value);
}

BOOST_AUTO_TEST_SUITE_END()
