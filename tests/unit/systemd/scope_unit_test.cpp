// SPDX-License-Identifier: Apache-2.0
//
// What systemd answers is written before it is asked.
#include <boost/test/unit_test.hpp>

#include "support/expect.h"
#include "support/manager_replies.h"
#include "support/socket_pair.h"
#include "systemd/scope_unit.h"

BOOST_AUTO_TEST_SUITE(scope_unit)

using namespace ogh;
using namespace ogh::dbus;
using namespace ogh::test;

namespace {

const std::vector<std::string> scopes = {"/system.slice/runc-4f.scope"};
const DeviceRules rules = {{DeviceRule::Type::Char, 195, 0}, {DeviceRule::Type::Char, 195, 255}};

struct Systemd : SocketPair {
    ManagerConnection connection{take(), std::chrono::milliseconds(100)};
    Scope unit = {.device_allow = {{"/dev/char/1:3", "rwm"}}};

    /** The one note of it. */
    Note tell()
    {
        const Notes notes = allow_in_scope(connection, scopes, rules);
        BOOST_TEST(notes.size() == 1U);
        return notes.at(0);
    }

    Note tell_unit()
    {
        write(replies_on(unit));
        return tell();
    }

    [[nodiscard]] bool has_set() const { return read().find("SetUnitProperties") != std::string::npos; }
};

bool says(const Note &note, const char *words)
{
    return note.text.find(words) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(devices_are_added_until_the_unit_ends, Systemd)
{
    unit.device_allow.push_back({"/dev/char/195:255", "rw"});
    const Note note = tell_unit();
    BOOST_TEST((note.level == LogLevel::Info));
    BOOST_TEST(says(note, "allows the devices in 'runc-4f.scope' too"), note.text);
    Marshaller body;
    body.put_string("runc-4f.scope");
    body.put_uint32(1);
    body.put_array_of_structs([&] {
        body.begin_struct();
        body.put_string("DeviceAllow");
        body.put_signature("a(ss)");
        body.put_array_of_structs([&] {
            body.begin_struct();
            body.put_string("/dev/char/195:0");
            body.put_string("rw");
        });
    });
    BOOST_TEST(read().ends_with(marshal({"/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                                         "SetUnitProperties", "sba(sv)", body.bytes()},
                                        6)));
}

BOOST_FIXTURE_TEST_CASE(the_unit_is_found_by_the_cgroup, Systemd)
{
    tell_unit();
    Marshaller body;
    body.put_string(scopes[0]);
    const std::string call = marshal({"/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                                      "GetUnitByControlGroup", "s", body.bytes()},
                                     1);
    BOOST_TEST(read().find(call) != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(what_is_allowed_already_is_not_added_again, Systemd)
{
    unit.device_allow = {{"/dev/char/195:255", "rwm"}, {"/dev/char/195:0", "rw"}};
    BOOST_TEST((tell_unit().level == LogLevel::Debug));
    BOOST_TEST(!has_set());
}

BOOST_FIXTURE_TEST_CASE(what_is_allowed_in_part_is_added, Systemd)
{
    unit.device_allow = {
        {"/dev/char/195:255", "w"}, {"/dev/char/195:0", "rw"}, {"/dev/block/195:255", "rwm"}};
    BOOST_TEST((tell_unit().level == LogLevel::Info));
    BOOST_TEST(has_set());
}

BOOST_AUTO_TEST_CASE(a_worker_around_the_container_gets_nothing)
{
    // What is no scope is not the container's even if it says that it has the container's cgroup.
    for (const std::string id : {"worker.service", "machine.slice", "x.scope.service", "x.mount"}) {
        Systemd systemd;
        systemd.unit.id = id;
        const Note note = systemd.tell_unit();
        BOOST_TEST(says(note, ("'" + id + "' is not the container's own").c_str()), note.text);
        BOOST_TEST(!systemd.has_set());
    }
    Systemd systemd;
    systemd.write(manager_welcome + reply_to(1, object("/org/freedesktop/systemd1/unit/x_2escope")) +
                  reply_to(2, text_property("worker.service")) + reply_to(3, text_property(scopes[0])) +
                  reply_to(4, text_property("strict")) + reply_to(5, devices_property({})) + reply_to(6));
    BOOST_TEST(says(systemd.tell(), "'worker.service' is not the container's own"));
}

BOOST_AUTO_TEST_CASE(a_scope_around_the_container_gets_nothing)
{
    for (const std::string cgroup :
         {"", "/", "/user.slice/session-3.scope", "/system.slice", "system.slice/runc-4f.scope",
          "/system.slice/runc-4f.scope/container", "/system.slice/runc-4f.scope/"}) {
        Systemd systemd;
        systemd.unit.control_group = cgroup;
        BOOST_TEST(says(systemd.tell_unit(), "'runc-4f.scope' is not the container's own"), cgroup);
        BOOST_TEST(!systemd.has_set(), cgroup);
    }
}

BOOST_FIXTURE_TEST_CASE(a_scope_without_a_policy_gets_none, Systemd)
{
    unit.device_policy = "auto";
    unit.device_allow.clear();
    BOOST_TEST((tell_unit().level == LogLevel::Debug));
    BOOST_TEST(!has_set());
}

BOOST_AUTO_TEST_CASE(a_scope_with_a_policy_or_with_devices_restricts_them)
{
    for (const char *policy : {"strict", "closed", "auto"}) {
        Systemd systemd;
        systemd.unit.device_policy = policy;
        BOOST_TEST((systemd.tell_unit().level == LogLevel::Info), policy);
        BOOST_TEST(systemd.has_set(), policy);
    }
}

BOOST_FIXTURE_TEST_CASE(an_answer_of_another_type_is_a_warning, Systemd)
{
    write(manager_welcome + reply_to(1, text_property("/o")));
    const Note note = tell();
    BOOST_TEST((note.level == LogLevel::Warning));
    BOOST_TEST(says(note, "of another type"), note.text);
    BOOST_TEST(says(note, "daemon-reload"), note.text);
}

BOOST_FIXTURE_TEST_CASE(a_refusal_is_a_warning, Systemd)
{
    write(manager_welcome + error_to(1, "org.freedesktop.systemd1.NoSuchUnit", "There is none."));
    const Note note = tell();
    BOOST_TEST((note.level == LogLevel::Warning));
    BOOST_TEST(says(note, "GetUnitByControlGroup is: 'There is none.'"), note.text);
}

BOOST_FIXTURE_TEST_CASE(no_answer_is_a_warning, Systemd)
{
    BOOST_TEST((tell().level == LogLevel::Warning));
}

BOOST_FIXTURE_TEST_CASE(what_is_taken_away_leaves_the_list_in_one_change, Systemd)
{
    unit.device_allow = {{"/dev/char/1:3", "rwm"}, {"/dev/char/195:0", "rw"}, {"/dev/char/195:255", "r"}};
    write(replies_on(unit));
    deny_in_scope(connection, scopes, rules);
    Marshaller body;
    body.put_string("runc-4f.scope");
    body.put_uint32(1);
    body.put_array_of_structs([&] {
        for (const bool has_rest : {false, true}) {
            body.begin_struct();
            body.put_string("DeviceAllow");
            body.put_signature("a(ss)");
            body.put_array_of_structs([&] {
                if (!has_rest)
                    return;
                body.begin_struct();
                body.put_string("/dev/char/1:3");
                body.put_string("rwm");
            });
        }
    });
    BOOST_TEST(read().ends_with(marshal({"/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                                         "SetUnitProperties", "sba(sv)", body.bytes()},
                                        6)));
}

BOOST_AUTO_TEST_CASE(what_systemd_does_not_allow_or_is_not_the_containers_stays)
{
    Systemd without;
    without.write(replies_on(without.unit));
    deny_in_scope(without.connection, scopes, rules);
    BOOST_TEST(!without.has_set());
    Systemd others;
    others.unit.id = "worker.service";
    others.unit.device_allow = {{"/dev/char/195:0", "rw"}};
    others.write(replies_on(others.unit));
    deny_in_scope(others.connection, scopes, rules);
    BOOST_TEST(!others.has_set());
    Systemd open; // an empty list would deny nothing
    open.unit.device_policy = "auto";
    open.unit.device_allow = {{"/dev/char/195:0", "rw"}};
    open.write(replies_on(open.unit));
    BOOST_TEST(
        (failure_of([&] { deny_in_scope(open.connection, scopes, rules); }).kind == ErrorKind::Failure));
}

BOOST_AUTO_TEST_SUITE_END()
