// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <boost/test/unit_test.hpp>

#include "base/log.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(log_file)

using namespace ogh;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

namespace {

std::string content(const std::string &path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

test::Failure refusal(const std::string &path)
{
    return failure_of([&] { const LogFile file(path); });
}

} // namespace

BOOST_AUTO_TEST_CASE(lines_are_added_with_their_time)
{
    const TempDirectory directory;
    const std::string path = directory.path("hooks.log");
    LogFile(path).write("mount-srv: one");
    LogFile(path).write("mount-srv: two");
    const std::string text = content(path);
    BOOST_TEST(text.size() == 2 * std::string("2026-01-02T03:04:05Z mount-srv: one\n").size());
    BOOST_TEST(text.starts_with("20"));
    BOOST_TEST(text.substr(19, 17) == "Z mount-srv: one\n");
    BOOST_TEST(text.ends_with("Z mount-srv: two\n"));
    BOOST_TEST((std::filesystem::status(path).permissions() == std::filesystem::perms(0600)));
}

BOOST_AUTO_TEST_CASE(a_message_is_one_line_whoever_forgot_to_quote)
{
    const TempDirectory directory;
    Log log("mount-srv");
    log.add_file(directory.path("hooks.log"));
    log.write(LogLevel::Error, "a\nb\u202ec\x1b[2J");
    BOOST_TEST(
        content(directory.path("hooks.log")).ends_with("Z mount-srv: a\\x0ab\\xe2\\x80\\xaec\\x1b[2J\n"));
}

BOOST_AUTO_TEST_CASE(no_link_leads_to_it)
{
    const TempDirectory directory;
    directory.file("target", "");
    directory.link("link", "target");
    directory.link("dangling", "made");
    std::filesystem::create_directory(directory.path("real"));
    directory.link("parent", "real");
    for (const char *name : {"link", "dangling", "parent/hooks.log"})
        BOOST_TEST(refusal(directory.path(name)).says("cannot open the log file"), name);
    BOOST_TEST(content(directory.path("target")).empty());
    BOOST_TEST(!std::filesystem::exists(directory.path("made")));
    BOOST_TEST(!std::filesystem::exists(directory.path("real/hooks.log")));
}

BOOST_AUTO_TEST_CASE(only_a_file_of_ones_own_will_do)
{
    const TempDirectory directory;
    directory.file("open", "");
    std::filesystem::permissions(directory.path("open"), std::filesystem::perms(0620));
    BOOST_TEST(refusal(directory.path("open")).says("has mode 0620, and must not have more than 0644"));
    directory.file("two", "");
    std::filesystem::create_hard_link(directory.path("two"), directory.path("names"));
    BOOST_TEST(refusal(directory.path("two")).says("more than one name"));
    BOOST_REQUIRE(::mkfifo(directory.path("fifo").c_str(), 0600) == 0);
    BOOST_TEST((refusal(directory.path("fifo")).kind == ErrorKind::BrokenHost));
    BOOST_TEST((refusal("/dev/null").kind == ErrorKind::BrokenHost));
    BOOST_TEST((refusal(directory.path()).kind == ErrorKind::BrokenHost));
    BOOST_TEST((refusal(directory.path("missing/hooks.log")).kind == ErrorKind::BrokenHost));
    if (::geteuid() == 0) {
        directory.file("others", "");
        BOOST_REQUIRE(::chown(directory.path("others").c_str(), 1000, 1000) == 0);
        BOOST_TEST(refusal(directory.path("others")).says("does not belong to root"));
    }
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_no_error)
{
    const TempDirectory directory;
    const LogFile file(directory.path("hooks.log"));
    rlimit old{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
    const rlimit none{0, old.rlim_max};
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
    file.write("lost");
    ::setrlimit(RLIMIT_FSIZE, &old);
    ::signal(SIGXFSZ, handler);
    BOOST_TEST(content(directory.path("hooks.log")).empty());
}

BOOST_AUTO_TEST_SUITE_END()
