// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <boost/test/unit_test.hpp>

#include "base/command_line.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(command_line)

using namespace ogh;
using ogh::test::failure_of;

namespace {

struct Program {
    CommandLine cli{"a-hook", "Does something"};
    std::optional<std::string> allow;
    std::optional<unsigned> number;

    Program()
    {
        cli.add({"--allow", "NAME", "What may be given"}, allow);
        cli.add({"--number", "N", "How many"}, number);
        cli.heading("Others");
        cli.add_choice({"--colour", "NAME", "Which"}, {"red", "green"}, [](const std::string &) {});
    }

    template<typename... Words> std::optional<std::string> parse(const Words... words)
    {
        const std::array<const char *, sizeof...(Words) + 1> argv{"a-hook", words...};
        return cli.parse(static_cast<int>(argv.size()), argv.data());
    }
};

template<typename... Words> std::string refusal(const Words... words)
{
    const auto failure = failure_of([&] { Program().parse(words...); });
    BOOST_TEST((failure.kind == ErrorKind::Usage));
    return failure.message;
}

} // namespace

BOOST_AUTO_TEST_CASE(help_lists_options_in_their_order_and_itself_last)
{
    const std::string help = Program().parse("--help").value();
    size_t last = 0;
    for (const char *text : {"Options:", "--allow NAME", "--number N", "Others:", "--colour NAME",
                             "-h,--help", "--version", "See a-hook(8)."}) {
        const size_t at = help.find(text);
        BOOST_TEST(at != std::string::npos, text << " in " << help);
        BOOST_TEST(at > last, text << " in " << help);
        last = at;
    }
    BOOST_TEST(Program().parse("-h").value() == help);
}

BOOST_AUTO_TEST_CASE(what_is_not_understood_is_named_and_help_is_offered)
{
    BOOST_TEST(refusal("--alow", "3") == "unknown option '--alow'; see --help");
    BOOST_TEST(refusal("--alow=3") == "unknown option '--alow'; see --help");
    BOOST_TEST(refusal("--help=x") == "'--help' takes no value; see --help");
    BOOST_TEST(refusal("-x") == "unknown option '-x'; see --help");
    BOOST_TEST(refusal("word", "other") == "unexpected argument 'word'; see --help");
    for (const std::string &message : {refusal("--allow"), refusal("--number", "x"),
                                       refusal("--colour", "blue"), refusal("--allow", "a", "--allow", "b")})
        BOOST_TEST((message.find("--") == 0 || message.find(" --") != std::string::npos), message);
    BOOST_TEST(refusal("--number", "x").ends_with("; see --help"));
}

BOOST_AUTO_TEST_CASE(what_is_understood_is_set)
{
    Program program;
    BOOST_TEST(!program.parse("--allow", "x", "--number=3"));
    BOOST_TEST((program.allow == "x"));
    BOOST_TEST((program.number == 3U));
}

BOOST_AUTO_TEST_CASE(from_the_first_word_on_nothing_is_an_option_where_the_rest_is_somebody_elses)
{
    bool flag = false;
    std::vector<std::string> words;
    CommandLine cli("a-hook", "Does it.");
    cli.add_flag("--dry-run", "Do nothing", flag);
    cli.add_rest("HOOK... [OPTION...]", "Which", words);
    const std::array<const char *, 5> argv{"a-hook", "--dry-run", "other", "--dry-run", "--unknown"};
    BOOST_TEST(!cli.parse(argv.size(), argv.data()));
    BOOST_TEST(flag);
    BOOST_TEST(words == (std::vector<std::string>{"other", "--dry-run", "--unknown"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_value_may_be_left_out_where_the_option_says_so)
{
    const auto listed = [](const char *word) {
        std::optional<std::string> format;
        CommandLine cli("a-hook", "Does it.");
        cli.add_choice({"--list", "[=FORMAT]", "Print"}, {"json"},
                       [&](const std::string &name) { format = name; });
        const std::array<const char *, 2> argv{"a-hook", word};
        static_cast<void>(cli.parse(argv.size(), argv.data()));
        return format;
    };
    BOOST_TEST((listed("--list") == ""));
    BOOST_TEST((listed("--list=json") == "json"));
    BOOST_TEST(failure_of([&] { listed("--list=xml"); }).message ==
               "--list takes 'json', not 'xml'; see --help");
}

BOOST_AUTO_TEST_SUITE_END()
