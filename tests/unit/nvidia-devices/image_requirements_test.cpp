// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "nvidia-devices/request/image_requirements.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_image_requirements)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::failure_of;

namespace {

using Environment = std::vector<std::string>;

/** CUDA 12.5. */
constexpr const char *usual = "555.42.07";

std::vector<RequestValue> requirements(Environment environment)
{
    Config config;
    config.environment = std::move(environment);
    return requirements_of(config);
}

/** What is required, as it was written, "; " between. */
std::string required(Environment environment)
{
    std::string text;
    for (const RequestValue &requirement : requirements(std::move(environment)))
        text += (text.empty() ? "" : "; ") + requirement.value;
    return text;
}

/** The same answer for each of them. */
void expect(Answer answer, const std::vector<const char *> &texts, const std::string &driver = usual)
{
    for (const char *text : texts)
        BOOST_TEST((is_met(text, driver) == answer), driver << " for " << text);
}

/** "LEVEL TEXT" of each note. */
std::string said(const std::string &text, const std::string &driver)
{
    Notes notes;
    check_requirements({{text, "environment variable 'V'"}}, driver, notes);
    std::string all;
    for (const Note &note : notes)
        all += (note.level == LogLevel::Warning ? "warning " : "info ") + note.text;
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_operator_part_by_part)
{
    expect(Answer::Yes, {"cuda=12.5", "cuda!=12.4", "cuda<12.6", "cuda<=12.5", "cuda>12.4", "cuda>=12.5",
                         "driver>=555", "driver<556", "CUDA>=12", "Driver>555.42.6", "cuda=12.5.0.0",
                         "cuda<12.10", "driver=555.42.7", "cuda>12.4.99", "cuda>9.9"});
    expect(Answer::No, {"cuda=12.4", "cuda!=12.5", "cuda<12.5", "cuda<=12.4", "cuda>12.5", "cuda>=12.6",
                        "cuda>=12.5.1", "cuda>=13", "driver>=555.42.08", "driver<555"});
}

BOOST_AUTO_TEST_CASE(commas_join_and_blanks_separate)
{
    expect(Answer::Yes, {"cuda>=13 driver>=550", "driver>=550,driver<556", "cuda>=13 cuda>=14 cuda>8",
                         "  cuda>=12  ", ",cuda>=12,,", "", " ", " , "});
    expect(Answer::No, {"cuda>=13 driver>=550,driver<551", "cuda>=12,driver>=600", "cuda>=13, driver>=600"});
}

BOOST_AUTO_TEST_CASE(what_is_not_looked_at_counts_only_where_it_decides)
{
    expect(Answer::NotKnown, {"arch>=8", "cuda>=12,arch>=8", "cuda>=12,brand=tesla,arch>=8"});
    expect(Answer::IfBrand,
           {"brand=tesla", "Brand!=x", "cuda>=13 brand=tesla,driver>=555", "arch>=8 brand=x"});
    expect(Answer::No, {"cuda>=13,arch>=8", "cuda>=13 brand=tesla,driver>=470,driver<471"});
    expect(Answer::Yes, {"arch>=8 cuda>=12", "brand=tesla cuda>=12"});
    expect(Answer::NotKnown, {"cuda>=1", "driver>=1"}, "");
    expect(Answer::Yes, {""}, "");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_understood_is_not_known)
{
    for (const char *text :
         {"cuda", "cuda>=", ">=12", "cuda=>12", "cuda==12", "cuda!12", "cuda<>12", "cuda>=12.", "cuda>=.5",
          "cuda>=12..1", "cuda>=12.x", "cuda>=-1", "gpu>=1", "memory=1", "driver",
          "cuda>=99999999999999999999", "cuda>=12\xff", "cuda>=12;arch>=8", "cudas>=1"}) {
        expect(Answer::NotKnown, {text});
        BOOST_TEST((is_met("cuda>=12 " + std::string(text), usual) == Answer::Yes), text);
        BOOST_TEST((is_met("cuda>=13," + std::string(text), usual) == Answer::No), text);
    }
    expect(Answer::NotKnown, {"cuda>= 12", "cuda >=12"});
}

BOOST_AUTO_TEST_CASE(the_cuda_of_a_driver)
{
    const std::vector<std::pair<const char *, const char *>> known{
        {"367.1", "cuda=8"},        {"390.157", "cuda=9.1"},    {"470.256.02", "cuda=11.4"},
        {"555.42.07", "cuda=12.5"}, {"580.65.06", "cuda=13.0"}, {"590.44", "cuda=13.1"}};
    for (const auto &[driver, cuda] : known)
        expect(Answer::Yes, {cuda}, driver);
    for (const char *driver : {"340.108", "", "x", "-1"})
        expect(Answer::NotKnown, {"cuda>=1", "cuda<99"}, driver);
}

BOOST_AUTO_TEST_CASE(of_a_newer_driver_the_least_is_known)
{
    for (const char *driver : {"700.1", "99999999999"}) {
        expect(Answer::Yes, {"cuda>=13.1", "cuda>=12", "cuda>12", "cuda!=12"}, driver);
        expect(Answer::No, {"cuda<13.1", "cuda<12", "cuda<=12", "cuda=12"}, driver);
        expect(Answer::NotKnown,
               {"cuda>13.1", "cuda<=13.1", "cuda=13.1", "cuda!=13.1", "cuda>=13.2", "cuda<14"}, driver);
    }
    expect(Answer::Yes, {"cuda>=12.2"}, "540.3.0"); // Jetson's
    expect(Answer::NotKnown, {"cuda>=12.3"}, "540.3.0");
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_said_with_what_there_is)
{
    BOOST_TEST(said("cuda>=12.5", usual) == "");
    const std::string text = "cuda>=13.0 brand=tesla,driver>=550,driver<551";
    const auto failure = failure_of([&] { said(text, usual); });
    BOOST_TEST((failure.kind == ErrorKind::NotAvailable));
    BOOST_TEST(
        failure.message ==
        "the image needs '" + text +
            "' (environment variable 'V'), and this host has driver 555.42.07, cuda 12.5; take an image "
            "for this driver, or a host with a newer one; NVIDIA_DISABLE_REQUIRE=true in the "
            "container's environment has it start nevertheless");
    const std::string not_told =
        ": no more is looked at, and whether that is enough cannot be told; if it is not, its programs fail";
    BOOST_TEST(said("arch>=9", "") ==
               "warning the image needs 'arch>=9' (environment variable 'V'), and this "
               "host has driver not known, cuda not known" +
                   not_told);
    BOOST_TEST(
        said("brand=nvs", "700.1") ==
        "info the image needs 'brand=nvs' (environment variable 'V'), and this host has driver 700.1, cuda "
        "13.1 or newer" +
            not_told);
    BOOST_TEST(said("arch>=" + std::string(9000, '9'), usual).size() < 600U);
    Notes notes; // an image can have as many as it likes
    check_requirements(std::vector<RequestValue>(1000, {"arch>=9", "variable 'V'"}), usual, notes);
    BOOST_TEST(notes.size() == 1U);
    notes.clear();
    check_requirements({{"brand=nvs", "variable 'V'"}, {"arch>=9", "variable 'W'"}}, "700.1", notes);
    BOOST_TEST(notes.size() == 2U);
    BOOST_TEST((notes.back().level == LogLevel::Warning)); // no information hides it
}

BOOST_AUTO_TEST_CASE(each_variable_is_a_requirement)
{
    BOOST_TEST(required({"NVIDIA_REQUIRE_CUDA=cuda>=12.4", "PATH=/bin", "NVIDIA_REQUIRE_ARCH=arch>=7"}) ==
               "arch>=7; cuda>=12.4");
    for (const char *entry :
         {"NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_CUDA=", "NVIDIA_REQUIRE_JETPACK=csv-mounts=all",
          "NVIDIA_REQUIRE_JETPACK_X=y", "NVIDIA_REQUIRED=x"})
        BOOST_TEST(requirements({entry}).empty(), entry);
    BOOST_TEST(required({"NVIDIA_REQUIRE_CUDA=cuda>=12.4", "NVIDIA_REQUIRE_CUDA="}) == ""); // the last counts
    Environment many; // quadratic, it would take minutes
    for (unsigned i = 0; i < 100000; ++i)
        many.push_back("NVIDIA_REQUIRE_" + std::to_string(i) + "=,");
    BOOST_TEST(requirements(many).size() == many.size());
}

BOOST_AUTO_TEST_CASE(they_can_be_switched_off)
{
    const std::string cuda = "NVIDIA_REQUIRE_CUDA=oops";
    for (const char *word : {"1", "t", "T", "true", "TRUE", "True"})
        BOOST_TEST(required({cuda, "CUDA_VERSION=x", "NVIDIA_DISABLE_REQUIRE=" + std::string(word)}) == "",
                   word);
    for (const char *word : {"", "0", "f", "false", "yes", "tRUE"})
        BOOST_TEST(required({cuda, "NVIDIA_DISABLE_REQUIRE=" + std::string(word)}) == "oops", word);
}

BOOST_AUTO_TEST_CASE(a_cuda_image_of_old_requires_its_version)
{
    const std::vector<std::pair<Environment, std::string>> cases{
        {{"CUDA_VERSION=9.0.176"}, "cuda>=9.0"},
        {{"CUDA_VERSION=9.0.176", "NVIDIA_REQUIRE_CUDA="}, "cuda>=9.0"},
        {{"CUDA_VERSION=v10.2", "NVIDIA_REQUIRE_ARCH=arch>=7"}, "arch>=7; cuda>=10.2"},
        {{"CUDA_VERSION=8"}, "cuda>=8"},
        {{"CUDA_VERSION=12.4.1", "NVIDIA_REQUIRE_CUDA=cuda>=12.4"}, "cuda>=12.4"},
        {{"CUDA_VERSION="}, ""},
        {{"CUDA_VERSION=v"}, "cuda>="}};
    for (const auto &[environment, expected] : cases)
        BOOST_TEST(required(environment) == expected, environment.front());
}

BOOST_AUTO_TEST_SUITE_END()
