// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/host/inventory.h"
#include "nvidia/driver_params.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_driver)

using namespace ogh;
using namespace ogh::nvidia_devices;

BOOST_AUTO_TEST_CASE(version_lines_of_all_kinds)
{
    const auto version = [](const std::string &text) { return parse_driver_version(text).value_or("-"); };
    BOOST_TEST(version("NVRM version: NVIDIA UNIX aarch64 Kernel Module  560.10  \n") == "560.10");
    BOOST_TEST(version("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  601.10.03  Release Build  "
                       "(a@b)  \n") == "601.10.03");
    for (const char *text :
         {"", "\n", "NVRM version: NVIDIA UNIX x86_64 Kernel Module", "555.42.07",
          "NVRM version: NVIDIA UNIX x86_64 Kernel Module  555  Mon", "NVRM version: Kernel Module 1.2.3.4",
          "NVRM version: Kernel Module 1..2", "NVRM version: Kernel Module 1.\t2", "GCC\nKernel Module 1.2"})
        BOOST_TEST(version(text) == "-", text);
}

BOOST_AUTO_TEST_CASE(a_container_sees_params_that_change_no_device_file)
{
    BOOST_TEST(params_for_container("ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nRmMsg: \"\"\n") ==
               "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 0\nRmMsg: \"\"\n");
    BOOST_TEST(params_for_container("A: 1\nModifyDeviceFiles: 0\n") == "A: 1\nModifyDeviceFiles: 0\n");
    BOOST_TEST(params_for_container("ModifyDeviceFiles:1") == "ModifyDeviceFiles: 0");
    BOOST_TEST(params_for_container("RmMsg: \"ModifyDeviceFiles: 1\"\nXModifyDeviceFiles: 1\n") ==
               "ModifyDeviceFiles: 0\nRmMsg: \"ModifyDeviceFiles: 1\"\nXModifyDeviceFiles: 1\n");
    BOOST_TEST(params_for_container("") == "ModifyDeviceFiles: 0\n");
}

BOOST_AUTO_TEST_SUITE_END()
