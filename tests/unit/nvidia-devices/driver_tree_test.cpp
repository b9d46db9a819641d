// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "edits/edits.h"
#include "nvidia-devices/plan/driver_tree.h"

BOOST_AUTO_TEST_SUITE(nvidia_devices_driver_tree)

using namespace ogh;
using namespace ogh::nvidia_devices;

namespace {

struct Host {
    Host()
    {
        tree.wanted = true;
        tree.version = "555.42.07";
        tree.record.capabilities = default_capabilities();
        library("libcuda", "libcuda.so.1");
        library("libnvidia-ml", "libnvidia-ml.so.1");
    }

    void library(const std::string &name, const std::string &soname, bool is_32 = false)
    {
        const std::string file = name + ".so.555.42.07";
        tree.files.libraries.push_back({file, "/usr/lib/" + file, soname, is_32});
    }

    void file(const std::string &tree_path, const std::string &standard_path)
    {
        tree.files.files.push_back({"/host/" + tree_path, tree_path, standard_path});
    }

    /** One that names libraries, in /etc/vulkan/icd.d. */
    void icd(const std::string &name, const std::string &text)
    {
        file("share/vulkan/icd.d/" + name, "/etc/vulkan/icd.d/" + name);
        tree.files.files.back().text = text;
    }

    /** Whether the container gets a file, in the tree and where programs look for it. */
    [[nodiscard]] bool has_icd(const std::string &name)
    {
        return link_at("/etc/vulkan/icd.d/" + name) == "/usr/local/nvidia/share/vulkan/icd.d/" + name;
    }

    [[nodiscard]] Edits plan()
    {
        Edits edits;
        notes.clear();
        plan_driver_tree(tree, image, edits, notes);
        return edits;
    }

    /** Where a link in the tree leads; "" if there is none. */
    [[nodiscard]] std::string link_in_tree(const std::string &path)
    {
        const Edits edits = plan();
        for (const LinkEdit &link : edits.tree->links) {
            if (link.container_path == "/usr/local/nvidia/" + path)
                return link.target;
        }
        return "";
    }

    /** The same for the image's own directories. */
    [[nodiscard]] std::string link_at(const std::string &path)
    {
        const Edits edits = plan();
        for (const LinkEdit &link : edits.links) {
            if (link.container_path == path)
                return link.target;
        }
        return "";
    }

    [[nodiscard]] std::string text(const std::string &path)
    {
        const Edits edits = plan();
        for (const TmpfsEdit::File &each : edits.tree->files) {
            if (each.path == path)
                return each.content;
        }
        return "none";
    }

    void graphics(std::set<unsigned> minors)
    {
        tree.record.capabilities.named.add(Capability::Graphics);
        tree.record.minors = std::move(minors);
    }

    DriverTree tree;
    Image image;
    Notes notes;
};

constexpr const char *profile = "share/nvidia/nvidia-application-profiles-rc.d/10-container.conf";

} // namespace

BOOST_FIXTURE_TEST_CASE(libraries_have_their_soname_and_a_development_name, Host)
{
    library("libnvidia-eglcore", "libnvidia-eglcore.so.555.42.07");
    library("libnvidia-odd", "");
    const Edits edits = plan();
    BOOST_REQUIRE(edits.tree);
    BOOST_TEST(edits.tree->container_path == "/usr/local/nvidia");
    BOOST_TEST((edits.tree->mounts.at(0) == MountEdit{"/usr/lib/libcuda.so.555.42.07",
                                                      "/usr/local/nvidia/lib64/libcuda.so.555.42.07",
                                                      Kind::File, true, false}));
    BOOST_TEST(link_in_tree("lib64/libcuda.so.1") == "libcuda.so.555.42.07");
    BOOST_TEST(link_in_tree("lib64/libcuda.so") == "libcuda.so.1");
    BOOST_TEST(link_in_tree("lib64/libnvidia-eglcore.so.555.42.07") == "");
    BOOST_TEST(link_in_tree("lib64/libnvidia-eglcore.so") == "libnvidia-eglcore.so.555.42.07");
    BOOST_TEST(link_in_tree("lib64/libnvidia-odd.so") == "libnvidia-odd.so.555.42.07");
}

