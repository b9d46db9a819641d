// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

#include "support/driver_host.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_library_search)

using namespace ogh;
using namespace ogh::nvidia_devices;
using ogh::test::DriverHost;
using ogh::test::elsewhere;
using ogh::test::library_image;
using ogh::test::triplet;
using ogh::test::versioned;

namespace {

const std::string version = DriverHost::version;
const CapabilityBits libcuda{Capability::Compute}; // the one that it cannot work without

} // namespace

BOOST_AUTO_TEST_CASE(something_else_under_the_name)
{
    DriverHost host;
    const std::string name = versioned("libcuda");
    host.library("usr/lib", "libcuda"); // looked at after those below
    host.file("usr/lib64/" + name, library_image("libcuda.so.1", true).bytes());
    auto foreign = library_image("libcuda.so.1");
    foreign.machine = EM_S390;
    host.file("run/opengl-driver/lib/" + name, foreign.bytes());
    host.file("usr/local/glibc/usr/lib/" + name, "no library");
    host.directory("usr/lib/nvidia/" + name);
    host.directory("usr/lib64/nvidia");
    BOOST_REQUIRE(::mkfifo(host.path("usr/lib64/nvidia/" + name).c_str(), 0600) == 0);
    host.directory("usr/lib/nvidia/tesla");
    host.link("usr/lib/nvidia/tesla/" + name, name); // for ever
    BOOST_TEST(host.places(libcuda) == "/usr/lib/" + name);
    for (const char *directory : {"usr/lib64", "usr/lib64/nvidia"})
        host.cached("/" + std::string(directory) + "/" + name);
    host.cached("usr/lib/libcuda.so.1"); // not absolute
    host.cached("/none/libcuda.so.1");
    host.cached("/etc/ld.so.cache/libcuda.so.1");
    host.cached("/usr/lib/libcuda.so.1");
    host.write_cache();
    BOOST_TEST(host.places(libcuda) == "/usr/lib/" + name);
}

BOOST_AUTO_TEST_CASE(links_to_other_names)
{
    DriverHost host;
    host.file("usr/lib64/libother.so." + version, library_image("libcuda.so.1").bytes());
    host.link("usr/lib64/libcuda.so.1", "libother.so." + version);
    host.link("usr/lib64/" + versioned("libcuda"), "libother.so." + version);
    host.cached("/usr/lib64/libcuda.so.1");
    BOOST_TEST((host.failure(libcuda).kind == ErrorKind::BrokenHost));
    host.write_cache();
    BOOST_TEST((host.failure(libcuda).kind == ErrorKind::BrokenHost));
    std::filesystem::remove(host.path("usr/lib64/libcuda.so.1"));
    host.file("usr/lib64/libcuda.so.x ." + version, library_image("libcuda.so.1").bytes());
    host.link("usr/lib64/libcuda.so.1", "libcuda.so.x ." + version); // a blank
    BOOST_TEST((host.failure(libcuda).kind == ErrorKind::BrokenHost));
    // Another name with the version at its end will do, as with libnvidia-container.
    std::filesystem::remove(host.path("usr/lib64/libcuda.so.1"));
    host.file("usr/lib64/libcuda.so.2." + version, library_image("libcuda.so.1").bytes());
    host.link("usr/lib64/libcuda.so.1", "libcuda.so.2." + version);
    BOOST_TEST(host.places({Capability::Compute}) == "/usr/lib64/libcuda.so.2." + version);
}

BOOST_AUTO_TEST_CASE(beside_what_a_cached_link_leads_to)
{
    DriverHost host;
    host.library("opt/driver", "libcuda");
    host.library("opt/driver", "libcuda", false, "560.10.01"); // the link leads to this one now
    host.directory("usr/lib64");
    host.link("usr/lib64/libcuda.so.1", "/opt/driver/libcuda.so.1");
    host.cached("/usr/lib64/libcuda.so.1");
    host.write_cache();
    BOOST_TEST(host.places(libcuda) == "/opt/driver/" + versioned("libcuda"));
}

