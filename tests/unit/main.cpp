// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

namespace {

bool start()
{
    boost::unit_test::framework::master_test_suite().p_name.value = "unit";
    return true;
}

} // namespace

int main(int argc, char **argv)
{
    return boost::unit_test::unit_test_main(start, argc, argv);
}
