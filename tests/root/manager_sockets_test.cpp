// SPDX-License-Identifier: Apache-2.0
//
// Who listens where systemd does: a process 1 of a pid namespace of the tests' own, or somebody else.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "child.h"
#include "support/manager_replies.h"
#include "systemd/scope_unit.h"

BOOST_AUTO_TEST_SUITE(manager_sockets)

using namespace ogh;
using namespace ogh::test;

namespace {

constexpr uid_t somebody = 1000;
const Scope unit;

/** A socket at the place of systemd's, of this process. */
UniqueFd listen_there()
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(static_cast<char *>(address.sun_path), sizeof address.sun_path, "%s", manager_socket);
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    check_call(::bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address), "bind");
    check_call(::listen(socket.get(), 1), "listen");
    return socket;
}

/** What becomes of a try to connect: "connected", or the note about it. */
std::string try_to_connect()
{
    Notes notes;
    const auto connection = ManagerConnection::open(notes);
    if (connection)
        return "connected";
    return (notes.at(0).level == LogLevel::Warning ? "warning: " : "info: ") + notes.at(0).text;
}

/** Done by a process 1 of a pid namespace of its own; `work` by another process in that namespace. */
std::string with_process_1(const std::function<void()> &first, const Work &work)
{
    const auto process_1 = [&] {
        first();
        const UniqueFd socket = listen_there();
        check_call(::setresuid(0, 0, 0), "setresuid");
        check_call(::chown(manager_socket, 0, 0), "chown");
        const Child server([&] {
            const UniqueFd connection(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
            const std::string replies = replies_on(unit);
            check_call(::write(connection.get(), replies.data(), replies.size()), "write");
            ::pause();
        });
        return in_child(work).text;
    };
    return in_child([&] {
               check_call(::unshare(CLONE_NEWPID), "unshare");
               return in_child(process_1).text;
           })
        .text;
}

/** A /run of the tests' own. */
struct Run {
    Run()
    {
        check_call(::mount("none", "/run", "tmpfs", 0, nullptr), "mount tmpfs");
        std::filesystem::create_directory("/run/systemd");
    }
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;
    ~Run() { ::umount2("/run", MNT_DETACH); }
};

void become_somebody()
{
    check_call(::setresuid(somebody, somebody, somebody), "setresuid");
}

} // namespace

BOOST_FIXTURE_TEST_CASE(without_a_socket_there_is_no_systemd, Run)
{
    BOOST_TEST(try_to_connect() == "info: no systemd is process 1 here");
    std::filesystem::remove("/run/systemd");
    BOOST_TEST(try_to_connect() == "info: no systemd is process 1 here");
}

BOOST_FIXTURE_TEST_CASE(process_1_of_root_is_talked_to, Run)
{
    const auto talk = [] {
        Notes notes;
        auto connection = ManagerConnection::open(notes);
        const auto more = allow_in_scope(connection.value(), {unit.control_group}, {{}});
        return more.at(0).text;
    };
    BOOST_TEST(with_process_1([] {}, talk) == "systemd allows the devices in 'runc-4f.scope' too");
}

BOOST_FIXTURE_TEST_CASE(another_process_is_not, Run)
{
    const UniqueFd socket = listen_there();
    BOOST_TEST(try_to_connect().starts_with("warning: it is not root's process 1 that listens at"));
}

BOOST_FIXTURE_TEST_CASE(process_1_of_another_user_is_not, Run)
{
    std::filesystem::permissions("/run/systemd", std::filesystem::perms::all);
    const auto as_somebody = [] { check_call(::setresuid(somebody, somebody, 0), "setresuid"); };
    BOOST_TEST(
        with_process_1(as_somebody, try_to_connect).starts_with("warning: it is not root's process 1"));
}

BOOST_FIXTURE_TEST_CASE(a_socket_that_root_does_not_own_is_not_connected_to, Run)
{
    const UniqueFd socket = listen_there();
    check_call(::chown(manager_socket, somebody, somebody), "chown");
    BOOST_TEST(try_to_connect().ends_with("is no socket of root's"));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_socket_is_not_connected_to, Run)
{
    std::filesystem::create_directory(manager_socket);
    BOOST_TEST(try_to_connect().ends_with("is no socket of root's"));
    std::filesystem::remove(manager_socket);
    std::filesystem::create_symlink("/run/elsewhere", manager_socket);
    BOOST_TEST(try_to_connect().starts_with("warning: "));
}

BOOST_FIXTURE_TEST_CASE(a_name_that_nobody_listens_at_any_more_is_no_systemd, Run)
{
    listen_there().reset();
    BOOST_TEST(try_to_connect().starts_with("info: "));
}

BOOST_FIXTURE_TEST_CASE(another_user_has_no_business_there, Run)
{
    const UniqueFd socket = listen_there();
    check_call(::chmod(manager_socket, 0600), "chmod");
    const auto connect = [] {
        become_somebody();
        return try_to_connect();
    };
    BOOST_TEST(in_child(connect).text.starts_with("info: "));
}

BOOST_AUTO_TEST_SUITE_END()