BOOST_AUTO_TEST_CASE(paths_in_a_cache_that_are_not_absolute)
{
    DriverHost host;
    host.library("opt/driver", "libcuda");
    host.cached("opt/driver/libcuda.so.1");
    host.write_cache();
    BOOST_TEST((host.failure(libcuda).kind == ErrorKind::BrokenHost));
    host.cached("//opt/./more/../driver/libcuda.so.1"); // absolute, if odd
    host.directory("opt/more");
    host.write_cache();
    BOOST_TEST(host.places(libcuda) == "/opt/driver/" + versioned("libcuda"));
}

/** Each in a directory of its own, which only the cache knows. */
BOOST_AUTO_TEST_CASE(every_library_by_the_cache)
{
    DriverHost host;
    size_t count = 0;
    for (const auto &group : {DriverHost::utility, DriverHost::compute, DriverHost::video,
                              DriverHost::graphics, DriverHost::ngx}) {
        for (const std::string &name : group) {
            const std::string directory = "opt/" + name;
            const bool has_own_version = name.find(".so") != std::string::npos;
            if (has_own_version)
                host.own_library(directory, name, ".1.2");
            else
                host.library(directory, name);
            host.cached("/" + directory + "/" + name + (has_own_version ? "" : ".so.1"));
            count++;
        }
    }
    host.write_cache();
    const Capabilities without_32{
        {Capability::Compute, Capability::Utility, Capability::Video, Capability::Graphics, Capability::Ngx},
        false};
    BOOST_TEST(host.read(without_32).libraries.size() == count);
}

/** Of one machine's libraries in a cache, none counts for the other's programs. */
BOOST_AUTO_TEST_CASE(one_cache_for_two_machines)
{
    DriverHost host;
    host.library("opt/64", "libcuda");
    host.library("opt/32", "libcuda", true);
    host.library("usr/lib32", "libnvidia-nvvm", true);
    host.cached("/opt/64/libcuda.so.1");
    host.cached("/opt/32/libcuda.so.1"); // a lie about its machine
    host.write_cache();
    BOOST_TEST(host.places({Capability::Compute, Capability::Compat32}) ==
               "/opt/64/" + versioned("libcuda") + " /usr/lib32/" + versioned("libnvidia-nvvm"));
    host.cached("/opt/32/libcuda.so.1", true);
    host.write_cache();
    BOOST_TEST(host.places({Capability::Compute, Capability::Compat32}) ==
               "/opt/64/" + versioned("libcuda") + " /opt/32/" + versioned("libcuda"));
}

/** A directory that has the one has the next: no other is looked at first. */
BOOST_AUTO_TEST_CASE(the_directory_of_the_last_comes_first)
{
    DriverHost host;
    host.library("opt/b", "libcuda");
    for (const char *directory : {"opt/a", "opt/b"})
        host.library(directory, "libnvidia-nvvm");
    host.cached("/opt/a/libnvidia-nvvm.so.1");
    host.cached("/opt/b/libcuda.so.1");
    host.write_cache();
    BOOST_TEST(host.places(libcuda) ==
               "/opt/b/" + versioned("libcuda") + " /opt/b/" + versioned("libnvidia-nvvm"));
}

BOOST_AUTO_TEST_CASE(odd_sonames)
{
    DriverHost host;
    for (const std::string soname : {"", "a/b", "lib cuda", "..", "lib\xff"}) {
        host.file("usr/lib64/" + versioned("libcuda"), library_image(soname).bytes());
        BOOST_TEST(host.libraries({Capability::Compute}).at(0).soname == "");
    }
    auto image = library_image("");
    image.soname.reset();
    host.file("usr/lib64/" + versioned("libcuda"), image.bytes());
    BOOST_TEST(host.libraries({Capability::Compute}).at(0).soname == "");
}

/** Old drivers have two of libnvidia-tls. */
BOOST_AUTO_TEST_CASE(for_programs_without_thread_local_storage)
{
    DriverHost host;
    host.library("usr/lib64", "libGLX_nvidia");
    auto image = library_image("libnvidia-tls.so." + version);
    const std::string path = "usr/lib64/" + versioned("libnvidia-tls");
    const auto count = [&] {
        host.file(path, image.bytes());
        return host.libraries({Capability::Graphics}).size();
    };
    image.abi = {0, 2, 2, 5};
    BOOST_TEST(count() == 1U);
    image.abi = {0, 2, 3, 99};
    BOOST_TEST(count() == 2U);
    image.abi.reset();
    BOOST_TEST(count() == 2U);
}

