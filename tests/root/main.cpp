// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <boost/test/unit_test.hpp>

#include "lease_host.h"

namespace {

constexpr int skipped = 77; // as meson understands it

bool start()
{
    boost::unit_test::framework::master_test_suite().p_name.value = "root";
    return true;
}

} // namespace

/** What the tests take for the host is a mount namespace of their own, from which nothing gets out. */
int main(int argc, char **argv)
{
    ogh::test::Init::begin(argc, argv);
    if (::geteuid() != 0) {
        std::fputs("root_tests: skipped, needs root: these tests make mount namespaces and enter them\n",
                   stderr);
        return skipped;
    }
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        std::fprintf(stderr, "root_tests: cannot make a private mount namespace: %s\n", std::strerror(errno));
        return 1;
    }
    return boost::unit_test::unit_test_main(start, argc, argv);
}
