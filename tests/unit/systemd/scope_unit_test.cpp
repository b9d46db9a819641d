// SPDX-License-Identifier: Apache-2.0
//
// What systemd answers is written before it is asked.
#include <boost/test/unit_test.hpp>

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
    UnitDevices unit = {"runc-4f.scope", scopes[0], "strict", {{"/dev/char/1:3", "rwm"}}};

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
    body.put_boolean(true);
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
    BOOST_TEST(read().ends_with(marshal({"", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                                         "SetUnitProperties", "sba(sv)", body.bytes()},
                                        6)));
}

BOOST_FIXTURE_TEST_CASE(the_unit_is_found_by_the_cgroup, Systemd)
{
    tell_unit();
    Marshaller body;
    body.put_string(scopes[0]);
    const std::string call = marshal({"", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                                      "GetUnitByControlGroup", "s", body.bytes()},
                                     1);
    BOOST_TEST(read().find(call) != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(what_is_allowed_already_is_not_added_again, Systemd)
{
    unit.device_allow = {{"/dev/char/195:255", "rw"}, {"/dev/char/195:0", "rw"}};
    BOOST_TEST((tell_unit().level == LogLevel::Debug));
    BOOST_TEST(!has_set());
}

BOOST_FIXTURE_TEST_CASE(a_worker_around_the_container_gets_nothing, Systemd)
{
    unit.id = "worker.service";
    unit.device_policy = "closed";
    BOOST_TEST(says(tell_unit(), "'worker.service' is not the container's own"));
    BOOST_TEST(!has_set());
}

BOOST_FIXTURE_TEST_CASE(a_scope_around_the_container_gets_nothing, Systemd)
{
    unit.id = "session-3.scope";
    unit.control_group = "/user.slice/session-3.scope";
    BOOST_TEST(says(tell_unit(), "'session-3.scope' is not the container's own"));
    BOOST_TEST(!has_set());
}

BOOST_FIXTURE_TEST_CASE(a_scope_without_a_policy_gets_none, Systemd)
{
    unit.device_policy = "auto";
    unit.device_allow.clear();
    BOOST_TEST((tell_unit().level == LogLevel::Debug));
    BOOST_TEST(!has_set());
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

BOOST_AUTO_TEST_SUITE_END()