BOOST_AUTO_TEST_CASE(what_an_error_says)
{
    DriverHost host;
    const std::string needs =
        "'compute' needs 'libcuda.so.555.42.07', which this host does not have; searched: ";
    BOOST_TEST((host.failure(libcuda).kind == ErrorKind::BrokenHost));
    BOOST_TEST(host.failure(libcuda).message ==
               needs + "'" + host.path("usr/lib/" + triplet + "/nvidia/current") + "', '" +
                   host.path("usr/lib/" + triplet) + "', '" + host.path("usr/lib64/nvidia") + "', '" +
                   host.path("usr/lib64") + "', '" + host.path("run/opengl-driver/lib") + "'" + elsewhere);
    host.directory("usr/lib64");
    host.link("lib64", "usr/lib64");
    const std::string searched = needs + "'" + host.path("usr/lib64") + "'";
    BOOST_TEST(host.failure(libcuda).message == searched + elsewhere);
    host.library("usr/lib64", "libcuda", false, "560.10.01");
    const std::string other = searched +
                              "; there is 'libcuda.so.560.10.01': the driver's files were changed while its "
                              "kernel module 555.42.07 is loaded; reboot, or load the new module";
    BOOST_TEST(host.failure(libcuda).message == other);
    host.cached("/lib64/libcuda.so.1");
    host.write_cache();
    BOOST_TEST(host.failure(libcuda).message == other);
    // The right file beside it is found even though no link leads to it.
    host.file("usr/lib64/" + versioned("libcuda"), library_image("libcuda.so.1").bytes());
    BOOST_TEST(host.places(libcuda) == "/usr/lib64/" + versioned("libcuda"));
}

/** What is there of the loaded version and broken is named, and no other version is blamed. */
BOOST_AUTO_TEST_CASE(a_library_of_the_loaded_version_that_is_of_no_use)
{
    const std::string again = "; install the driver's files again";
    const std::string whole = library_image("libcuda.so.1").bytes();
    auto foreign = library_image("libcuda.so.1");
    foreign.machine = EM_S390;
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "it is empty" + again},
        {whole.substr(0, whole.size() / 2), "it is cut short" + again},
        {"INPUT(libcuda.so.1)", "it is no ELF file" + again},
        {library_image("libcuda.so.1", true).bytes(), "it is for 32-bit programs"},
        {foreign.bytes(), "it is for another processor"},
    };
    for (const bool is_cached : {false, true})
        for (const auto &[bytes, why] : cases) {
            DriverHost host;
            host.library("usr/lib64", "libcuda");
            host.file("usr/lib64/" + versioned("libcuda"), bytes);
            host.cached("/usr/lib64/libcuda.so.1");
            if (is_cached)
                host.write_cache();
            BOOST_TEST(host.failure(libcuda).message == "'compute' needs 'libcuda.so.555.42.07', and '" +
                                                            host.path("usr/lib64/" + versioned("libcuda")) +
                                                            "' cannot be used: " + why);
        }
}

BOOST_AUTO_TEST_CASE(a_library_that_this_user_may_not_read)
{
    DriverHost host;
    host.library("usr/lib64", "libcuda");
    const std::string file = "usr/lib64/" + versioned("libcuda");
    // A socket cannot be opened by anybody, root included.
    std::filesystem::remove(host.path(file));
    BOOST_REQUIRE(::mknod(host.path(file).c_str(), S_IFSOCK | 0600, 0) == 0);
    BOOST_TEST(host.failure(libcuda).message ==
               "'compute' needs 'libcuda.so.555.42.07', and '" + host.path(file) +
                   "' cannot be used: it cannot be read (No such device or address); whoever runs containers "
                   "must be able to");
}

/** The driver for 32-bit programs alone, and that for others was updated: the latter is what has to be heard. */
BOOST_AUTO_TEST_CASE(another_machines_library_hides_no_other_version)
{
    DriverHost host;
    host.library("usr/lib64", "libcuda", false, "560.10.01");
    host.library("usr/lib", "libcuda", true);
    BOOST_TEST(host.failure(libcuda).says("there is 'libcuda.so.560.10.01'"));
    host.cached("/usr/lib64/libcuda.so.1");
    host.write_cache();
    BOOST_TEST(host.failure(libcuda).says("there is 'libcuda.so.560.10.01'"));
}