/** As packages for RPM have them. A host's directory is not in the container. */
BOOST_FIXTURE_TEST_CASE(a_file_that_names_a_path_names_the_containers, Host)
{
    library("libGLX_nvidia", "libGLX_nvidia.so.0");
    icd("nvidia_icd.x86_64.json",
        R"({"file_format_version": "1.0.1", "ICD": {"library_path": "/usr/lib64/libGLX_nvidia.so.0"}})");
    BOOST_TEST(text("share/vulkan/icd.d/nvidia_icd.x86_64.json") == R"({
    "file_format_version": "1.0.1",
    "ICD": {
        "library_path": "/usr/local/nvidia/lib64/libGLX_nvidia.so.0"
    }
}
)");
    BOOST_TEST(has_icd("nvidia_icd.x86_64.json"));
    icd("nvidia.icd", "/usr/lib64/libcuda.so.555.42.07\n");
    BOOST_TEST(text("share/vulkan/icd.d/nvidia.icd") == "/usr/local/nvidia/lib64/libcuda.so.555.42.07\n");
    const Edits edits = plan();
    for (const MountEdit &mount : edits.tree->mounts)
        BOOST_TEST(!mount.container_path.ends_with("icd"), "of which two nothing is mounted");
    BOOST_TEST(notes.empty());
}

BOOST_FIXTURE_TEST_CASE(a_file_that_names_a_name_is_the_hosts, Host)
{
    icd("nvidia.icd", "libcuda.so.1\n");
    icd("odd.json", "{ no JSON");
    icd("other.json", R"({"layers": [{"library_path": "libcuda.so"}, {"name": "x"}], "library_path": 5})");
    for (const char *name : {"nvidia.icd", "odd.json", "other.json"}) {
        BOOST_TEST(text(std::string("share/vulkan/icd.d/") + name) == "none", name);
        BOOST_TEST(has_icd(name), name);
    }
}

BOOST_FIXTURE_TEST_CASE(a_file_whose_library_is_not_given_is_left_out, Host)
{
    icd("nvidia_layers.json",
        R"({"layers": [{"library_path": "libcuda.so.1"}, {"library_path": "/x/libnvidia-new.so.1"}]})");
    BOOST_TEST(!has_icd("nvidia_layers.json"));
    BOOST_REQUIRE(notes.size() == 1U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text == "'/host/share/vulkan/icd.d/nvidia_layers.json' is left out: it names "
                                "'/x/libnvidia-new.so.1', which the container does not get");
    library("libnvidia-new", "libnvidia-new.so.1", true);
    BOOST_TEST(!has_icd("nvidia_layers.json"), "for 32 bits it is of no use");
    library("libnvidia-new", "libnvidia-new.so.1");
    BOOST_TEST(has_icd("nvidia_layers.json"));
    tree.files.libraries.back().needed_glibc.add("GLIBC_2.38");
    image.glibc.emplace().add("GLIBC_2.36");
    BOOST_TEST(!has_icd("nvidia_layers.json"), "nor is it where its library needs a newer glibc");
}

