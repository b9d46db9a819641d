// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "cdi-devices/request/device_choice.h"
#include "cdi/spec_directories.h"
#include "support/expect.h"
#include "support/temp_directory.h"

BOOST_AUTO_TEST_SUITE(spec_directories)

using namespace ogh;
using namespace ogh::cdi;
using namespace ogh::cdi_devices;
using ogh::test::failure_of;
using ogh::test::TempDirectory;

namespace {

using Words = std::vector<std::string>;

std::string device(const std::string &name)
{
    return "{cdiVersion: 0.5.0, kind: v.com/c, devices: [{name: " + name +
           ", containerEdits: {env: [A=b]}}]}";
}

/** A host that has files of specifications. */
class Host final {
public:
    Host() { ::chmod(tree.path().c_str(), 0755); }

    /** The paths of those that are read. */
    Words read(const Words &directories)
    {
        notes.clear();
        files = read_directories(Sysroot(tree.path()), directories, {}, notes);
        Words paths;
        for (const SpecFile &file : files)
            paths.push_back(file.path);
        return paths;
    }

    /** The word about what is passed over, all that there is in /etc/cdi; "" if something is read. */
    std::string why_nothing()
    {
        const Words found = read({"/etc/cdi"});
        return found.empty() ? notes.at(0).text : "";
    }

    /** Why /etc/cdi is not used. */
    test::Failure why_not_used()
    {
        return failure_of([&] { read({"/etc/cdi"}); });
    }

    void change_mode(const std::string &path, mode_t mode) const
    {
        BOOST_REQUIRE(::chmod(tree.path(path).c_str(), mode) == 0);
    }

    void give_away(const std::string &path) const
    {
        BOOST_REQUIRE(::chown(tree.path(path).c_str(), 1000, 1000) == 0);
    }

    /** Which of them describes a device. */
    [[nodiscard]] std::string place_of(const std::string &name) const
    {
        const auto found = DeviceIndex(files).find({"v.com/c", name});
        return found ? found->file->path : "";
    }

    const TempDirectory tree;
    std::vector<SpecFile> files;
    Notes notes;
};

} // namespace

BOOST_AUTO_TEST_CASE(files_are_read_by_their_names_in_order)
{
    Host host;
    for (const char *name : {"b.json", "a.yaml", ".json", "x.yml", "x.JSON", "json", "x.json.bak"})
        host.tree.file("etc/cdi/" + std::string(name), device("a"));
    host.tree.directory("etc/cdi/directory.yaml");
    host.tree.file("etc/cdi/below/c.yaml", device("a"));
    host.tree.file("elsewhere/spec", device("b"));
    host.tree.link("etc/cdi/link.yaml", "../../elsewhere/spec");
    BOOST_TEST(host.read({"/etc/cdi", "/nowhere"}) ==
                   (Words{"/etc/cdi/.json", "/etc/cdi/a.yaml", "/etc/cdi/b.json", "/etc/cdi/link.yaml"}),
               boost::test_tools::per_element());
    BOOST_TEST(host.notes.empty());
}

BOOST_AUTO_TEST_CASE(a_bad_file_is_passed_over_with_a_word)
{
    Host host;
    host.tree.file("etc/cdi/a.yaml", device("a"));
    host.tree.file("etc/cdi/b.yaml", "{");
    host.tree.file("etc/cdi/c.yaml");
    host.tree.link("etc/cdi/d.yaml", "nowhere");
    host.tree.link("etc/cdi/e.yaml", ".");
    host.tree.file("etc/cdi/f.yaml", std::string(5U << 20U, ' '));
    ::mkfifo(host.tree.path("etc/cdi/g.yaml").c_str(), 0600);
    BOOST_TEST(host.read({"/etc/cdi"}) == Words{"/etc/cdi/a.yaml"}, boost::test_tools::per_element());
    BOOST_TEST(host.notes.size() == 6U);
    for (const Note &note : host.notes)
        BOOST_TEST(note.text.find(".yaml' is passed over: ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_later_directory_wins_and_one_that_is_given_twice_is_where_it_is_given_last)
{
    Host host;
    host.tree.file("one/a.yaml", device("a"));
    host.tree.file("two/a.yaml", device("a"));
    host.tree.link("alias", "one");
    host.read({"/one", "/two"});
    BOOST_TEST(host.place_of("a") == "/two/a.yaml");
    host.read({"/one", "/two", "/alias"});
    BOOST_TEST(host.place_of("a") == "/alias/a.yaml");
    BOOST_TEST(host.files.size() == 2U);
}

BOOST_AUTO_TEST_CASE(what_two_files_of_a_directory_have_is_nobodys_even_if_a_later_one_has_it_too)
{
    Host host;
    host.tree.file("one/a.yaml", device("a"));
    host.tree.file("one/b.yaml", device("a"));
    host.tree.file("two/a.yaml", device("a"));
    host.read({"/one", "/two"});
    BOOST_TEST(host.place_of("a") == "");
}

BOOST_AUTO_TEST_CASE(who_else_could_write_them_has_no_say)
{
    Host host;
    host.tree.file("etc/cdi/a.yaml", device("a"));
    host.change_mode("etc/cdi/a.yaml", 0664);
    BOOST_TEST(host.why_nothing().find("it may be written by others") != std::string::npos);
    host.change_mode("etc", 0775);
    BOOST_TEST((host.why_not_used().kind == ErrorKind::BrokenHost));
    host.change_mode("etc", 0755);
    host.change_mode("etc/cdi", 0777);
    BOOST_TEST((host.why_not_used().kind == ErrorKind::BrokenHost));
    BOOST_TEST(host.why_not_used().says("with CDI specifications is not used: it may be written"));
}

BOOST_AUTO_TEST_CASE(nor_has_who_could_write_where_a_link_leads)
{
    Host host;
    host.tree.file("elsewhere/spec.json", device("a"));
    host.tree.directory("etc/cdi");
    host.tree.link("etc/cdi/link.json", "../../elsewhere/spec.json");
    BOOST_TEST(host.why_nothing() == "");
    host.change_mode("elsewhere", 0777);
    BOOST_TEST(host.why_nothing().find("a directory on the way to it may be written") != std::string::npos);
    host.change_mode("elsewhere", 0755);
    host.change_mode("elsewhere/spec.json", 0666);
    BOOST_TEST(host.why_nothing().find("it may be written") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(nor_has_who_owns_them)
{
    if (::geteuid() != 0)
        return; // and can give nothing away
    Host host;
    host.tree.file("elsewhere/spec.json", device("a"));
    host.tree.directory("etc/cdi");
    host.tree.link("etc/cdi/link.json", "../../elsewhere/spec.json");
    host.give_away("elsewhere/spec.json");
    BOOST_TEST(host.why_nothing().find("it belongs to user 1000") != std::string::npos);
    host.tree.file("etc/cdi/a.json", device("a"));
    BOOST_TEST(host.why_nothing() == "");
    host.give_away("etc/cdi/a.json");
    BOOST_TEST(host.why_nothing().find("it belongs to user 1000") != std::string::npos);
    host.give_away("etc/cdi");
    BOOST_TEST((host.why_not_used().kind == ErrorKind::BrokenHost));
    BOOST_TEST(host.why_not_used().says("with CDI specifications is not used: it belongs to user 1000"));
}

BOOST_AUTO_TEST_SUITE_END()
