// SPDX-License-Identifier: Apache-2.0
//
// What systemd answers is written before it is asked; tests/root/manager_sockets_test.cpp has one that listens.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>

#include <boost/test/unit_test.hpp>

#include "support/expect.h"
#include "support/manager_replies.h"
#include "support/socket_pair.h"
#include "systemd/manager_connection.h"

BOOST_AUTO_TEST_SUITE(manager_connection)

using namespace ogh;
using namespace ogh::test;
using namespace std::string_literals;
using std::chrono::milliseconds;

namespace {

const dbus::MethodCall hello = {"/o", "i.f", "Hello"};

struct Manager : SocketPair {
    ManagerConnection connection{take(), milliseconds(100)};

    Failure failure(const dbus::MethodCall &call = hello)
    {
        return failure_of([&] { connection.call(call); });
    }
};

/** Another process that does this until the test has ended. */
class Meanwhile {
public:
    explicit Meanwhile(const std::function<void()> &work) : pid_(::fork())
    {
        if (pid_ == 0) {
            work();
            ::_exit(0);
        }
    }
    Meanwhile(const Meanwhile &) = delete;
    Meanwhile &operator=(const Meanwhile &) = delete;
    ~Meanwhile()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

private:
    pid_t pid_;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(it_says_who_it_is_and_then_calls, Manager)
{
    write(manager_welcome + reply_to(1) + reply_to(2));
    connection.call(hello);
    connection.call(hello);
    const std::string said = read();
    BOOST_TEST(said.starts_with("\0AUTH EXTERNAL 30\r\nBEGIN\r\n"s));
    BOOST_TEST(said.ends_with("\r\nBEGIN\r\n" + marshal(hello, 1) + marshal(hello, 2)));
}

BOOST_FIXTURE_TEST_CASE(replies_are_told_by_the_call_that_they_answer, Manager)
{
    const std::string signal = message(dbus::MessageType::Signal, 0, {});
    write(manager_welcome + signal + reply_to(9) + reply_to(2) + signal +
          reply_to(1, text_property("first")) + signal + reply_to(1) + reply_to(2, text_property("second")));
    BOOST_TEST(connection.call(hello).body == text_property("first").body);
    BOOST_TEST(connection.call(hello).body == text_property("second").body);
}

BOOST_FIXTURE_TEST_CASE(an_error_is_one_with_what_it_says, Manager)
{
    write(manager_welcome + error_to(1, "org.x.Denied", "No\nway"));
    BOOST_TEST(failure().message == "systemd's answer to Hello is: 'No\\nway'");
}

BOOST_FIXTURE_TEST_CASE(an_error_without_a_text_has_its_name, Manager)
{
    write(manager_welcome + message(dbus::MessageType::Error, 1, {}, "org.x.Denied"));
    BOOST_TEST(failure().message == "systemd's answer to Hello is: 'org.x.Denied'");
}

BOOST_FIXTURE_TEST_CASE(who_is_not_taken_for_root_calls_nothing, Manager)
{
    // systemd loses a call that comes together with BEGIN, so that comes with the rest.
    write("REJECTED EXTERNAL\r\n");
    BOOST_TEST(failure().says("does not take this process for root"));
    BOOST_TEST(read().ends_with("BEGIN\r\n"));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_line_has_an_end, Manager)
{
    write(std::string(20000, 'x'));
    BOOST_TEST(failure().says("does not speak D-Bus"));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_message_is_an_error, Manager)
{
    write(manager_welcome + std::string(64, 'x'));
    BOOST_TEST(failure().says("malformed"));
}

BOOST_AUTO_TEST_CASE(a_connection_may_be_closed_anywhere)
{
    const std::string whole = manager_welcome + reply_to(1, text_property("x"));
    for (size_t length = 0; length < whole.size(); ++length) {
        Manager manager;
        manager.write(whole.substr(0, length));
        manager.write_nothing_more();
        BOOST_TEST(manager.failure().says("closed the connection"), length);
    }
}

BOOST_FIXTURE_TEST_CASE(who_never_answers_is_given_up, Manager)
{
    BOOST_TEST(failure().says("has not answered within 100 ms"));
    write(manager_welcome + reply_to(1));
    // Nor is there another time for the next call.
    BOOST_TEST(failure().says("has not answered within 100 ms"));
}

BOOST_FIXTURE_TEST_CASE(a_daemon_reload_meanwhile_takes_its_time, Manager)
{
    const Meanwhile busy([&] {
        const std::string reloading = message(dbus::MessageType::Signal, 0, {"b", std::string(4, '\0')});
        write(manager_welcome + reloading);
        ::usleep(40'000);
        write(reloading + reply_to(1, text_property("late")));
    });
    BOOST_TEST(connection.call(hello).body == text_property("late").body);
}

BOOST_FIXTURE_TEST_CASE(who_answers_byte_by_byte_is_given_up, Manager)
{
    const std::string whole = manager_welcome + reply_to(1);
    const Meanwhile late([&] {
        for (const char byte : whole) {
            ::usleep(20'000);
            write(std::string(1, byte));
        }
    });
    BOOST_TEST(failure().says("has not answered within 100 ms"));
}

BOOST_FIXTURE_TEST_CASE(who_never_stops_to_say_something_else_is_given_up, Manager)
{
    const Meanwhile busy([&] {
        write(manager_welcome);
        const std::string signal = message(dbus::MessageType::Signal, 0, {});
        while (true)
            write(signal);
    });
    BOOST_TEST(failure().says("has not answered within 100 ms"));
}

BOOST_FIXTURE_TEST_CASE(who_does_not_read_is_given_up, Manager)
{
    write(manager_welcome);
    dbus::MethodCall large = hello;
    large.body = std::string(size_t{4} << 20U, 'x');
    BOOST_TEST(failure(large).says("has not answered within 100 ms"));
}

BOOST_AUTO_TEST_SUITE_END()