BOOST_FIXTURE_TEST_CASE(what_the_image_has_of_another_driver_is_said, Host)
{
    image.own_tools = {
        {"/usr/bin/nvidia-smi", "535.104.05"}, {"/opt/nvidia-smi", ""}, {"/x/nvidia-smi", "555.42.07"}};
    static_cast<void>(plan());
    BOOST_REQUIRE(notes.size() == 2U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text ==
               "the image's own '/usr/bin/nvidia-smi' is found before the host's: it is the driver's of "
               "version 535.104.05, and this host has 555.42.07; remove from the image what belongs to "
               "the driver");
    BOOST_TEST(notes[1].text.find("of a driver whose version is not known") != std::string::npos);
    image.own_tools = {{"/usr/local/cuda/lib64/stubs/libcuda.so", ""}};
    static_cast<void>(plan());
    BOOST_REQUIRE(notes.size() == 1U);
    BOOST_TEST(notes[0].text.ends_with("remove from the image what belongs to the driver, or "
                                       "'/usr/local/cuda/lib64/stubs' from LD_LIBRARY_PATH"));
}

BOOST_FIXTURE_TEST_CASE(libraries_for_32_bits_have_a_directory_of_their_own, Host)
{
    library("libcuda", "libcuda.so.1", true);
    BOOST_TEST(link_in_tree("lib/libcuda.so.1") == "libcuda.so.555.42.07");
    BOOST_TEST(plan().tree->mounts.back().container_path == "/usr/local/nvidia/lib/libcuda.so.555.42.07");
}

BOOST_FIXTURE_TEST_CASE(the_loader_cache_is_told_which_directories_there_are, Host)
{
    BOOST_TEST(text(".oci-gpu-hooks/ld-directories") == "lib64\n");
    library("libcuda", "libcuda.so.1", true);
    BOOST_TEST(text(".oci-gpu-hooks/ld-directories") == "lib64\nlib\n");
    tree.files.libraries.clear();
    BOOST_TEST(text(".oci-gpu-hooks/ld-directories") == "");
}

BOOST_FIXTURE_TEST_CASE(any_vendors_library_is_nvidias, Host)
{
    library("libGLX_nvidia", "libGLX_nvidia.so.0");
    BOOST_TEST(link_in_tree("lib64/libGLX_indirect.so.0") == "libGLX_nvidia.so.555.42.07");
}

BOOST_FIXTURE_TEST_CASE(programs_are_linked_where_path_lacks_the_tree, Host)
{
    file("bin/nvidia-smi", "/usr/bin/nvidia-smi");
    for (const char *path : {"", "/usr/bin:/bin", "/usr/local/nvidia", "/usr/local/nvidia/bin/x:/bin"}) {
        image.path = path;
        BOOST_TEST(link_at("/usr/bin/nvidia-smi") == "/usr/local/nvidia/bin/nvidia-smi", path);
    }
    for (const char *path :
         {"/usr/local/nvidia/bin:/usr/bin", "/bin:/usr/local/nvidia/bin", "/usr/local/nvidia/bin/"}) {
        image.path = path;
        BOOST_TEST(link_at("/usr/bin/nvidia-smi") == "", path);
    }
}

BOOST_FIXTURE_TEST_CASE(links_in_the_image_are_made_where_it_has_nothing, Host)
{
    file("share/OpenCL/vendors/nvidia.icd", "/etc/OpenCL/vendors/nvidia.icd");
    const Edits edits = plan();
    BOOST_REQUIRE(edits.links.size() == 1U);
    BOOST_TEST(edits.links[0].only_if_absent);
    BOOST_TEST(edits.links[0].target == "/usr/local/nvidia/share/OpenCL/vendors/nvidia.icd");
}

BOOST_FIXTURE_TEST_CASE(plugins_go_where_the_image_has_its_own, Host)
{
    graphics({});
    library("libnvidia-allocator", "libnvidia-allocator.so.1");
    const std::string allocator = "/usr/local/nvidia/lib64/libnvidia-allocator.so.1";
    BOOST_TEST(link_at("/usr/lib64/gbm/nvidia-drm_gbm.so") == allocator);
    image.library_directory = "/usr/lib/x86_64-linux-gnu";
    BOOST_TEST(link_at("/usr/lib/x86_64-linux-gnu/gbm/nvidia-drm_gbm.so") == allocator);
}