BOOST_AUTO_TEST_CASE(a_library_without_which_it_works_is_left_out_with_a_warning)
{
    DriverHost host;
    host.library("usr/lib64", "libcuda");
    host.file("usr/lib64/" + versioned("libnvidia-ptxjitcompiler"));
    host.file("usr/lib64/" + versioned("libnvidia-nvvm"), library_image("libnvidia-nvvm.so.4", true).bytes());
    host.file("usr/lib64/" + versioned("libnvidia-glcore")); // nobody asks for it
    BOOST_TEST(host.places(libcuda) == "/usr/lib64/" + versioned("libcuda"));
    BOOST_REQUIRE(host.notes.size() == 2U);
    for (const Note &note : host.notes)
        BOOST_TEST((note.level == LogLevel::Warning));
    BOOST_TEST(host.notes[1].text == "'" + host.path("usr/lib64/" + versioned("libnvidia-nvvm")) +
                                         "' is left out: it is for 32-bit programs");
    BOOST_TEST(host.notes[0].text == "'" + host.path("usr/lib64/" + versioned("libnvidia-ptxjitcompiler")) +
                                         "' is left out: it is empty; install the driver's files again");
    host.library("usr/lib32", "libcuda", true); // which has no libnvidia-nvvm for 32 bits
    static_cast<void>(host.places({Capability::Compute, Capability::Compat32}));
    BOOST_TEST(host.notes.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_cache_of_directories_that_are_gone_is_as_good_as_none)
{
    DriverHost host;
    host.library("usr/lib64", "libcuda");
    host.cached("/opt/gone/libcuda.so.1");
    host.write_cache();
    BOOST_TEST(host.places(libcuda) == "/usr/lib64/" + versioned("libcuda"));
}

BOOST_AUTO_TEST_CASE(a_cache_that_leads_elsewhere_has_to_be_made_again)
{
    DriverHost host;
    host.library("usr/lib64", "libcuda", false, "550.10.01");
    host.library("usr/lib/" + triplet, "libcuda");
    host.cached("/usr/lib64/libcuda.so.1");
    host.write_cache();
    BOOST_TEST(host.failure(libcuda).message ==
               "'compute' needs 'libcuda.so.555.42.07', which this host does not have; searched: '" +
                   host.path("usr/lib64") + "'; there is '" +
                   host.path("usr/lib/" + triplet + "/" + versioned("libcuda")) + "', where '" +
                   host.path("etc/ld.so.cache") + "' does not lead: run ldconfig on the host");
}

BOOST_AUTO_TEST_CASE(roots_whose_lib_is_no_link)
{
    DriverHost host;
    host.library("lib/" + triplet, "libcuda");
    BOOST_TEST(host.places(libcuda) == "/lib/" + triplet + "/" + versioned("libcuda"));
}

BOOST_AUTO_TEST_CASE(a_cache_that_cannot_be_used)
{
    DriverHost host;
    host.library("usr/lib64", "libcuda");
    const auto notes = [&] {
        Notes all;
        const Sysroot root(host.path());
        static_cast<void>(read_driver_files({root, "/"}, version, {{Capability::Compute}, false}, true, all));
        return all.empty() ? "" : all.front().text;
    };
    BOOST_TEST(notes() == "");
    host.file("etc/ld.so.cache", "no cache");
    BOOST_TEST(notes() ==
               "'" + host.path("etc/ld.so.cache") +
                   "' is ignored: it is no cache that glibc has written; the driver's libraries are "
                   "looked for in directories");
    std::filesystem::remove(host.path("etc/ld.so.cache"));
    host.directory("etc/ld.so.cache");
    BOOST_TEST(notes() == "cannot read '" + host.path("etc/ld.so.cache") +
                              "': it is no plain file; the driver's libraries are looked for in directories");
    std::filesystem::remove(host.path("etc/ld.so.cache"));
    host.link("etc/ld.so.cache", "ld.so.cache");
    BOOST_TEST(notes() == "");
}

BOOST_AUTO_TEST_SUITE_END()
