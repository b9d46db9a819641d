// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "request/key_file.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(key_file)

using namespace ogh;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

namespace {

// printf %s abc | sha256sum; printf '' | sha256sum (FIPS 180-4 has the first as an example)
const std::string hash_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const std::string hash_of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const std::string gpus = "nvidia-devices";

test::Failure wrong(const std::string &text)
{
    return failure_of([&] { const KeyFile file(text); });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_key_is_known_by_its_hash)
{
    const KeyFile file("# keys\n\n" + hash_of_nothing + " nothing\n" + hash_of_abc + "\tnightly  \n");
    BOOST_REQUIRE(file.find("abc", gpus) != nullptr);
    BOOST_TEST(file.find("abc", gpus)->name == "nightly");
    BOOST_TEST(!file.find("abc", gpus)->limits.allow.has_value());
    for (const std::string key : {"abd", "ab", "abc\n", " abc", "ABC", hash_of_abc.c_str()})
        BOOST_TEST((file.find(key, gpus) == nullptr), key);
    BOOST_TEST((KeyFile("").find("abc", gpus) == nullptr));
}

BOOST_AUTO_TEST_CASE(a_line_has_limits_of_its_own)
{
    const KeyFile file(hash_of_abc +
                       " nightly --max-devices 2 --allow 0,3-4 --allow-capabilities none --quota 3\n");
    const Key *key = file.find("abc", gpus);
    BOOST_REQUIRE(key != nullptr);
    BOOST_TEST(key->limits.max_devices.value() == 2);
    BOOST_TEST(key->limits.allow.value() == "0,3-4");
    BOOST_TEST(key->limits.allow_capabilities.value() == "none");
    BOOST_TEST((key->limits.quota == 3U));
    BOOST_TEST(!KeyFile(hash_of_abc + " nightly\n").find("abc", gpus)->limits.quota.has_value());
}

BOOST_AUTO_TEST_CASE(a_quota_is_for_hooks_that_take_leases)
{
    for (const std::string hooks : {"mount-srv", "nvidia-devices,mount-srv", "ldcache-update"}) {
        for (const std::string &options : {" --quota 1 --for " + hooks, " --for " + hooks + " --quota 1"})
            BOOST_TEST(wrong(hash_of_abc + " nightly" + options).says("--quota counts leases"), options);
    }
    const KeyFile file(hash_of_abc + " nightly --quota 1 --for nvidia-devices,amd-kfd,cdi-devices\n");
    BOOST_TEST(file.find("abc", "cdi-devices")->limits.quota.has_value());
}

BOOST_AUTO_TEST_CASE(a_line_serves_the_hooks_that_it_names_and_without_a_name_those_for_gpus)
{
    const auto served_by = [](const std::string &options) {
        const KeyFile file(hash_of_abc + " nightly" + options + "\n");
        std::string served;
        for (const char *hook :
             {"amd-kfd", "cdi-devices", "ldcache-update", "mount-srv", "nvidia-devices", ""})
            served += file.find("abc", hook)->serves(hook) ? std::string(hook) + " " : "";
        return served;
    };
    BOOST_TEST(served_by("") == "amd-kfd nvidia-devices ");
    BOOST_TEST(served_by(" --max-devices 1") == "amd-kfd nvidia-devices ");
    BOOST_TEST(served_by(" --for mount-srv") == "mount-srv ");
    BOOST_TEST(served_by(" --for nvidia-devices,mount-srv --allow 0") == "mount-srv nvidia-devices ");
    BOOST_TEST(served_by(" --for ldcache-update,cdi-devices") == "cdi-devices ldcache-update ");
}

BOOST_AUTO_TEST_CASE(of_the_lines_for_a_key_the_last_that_serves_the_hook_counts)
{
    const KeyFile file(hash_of_abc + " first --for mount-srv,amd-kfd\n" + hash_of_abc + " gpus --allow 0\n" +
                       hash_of_nothing + " nothing --for mount-srv\n");
    BOOST_TEST(file.find("abc", "mount-srv")->name == "first");
    BOOST_TEST(file.find("abc", "amd-kfd")->name == "gpus");
    BOOST_TEST(file.find("abc", gpus)->name == "gpus");
    BOOST_REQUIRE(file.find("abc", "cdi-devices") != nullptr);
    BOOST_TEST(!file.find("abc", "cdi-devices")->serves("cdi-devices"));
}

BOOST_AUTO_TEST_CASE(a_wrong_line_is_named_and_not_repeated)
{
    const std::vector<std::string> lines{"secret",
                                         "secret name",
                                         "ba78 name",
                                         hash_of_abc,
                                         (hash_of_abc + "0 name"),
                                         ("BA" + hash_of_abc.substr(2) + " name"),
                                         (hash_of_abc + " secret --max-devices"),
                                         (hash_of_abc + " secret --allow-capabilities"),
                                         (hash_of_abc + " secret --max-devices -1"),
                                         (hash_of_abc + " secret --max-device 1"),
                                         (hash_of_abc + " secret --quota"),
                                         (hash_of_abc + " secret --quota 0"),
                                         (hash_of_abc + " secret --quota secret"),
                                         (hash_of_abc + " secret --quota 1 --for mount-srv"),
                                         (hash_of_abc + " secret --for"),
                                         (hash_of_abc + " secret --for secret"),
                                         (hash_of_abc + " secret --for nvidia-devices,secret"),
                                         (hash_of_abc + " secret --for nvidia-devices,"),
                                         (hash_of_abc + " secret --for nvidia-devices.lease"),
                                         (hash_of_abc + " secret more")};
    for (const std::string &line : lines) {
        const auto failure = wrong("# a comment\n" + line + "\n");
        BOOST_TEST((failure.kind == ErrorKind::BrokenHost), line);
        BOOST_TEST(failure.says("line 2 of the key file"), failure.message);
        BOOST_TEST((!failure.says("secret") && !failure.says("ba78")), failure.message);
    }
}

BOOST_AUTO_TEST_CASE(the_file_is_roots_alone)
{
    const TempDirectory directory;
    const std::string path = directory.path("keys");
    const auto refusal = [](const std::string &name) {
        return failure_of([&] { read_key_file(Sysroot("/"), name); });
    };
    BOOST_TEST((refusal(path).kind == ErrorKind::BrokenHost));
    directory.file("keys", hash_of_abc + " nightly\n");
    for (const unsigned mode : {0604U, 0640U, 0710U, 0644U}) {
        BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
        BOOST_TEST(refusal(path).says("must not have more than 0600"));
    }
    for (const unsigned mode : {0600U, 0400U}) {
        BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
        BOOST_TEST(read_key_file(Sysroot("/"), path).find("abc", gpus)->name == "nightly");
    }
    directory.link("link", "keys");
    directory.directory("real");
    directory.link("parent", ".");
    BOOST_REQUIRE(::mkfifo(directory.path("fifo").c_str(), 0600) == 0);
    for (const char *name : {"link", "parent/keys", "real", "fifo"})
        BOOST_TEST((refusal(directory.path(name)).kind == ErrorKind::BrokenHost), name);
    for (const unsigned mode : {0602U, 0660U}) {
        BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
        BOOST_TEST(refusal(path).says("may be written by others"));
    }
    BOOST_REQUIRE(::chmod(path.c_str(), 0600) == 0);
    BOOST_REQUIRE(::link(path.c_str(), directory.path("another").c_str()) == 0);
    BOOST_TEST(refusal(path).says("more than one name"));
}

BOOST_AUTO_TEST_CASE(nobody_else_may_exchange_the_file)
{
    const TempDirectory directory;
    directory.file("above/below/keys", hash_of_abc + " nightly\n");
    const std::string path = directory.path("above/below/keys");
    BOOST_REQUIRE(::chmod(path.c_str(), 0600) == 0);
    const auto refusal = [&] { return failure_of([&] { read_key_file(Sysroot("/"), path); }); };
    for (const char *name : {"above", "above/below"}) {
        const std::string each = directory.path(name);
        for (const unsigned mode : {0775U, 0757U, 0777U}) {
            BOOST_REQUIRE(::chmod(each.c_str(), mode) == 0);
            BOOST_TEST((refusal().kind == ErrorKind::BrokenHost), each);
            BOOST_TEST(refusal().says("the key file"), refusal().message);
            BOOST_TEST(refusal().says("a directory on the way to"), refusal().message);
            BOOST_TEST(refusal().says("may be written by others"), refusal().message);
        }
        // As /tmp, where others make names, and exchange none of root's.
        BOOST_REQUIRE(::chmod(each.c_str(), 01777) == 0);
        BOOST_TEST(read_key_file(Sysroot("/"), path).find("abc", gpus)->name == "nightly");
        BOOST_REQUIRE(::chmod(each.c_str(), 0755) == 0);
    }
    for (const char *name : {"above", "above/below", "above/below/keys"}) {
        const std::string each = directory.path(name);
        if (::geteuid() != 0)
            continue;
        BOOST_REQUIRE(::chown(each.c_str(), 1000, 0) == 0);
        BOOST_TEST(refusal().says("belongs to user 1000"), refusal().message);
        BOOST_REQUIRE(::chown(each.c_str(), 0, 0) == 0);
    }
    BOOST_TEST(read_key_file(Sysroot("/"), path).find("abc", gpus)->name == "nightly");
}

BOOST_AUTO_TEST_CASE(a_link_on_the_way_is_refused_with_the_name_behind_it)
{
    const TempDirectory directory;
    directory.file("real/keys", hash_of_abc + " nightly\n");
    BOOST_REQUIRE(::chmod(directory.path("real/keys").c_str(), 0600) == 0);
    directory.link("real/link", "keys");
    directory.link("directory", "real");
    for (const char *name : {"real/link", "directory/keys", "directory/link"}) {
        const auto refusal = failure_of([&] { read_key_file(Sysroot("/"), directory.path(name)); });
        BOOST_TEST((refusal.kind == ErrorKind::BrokenHost), name);
        BOOST_TEST(refusal.says("without a symlink: '" + directory.path("real/keys") + "'"), refusal.message);
    }
}

BOOST_AUTO_TEST_SUITE_END()