BOOST_FIXTURE_TEST_CASE(the_profile_names_the_containers_gpus, Host)
{
    BOOST_TEST(text(profile) == "none");
    graphics({0, 5, 63, 64});
    BOOST_TEST(text(profile) ==
               "{\"profiles\": [{\"name\": \"_container_\", \"settings\": [\"EGLVisibleDGPUDevices\", "
               "0x8000000000000021]}], \"rules\": [{\"pattern\": [], \"profile\": \"_container_\"}]}\n");
    BOOST_TEST(link_at("/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf") ==
               std::string("/usr/local/nvidia/") + profile);
    tree.record.minors.clear();
    BOOST_TEST(text(profile).find("0x0]") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(musl_gets_nothing_but_a_warning, Host)
{
    image.has_only_musl = true;
    file("bin/nvidia-smi", "/usr/bin/nvidia-smi");
    BOOST_TEST(plan().empty());
    BOOST_REQUIRE(notes.size() == 1U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
}

BOOST_FIXTURE_TEST_CASE(an_image_of_another_processor_gets_nothing_but_a_warning, Host)
{
    image.is_foreign = true;
    BOOST_TEST(plan().empty());
    BOOST_REQUIRE(notes.size() == 1U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text ==
               "the image's programs are for another processor than this host's: the driver's "
               "libraries are not put in");
    image.has_loader_32 = true;
    BOOST_TEST(plan().empty());
    BOOST_TEST(notes[0].text.find("'compat32'") != std::string::npos);
    tree.record.capabilities = {{Capability::Compute, Capability::Compat32}, false};
    BOOST_TEST(!plan().empty());
    BOOST_TEST(notes.empty());
    image.has_loader_32 = false;
    BOOST_TEST(plan().empty());
}

BOOST_FIXTURE_TEST_CASE(programs_that_cannot_be_started_are_said, Host)
{
    for (const char *name : {"nvidia-smi", "nvidia-debugdump", "nvidia-cuda-mps-control"}) {
        file(std::string("bin/") + name, std::string("/usr/bin/") + name);
        tree.files.files.back().interpreter = "/nix/store/0a1b/ld.so";
    }
    tree.files.files.back().interpreter = "/lib64/ld-linux-x86-64.so.2";
    static_cast<void>(plan());
    BOOST_TEST(notes.empty());
    image.lacking_interpreters = {"/nix/store/0a1b/ld.so"};
    static_cast<void>(plan());
    BOOST_REQUIRE(notes.size() == 1U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text ==
               "'nvidia-smi', 'nvidia-debugdump' of the host cannot be started in this image, "
               "which has no '/nix/store/0a1b/ld.so'");
}

BOOST_FIXTURE_TEST_CASE(what_the_images_glibc_is_too_old_for_is_left_out, Host)
{
    graphics({});
    library("libnvidia-allocator", "libnvidia-allocator.so.1");
    tree.files.libraries.back().needed_glibc.add("GLIBC_2.38");
    tree.files.libraries.front().needed_glibc.add("GLIBC_2.36");
    BOOST_TEST(link_in_tree("lib64/libnvidia-allocator.so.1") != ""); // as nothing is known of the image
    BOOST_TEST(notes.empty());
    image.glibc.emplace().add("GLIBC_2.36");
    BOOST_TEST(plan().tree->mounts.size() == 2U);
    BOOST_TEST(link_in_tree("lib64/libcuda.so.1") != "");
    BOOST_TEST(link_in_tree("lib64/libnvidia-allocator.so.1") == "");
    BOOST_TEST(link_at("/usr/lib64/gbm/nvidia-drm_gbm.so") == "");
    BOOST_REQUIRE(notes.size() == 1U);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text == "'libnvidia-allocator.so.555.42.07' of the host is left out: it needs "
                                "'GLIBC_2.38', and the image has glibc 2.36");
    image.glibc->add("GLIBC_2.38");
    BOOST_TEST(plan().tree->mounts.size() == 3U);
}

BOOST_FIXTURE_TEST_CASE(what_is_there_is_not_brought_again, Host)
{
    tree.is_there = true;
    file("bin/nvidia-smi", "/usr/bin/nvidia-smi");
    const Edits edits = plan();
    BOOST_TEST(!edits.tree.has_value());
    BOOST_TEST(edits.links.size() == 1U);
    tree.wanted = false;
    BOOST_TEST(plan().empty());
}

BOOST_FIXTURE_TEST_CASE(newer_libraries_of_the_image_win, Host)
{
    image.compat = CudaCompat{"575.51.03", std::nullopt, {{"libcuda.so.1", "libcuda.so.575.51.03"}}};
    BOOST_TEST(link_in_tree("lib64/libcuda.so.1") == "/usr/local/cuda/compat/libcuda.so.575.51.03");
    BOOST_TEST(link_in_tree("lib64/libcuda.so") == "libcuda.so.1");
    BOOST_TEST(link_in_tree("lib64/libnvidia-ml.so.1") == "libnvidia-ml.so.555.42.07");
    BOOST_TEST(notes.size() == 1U);
    image.own_tools = {{"/usr/local/cuda/compat/libcuda.so.1", "575.51.03"}}; // which is what it is for
    static_cast<void>(plan());
    BOOST_TEST(notes.size() == 1U);
    image.compat->version = "550.99.99";
    BOOST_TEST(link_in_tree("lib64/libcuda.so.1") == "libcuda.so.555.42.07");
    BOOST_TEST(notes.size() == 1U); // and of no use then
    image.own_tools.clear();
    BOOST_TEST(link_in_tree("lib64/libcuda.so.1") == "libcuda.so.555.42.07");
    BOOST_TEST(notes.empty());
}

BOOST_FIXTURE_TEST_CASE(without_cuda_the_images_libraries_count_for_nothing, Host)
{
    image.compat = CudaCompat{"575.51.03", std::nullopt, {{"libcuda.so.1", "libcuda.so.575.51.03"}}};
    tree.record.capabilities = {{Capability::Utility}};
    BOOST_TEST(link_in_tree("lib64/libcuda.so.1") == "libcuda.so.555.42.07");
}

BOOST_FIXTURE_TEST_CASE(the_hosts_own_library_is_not_there_then, Host)
{
    image.compat = CudaCompat{"575.51.03", std::nullopt, {{"libcuda.so.1", "libcuda.so.575.51.03"}}};
    const Edits edits = plan();
    BOOST_REQUIRE(edits.tree->mounts.size() == 1U);
    BOOST_TEST(edits.tree->mounts[0].container_path.ends_with("/libnvidia-ml.so.555.42.07"));
}

BOOST_FIXTURE_TEST_CASE(libraries_for_32_bits_stay_the_hosts, Host)
{
    library("libcuda", "libcuda.so.1", true);
    image.compat = CudaCompat{"575.51.03", std::nullopt, {{"libcuda.so.1", "libcuda.so.575.51.03"}}};
    BOOST_TEST(link_in_tree("lib/libcuda.so.1") == "libcuda.so.555.42.07");
}

BOOST_FIXTURE_TEST_CASE(an_image_cannot_take_the_name_of_a_file, Host)
{
    image.compat = CudaCompat{"575.51.03", std::nullopt, {{"libcuda.so.555.42.07", "libcuda.so.575.51.03"}}};
    BOOST_TEST(link_in_tree("lib64/libcuda.so.555.42.07") == "");
    image.compat->libraries = {{"libcuda.so", "libcuda.so.575.51.03"}};
    BOOST_TEST(link_in_tree("lib64/libcuda.so") == "/usr/local/cuda/compat/libcuda.so.575.51.03");
}

BOOST_AUTO_TEST_SUITE_END()
