// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <boost/test/unit_test.hpp>

#include "base/undo_log.h"

BOOST_AUTO_TEST_SUITE(undo_log)

using namespace ogh;

namespace {

struct Steps {
    std::string undone;

    UndoLog::Step step(char name)
    {
        return [this, name] { undone += name; };
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(what_was_done_last_is_taken_back_first_and_once, Steps)
{
    {
        UndoLog log;
        log.add(step('a'));
        log.add(step('b'));
        log.run();
        BOOST_TEST(undone == "ba");
        log.add(step('c'));
    }
    BOOST_TEST(undone == "bac");
}

BOOST_FIXTURE_TEST_CASE(what_is_dropped_stays, Steps)
{
    UndoLog log;
    log.add(step('a'));
    log.drop();
    log.run();
    BOOST_TEST(undone.empty());
}

BOOST_FIXTURE_TEST_CASE(a_part_comes_after_what_was_done_before_it, Steps)
{
    UndoLog log;
    log.add(step('a'));
    {
        UndoLog part;
        part.add(step('b'));
        part.add(step('c'));
        log.append(std::move(part));
    }
    BOOST_TEST(undone.empty());
    log.run();
    BOOST_TEST(undone == "cba");
}

BOOST_AUTO_TEST_SUITE_END()
