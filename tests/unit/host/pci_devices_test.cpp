// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <boost/test/unit_test.hpp>

#include "host/pci_devices.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(pci_devices)

using namespace ogh;
using ogh::test::TempDirectory;

namespace {

const std::string ones(64, '\xff');
/** NVIDIA's, a controller of class 3. */
const std::string living =
    std::string("\xde\x10\x30\x23\x06\x04\x10\x00\xa1\x00\x02\x03", 12) + std::string(52, '\0');

/** A device at 0000:5e:00.0, linked as the kernel does. */
struct Host : TempDirectory {
    const std::string device = "sys/devices/pci0000:5d/0000:5e:00.0";

    Host()
    {
        directory("sys/bus/pci/devices");
        link("sys/bus/pci/devices/0000:5e:00.0", "../../../devices/pci0000:5d/0000:5e:00.0");
        directory(device + "/power");
    }

    void config(const std::string &bytes) const { file(device + "/config", bytes); }
    void status(const std::string &text) const { file(device + "/power/runtime_status", text); }

    [[nodiscard]] PciAnswer ask(const PciAddress &address = {0, 0x5e, 0, 0}) const
    {
        return PciDevices(Sysroot(path())).ask(address);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(nothing_but_ones_is_no_answer, Host)
{
    config(living);
    BOOST_TEST((ask() == PciAnswer::Answers));
    config(ones);
    BOOST_TEST((ask() == PciAnswer::None));
    for (const char *text : {"active\n", "unsupported\n", "error\n", ""}) {
        status(text);
        BOOST_TEST((ask() == PciAnswer::None), text);
    }
}

BOOST_FIXTURE_TEST_CASE(a_virtual_function_has_its_class, Host)
{
    config(ones.substr(0, 4) + living.substr(4));
    BOOST_TEST((ask() == PciAnswer::Answers));
    config(living.substr(0, 4) + ones.substr(4));
    BOOST_TEST((ask() == PciAnswer::Answers));
}

BOOST_FIXTURE_TEST_CASE(what_sleeps_is_not_woken, Host)
{
    config(ones);
    for (const char *text : {"suspended\n", "suspending\n", "resuming\n"}) {
        status(text);
        BOOST_TEST((ask() == PciAnswer::NotAsked), text);
    }
}

BOOST_FIXTURE_TEST_CASE(what_the_host_does_not_show_is_not_dead, Host)
{
    BOOST_TEST((ask() == PciAnswer::NotAsked));
    BOOST_TEST((ask({0, 0x5f, 0, 0}) == PciAnswer::NotAsked));
    for (const size_t size : {size_t{0}, size_t{3}, size_t{4}, size_t{11}}) {
        config(ones.substr(0, size));
        BOOST_TEST((ask() == PciAnswer::NotAsked), size);
    }
    const TempDirectory none;
    BOOST_TEST((PciDevices(Sysroot(none.path())).ask({0, 0x5e, 0, 0}) == PciAnswer::NotAsked));
}

BOOST_FIXTURE_TEST_CASE(those_that_are_dead, Host)
{
    config(ones);
    const PciAddress dead{0, 0x5e, 0, 0};
    const std::set<PciAddress> found = PciDevices(Sysroot(path())).dead_among({{0, 1, 0, 0}, dead});
    BOOST_TEST((found == std::set<PciAddress>{dead}));
}

BOOST_AUTO_TEST_SUITE_END()
