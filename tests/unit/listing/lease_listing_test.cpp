// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "listing/lease_listing.h"

BOOST_AUTO_TEST_SUITE(lease_listing)

using namespace ogh;

namespace {

/** Four GPUs: the third is drained, the last excluded. */
struct Host {
    HostListing listing{{"gpus", {"index", "state"}}};
    GpuState state{{}, {}, {}, {"nvidia", "cuda"}};

    Host()
    {
        for (unsigned i = 0; i < 4; ++i) {
            listing.rows.push_back({std::uint64_t{i}, i == 3 ? "it is excluded" : ""});
            Candidate &gpu = state.gpus.emplace_back();
            gpu.index = i;
            gpu.lease_key = "nvidia:" + std::to_string(i);
        }
        state.gpus[3].problem = "it is excluded";
        state.leases.drains = {{"nvidia:2", 0}};
    }

    LeaseEntry &entry(const std::string &container, std::vector<LeasedDevice> devices)
    {
        LeaseEntry &entry = state.leases.entries.emplace_back();
        entry.container = container;
        entry.devices = std::move(devices);
        entry.pid = 7;
        entry.since = 1795381755;
        return entry;
    }

    std::string text(ListFormat format) { return to_text(listing, state, format); }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(each_gpu_has_its_lease_and_each_container_its_gpus, Host)
{
    entry("a", {{"nvidia:0", LeaseMode::Exclusive}, {"amd:0", LeaseMode::Exclusive}});
    LeaseEntry &idle = entry("b", {{"nvidia:1", LeaseMode::Shared}});
    idle.why = PreemptReason::Idle;
    idle.idle_since = 1795381760;
    LeaseEntry &not_begun = entry("f", {{"nvidia:1", LeaseMode::Shared}});
    not_begun.why = PreemptReason::NotBegun;
    not_begun.from = 1795381875;
    LeaseEntry &deprived = entry("g", {{"nvidia:1", LeaseMode::Exclusive}});
    deprived.is_deprived = true;
    deprived.idle_since = 1795381760;
    entry("h", {{"nvidia:3", LeaseMode::Exclusive}}).is_deprived = true;
    entry("c", {{"nvidia:1", LeaseMode::Shared}}).lives = false;
    entry("e", {{"nvidia:1", LeaseMode::Shared}}).never_started = true;
    entry("d", {}).waits_for = Demand{{"nvidia:0"}, 1, {"nvidia:1", "nvidia:9"}, LeaseMode::Exclusive};
    entry("other vendor", {{"amd:0", LeaseMode::Shared}});
    BOOST_TEST(
        text(ListFormat::Table) ==
        "INDEX  LEASE        STATE\n"
        "0      exclusive\n"
        "1      shared by 4\n"
        "2      drained\n"
        "3      free         it is excluded\n"
        "\n"
        "CONTAINER  PID  GPUS                       LEASE      SINCE                 STATE\n"
        "a          7    0                          exclusive  2026-11-22T21:09:15Z  running\n"
        "b          7    1                          shared     2026-11-22T21:09:15Z  idle since "
        "2026-11-22T21:09:20Z\n"
        "f          7    1                          shared     2026-11-22T21:09:15Z  not begun, may be taken "
        "from 2026-11-22T21:11:15Z\n"
        "g          7    1                          none       2026-11-22T21:09:15Z  taken away, idle since "
        "2026-11-22T21:09:20Z\n"
        "h          7    3                          none       2026-11-22T21:09:15Z  taken away, not begun\n"
        "c          7    1                          shared     2026-11-22T21:09:15Z  ended\n"
        "e          7    1                          shared     2026-11-22T21:09:15Z  never started\n"
        "d          7    0 and any:1 of 1,nvidia:9  exclusive  2026-11-22T21:09:15Z  waiting\n"
        "\n"
        "GPU  SINCE\n"
        "2    1970-01-01T00:00:00Z\n"
        "\n"
        "What nobody is going to start is ended by 'runc delete -f CONTAINER', or crun.\n");
}

BOOST_FIXTURE_TEST_CASE(who_observes_is_seen_and_takes_nothing, Host)
{
    entry("a", {{"nvidia:0"}, {"nvidia:1"}, {"nvidia:2"}, {"nvidia:3"}}).observes = true;
    BOOST_TEST(text(ListFormat::Table) == "INDEX  LEASE    STATE\n"
                                          "0      free\n"
                                          "1      free\n"
                                          "2      drained\n"
                                          "3      free     it is excluded\n"
                                          "\n"
                                          "CONTAINER  PID  GPUS     LEASE     SINCE                 STATE\n"
                                          "a          7    0,1,2,3  observer  2026-11-22T21:09:15Z  running\n"
                                          "\n"
                                          "GPU  SINCE\n"
                                          "2    1970-01-01T00:00:00Z\n");
    BOOST_TEST(
        text(ListFormat::Status).starts_with("nvidia: 3 GPUs, 2 free, 0 shared, 0 exclusive, 1 drained"));
}

BOOST_FIXTURE_TEST_CASE(programs_get_the_same_as_json, Host)
{
    entry("a", {{"nvidia:0", LeaseMode::Shared}});
    const auto document = nlohmann::json::parse(text(ListFormat::Json));
    BOOST_TEST(document["gpus"][0] == nlohmann::json::parse(R"({"index":0,"lease":"shared","state":""})"));
    BOOST_TEST(
        document["leases"] ==
        nlohmann::json::parse(R"([{"container":"a","name":null,"image":null,"user":null,"asker":null,"pid":7,
                   "gpus":"0","lease":"shared","quotas":"","since":"2026-11-22T21:09:15Z","deadline":null,
                   "place":null,"state":"running"}])"));
    BOOST_TEST(document["drains"] ==
               nlohmann::json::parse(
                   R"([{"gpu":"2","since":"1970-01-01T00:00:00Z","until":null,"by":"","reason":""}])"));
}

BOOST_FIXTURE_TEST_CASE(who_counts_in_a_quota_is_seen, Host)
{
    entry("a", {{"nvidia:0", LeaseMode::Shared, {{"key:ci", 1}, {"policy:x", 2}}},
                {"nvidia:1", LeaseMode::Shared, {{"key:ci", 1}}}});
    entry("b", {{"nvidia:1", LeaseMode::Shared}});
    entry("c", {}).waits_for = Demand{{"nvidia:0"}, 0, {}, LeaseMode::Shared, {{"key:ci", 1}}};
    const std::string table = text(ListFormat::Table);
    for (const char *const words : {"  LEASE   QUOTAS           SINCE", "  shared  key:ci,policy:x  2026",
                                    "  shared                   2026", "  shared  key:ci           2026"})
        BOOST_TEST(table.find(words) != std::string::npos, table);
}

BOOST_FIXTURE_TEST_CASE(a_screen_has_80_columns, Host)
{
    const std::string id(64, 'f');
    const std::string evil = "\x1b[2J\xff" + std::string(500, 'x');
    for (unsigned i = 0; i < 8; ++i) {
        LeaseEntry &holder = entry(id, {{"nvidia:0", LeaseMode::Exclusive}});
        holder.label = {evil, evil, evil, "key:" + evil, evil};
        holder.is_paused = true;
    }
    entry(id, {{"nvidia:0", LeaseMode::Shared}}).label = {"", "", "anna", "tag", ""};
    entry("d", {{"nvidia:0", LeaseMode::Shared}}).label = {"train", "", "anna", "key:nightly", ""};
    entry("buildah-buildah3141592653", {{"nvidia:0", LeaseMode::Shared}});
    LeaseEntry &waits = entry("w", {});
    waits.waits_for = Demand{{"nvidia:0", "nvidia:1", "nvidia:2"}, 2, {"nvidia:3"}, LeaseMode::Shared};
    waits.deadline = 1795381999;
    waits.place = 12;
    state.leases.drains = {{"nvidia:2", 1795381755, 0, evil}};
    const std::string screen = text(ListFormat::Screen);
    std::istringstream lines(screen);
    for (std::string line; std::getline(lines, line);)
        BOOST_TEST(line.size() <= 80, line);
    for (const char *const line :
         {"ffffffffffff        anna          0          shared  11-22 21:09  running\n",
          "train               key:nightly   0          shared  11-22 21:09  running\n",
          "buildah~3141592653  -             0          shared  11-22 21:09  running\n",
          "w                   -             0,1,2 an~  shared  11-22 21:09  #12 to 21:13\n",
          "?xx~  0          excl    11-22 21:09  paused\n", "2    11-22 21:09  ?[2J?xxxxx"})
        BOOST_TEST(screen.find(line) != std::string::npos, screen);
}

BOOST_FIXTURE_TEST_CASE(where_nobody_has_anything_there_is_one_table, Host)
{
    BOOST_TEST(text(ListFormat::Table).find("CONTAINER") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(tags_of_a_worker_and_a_line_for_a_status_bar, Host)
{
    entry("a", {{"nvidia:0", LeaseMode::Exclusive}});
    entry("d", {}).waits_for = Demand{{"nvidia:0"}, 0, {}, LeaseMode::Shared};
    BOOST_TEST(text(ListFormat::Tags) == "cuda\ngpu\ngpu-type=nvidia\ngpu-count=3\ngpu-devices=0,1,2\n");
    BOOST_TEST(
        text(ListFormat::Status) ==
        "nvidia: 3 GPUs, 1 free, 0 shared, 1 exclusive, 1 drained, 0 kept for those who wait; 1 waiting\n");
    state.gpus.clear();
    BOOST_TEST(text(ListFormat::Tags).empty());
}

BOOST_FIXTURE_TEST_CASE(one_line_says_how_many_look_dead, Host)
{
    state.gpus[1].looks_dead = true;
    state.gpus[1].problem = "looks dead";
    Candidate &instance = state.gpus.emplace_back(state.gpus[1]);
    instance.whole = 1;
    BOOST_TEST(text(ListFormat::Status) == "nvidia: 2 GPUs, 1 free, 0 shared, 0 exclusive, 1 drained, 0 kept "
                                           "for those who wait, 1 that look dead; 0 waiting\n");
}

BOOST_FIXTURE_TEST_CASE(what_somebody_who_comes_now_does_not_get_is_no_free_gpu, Host)
{
    Ticket ticket;
    ticket.number = 1;
    ticket.holder.init = {7, 1};
    ticket.deadline_ns = INT64_MAX;
    ticket.demand = {{}, 2, {"nvidia:0", "nvidia:1"}, LeaseMode::Exclusive};
    state.leases.state.tickets.push_back(ticket);
    entry("a", {{"nvidia:0", LeaseMode::Shared}});
    BOOST_TEST(
        text(ListFormat::Status) ==
        "nvidia: 3 GPUs, 0 free, 1 shared, 0 exclusive, 1 drained, 1 kept for those who wait; 0 waiting\n");
    BOOST_TEST(text(ListFormat::Table).find("1      kept\n") != std::string::npos);
    // Who shares gets what somebody waits for who shares, and has to have it for itself where the host says so.
    state.leases.state.tickets[0].demand.mode = LeaseMode::Shared;
    BOOST_TEST(text(ListFormat::Status).find("1 free, 1 shared") != std::string::npos);
    state.least = LeaseMode::Exclusive;
    BOOST_TEST(text(ListFormat::Status).find("0 free, 1 shared") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(who_keeps_the_lock_is_named, Host)
{
    state.leases.lock_keeper = "the process 17 ('x')";
    BOOST_TEST(text(ListFormat::Status)
                   .find("waiting; the process 17 ('x') keeps the lock, which holds up all hooks\n") !=
               std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
