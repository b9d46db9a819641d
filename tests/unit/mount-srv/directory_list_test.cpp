// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "mount-srv/plan.h"

BOOST_AUTO_TEST_SUITE(mount_srv_directory_list)

using namespace ogh;
using namespace ogh::mount_srv;

BOOST_AUTO_TEST_CASE(each_entry_with_how_it_is_handed_out_or_why_not)
{
    const Inventory host{"/srv",
                         true,
                         {{"bad", "", Kind::Directory, "its symlink leads nowhere", ErrorKind::NotAvailable},
                          {"datasets", "/srv/datasets", Kind::Directory, "", ErrorKind::None},
                          {"models", "/data/models", Kind::Directory, "", ErrorKind::None},
                          {"out_rw", "/srv/out_rw", Kind::Directory, "", ErrorKind::None}}};
    Policy policy;
    policy.allow = std::set<std::string>{"bad", "datasets", "out_rw"};
    BOOST_TEST(to_text(list_directories(host, policy), ListFormat::Table) ==
               "NAME      ACCESS     PATH           STATE\n"
               "bad       read-only  -              its symlink leads nowhere\n"
               "datasets  read-only  /srv/datasets\n"
               "models    read-only  /data/models   not allowed\n"
               "out_rw    writable   /srv/out_rw\n");
    policy.writable_by_name = false;
    BOOST_TEST(to_text(list_directories(host, policy), ListFormat::Table).find("writable") ==
               std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
