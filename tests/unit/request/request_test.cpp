// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <boost/test/unit_test.hpp>

#include "hook/options.h"
#include "request/request.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(request)

using namespace ogh;
using ogh::test::failure_of;

namespace {

const std::string key = "io.oci-gpu-hooks.mount-srv";

struct Case {
    Config config;
    CommonOptions options;

    [[nodiscard]] std::optional<Request> ask(const char *hook = "mount-srv") const
    {
        Notes notes;
        return read_request(hook, &config, options, notes);
    }

    /** The value that counts, "-" if there is none. */
    [[nodiscard]] std::string value() const
    {
        const auto asked = ask();
        return asked ? asked->what.value : "-";
    }

    [[nodiscard]] test::Failure failure() const
    {
        return failure_of([&] { static_cast<void>(ask()); });
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_container_that_does_not_ask_gets_nothing)
{
    Case c;
    BOOST_TEST(c.value() == "-");
    c.config.environment = {"OCI_GPU_HOOKS_MOUNT_SRV=all", "NVIDIA_VISIBLE_DEVICES=all"};
    BOOST_TEST(c.value() == "-");
    c.config.annotations = {{"evilio.oci-gpu-hooks.mount-srv", "all"}, {"io.oci-gpu-hooksXmount-srv", "all"}};
    BOOST_TEST(c.value() == "-");
}

BOOST_AUTO_TEST_CASE(what_cannot_ask_is_told_by_its_bytes)
{
    CommonOptions options;
    options.plugin.names.directories = {"/var/run/a-plugins-devices/"};
    const auto may = [&](const char *text) { return may_ask(text, options); };
    for (const char *quiet : {"", R"({"annotations":{"org.example":"io"}})",
                              R"({"process":{"env":["OCI_GPU_HOOKS_MOUNT_SRV=all","A=\"]}})"})
        BOOST_TEST(!may(quiet), quiet);
    for (const char *text : {R"({"annotations":{"io.oci-gpu-hooks.misspelt":""}})",
                             R"({"annotations":{"\u0069o.oci-gpu-hooks.mount-srv":"all"}})",
                             R"({"mounts":[{"destination":"\/var"}]})",
                             R"({"mounts":[{"destination":"/var/run/a-plugins-devices/0"}]})"})
        BOOST_TEST(may(text), text);
    options.opt_in = OptIn::Environment;
    BOOST_TEST(may(R"({"process":{"env":["OCI_GPU_HOOKS_MOUNT_SRV=all"]}})"));
    BOOST_TEST(!may("{}"));
    options.request = "all";
    BOOST_TEST(may("{}"));
    options.request.reset();
    options.plugin.from = {PluginSource::Mounts};
    BOOST_TEST(may("{}"));
    options.plugin.from.clear();
    options.observers = {"org.example=x"};
    BOOST_TEST(may("{}"));
}

BOOST_AUTO_TEST_CASE(the_annotation_asks)
{
    Case c;
    c.config.annotations = {{key, "all"}};
    BOOST_TEST(c.value() == "all");
    BOOST_TEST(c.ask()->what.origin == "annotation 'io.oci-gpu-hooks.mount-srv'");
}

BOOST_AUTO_TEST_CASE(another_hooks_annotation_is_not_ours)
{
    Case c;
    c.config.annotations = {{"io.oci-gpu-hooks.nvidia-devices", "all"},
                            {"io.oci-gpu-hooks.nvidia-devices.capabilities", "all"}};
    BOOST_TEST(c.value() == "-");
}

BOOST_AUTO_TEST_CASE(the_keys_of_a_hook_are_known_to_all)
{
    for (const char *name : {"nvidia-devices.capabilities", "nvidia-devices.lease", "nvidia-devices.wait",
                             "amd-kfd.lease/train", "amd-kfd.wait/other"}) {
        Case c;
        c.config.annotations = {{"io.oci-gpu-hooks." + std::string(name), "shared"},
                                {"io.kubernetes.container.name", "train"}};
        BOOST_TEST(c.value() == "-", name);
    }
}

BOOST_AUTO_TEST_CASE(an_empty_value_is_an_error)
{
    for (const char *value : {"", " ", "\t"}) {
        Case c;
        c.config.annotations = {{key, value}};
        BOOST_TEST((c.failure().kind == ErrorKind::Usage));
        BOOST_TEST(c.failure().says("is empty"));
    }
}

BOOST_AUTO_TEST_CASE(a_value_without_end_is_an_error)
{
    Case c;
    c.config.annotations = {{key, std::string(max_request_size + 1, 'a')}};
    BOOST_TEST((c.failure().kind == ErrorKind::Usage));
    BOOST_TEST(c.failure().message.size() < 500);
}

BOOST_AUTO_TEST_CASE(a_misspelt_key_is_an_error_that_lists_the_known_ones)
{
    for (const char *name : {"mount-svr", "mount-srv=x", "mount-srv.lease", "mount-srv/", "/train", "",
                             "mount-srv ", "Mount-srv", "amd-kfd.capabilities"}) {
        Case c;
        c.config.annotations = {{"io.oci-gpu-hooks." + std::string(name), "all"}};
        BOOST_TEST((c.failure().kind == ErrorKind::Usage), name);
        BOOST_TEST(c.failure().says("'mount-srv', 'nvidia-devices'"), c.failure().message);
    }
}

BOOST_AUTO_TEST_CASE(a_misspelt_key_is_an_error_beside_a_right_one_and_a_request_of_the_host)
{
    Case c;
    c.config.annotations = {{key, "all"}, {"io.oci-gpu-hooks.mount-svr", "x"}};
    BOOST_TEST((c.failure().kind == ErrorKind::Usage));
    c.options.request.emplace("all");
    BOOST_TEST((c.failure().kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_CASE(in_a_pod_the_containers_own_key_wins)
{
    for (const char *name_key : {"io.kubernetes.container.name", "io.kubernetes.cri.container-name"}) {
        Case c;
        c.config.annotations = {{key, "a"}, {key + "/train", "b"}, {name_key, "train"}};
        BOOST_TEST(c.value() == "b");
        c.config.annotations[name_key] = "sidecar";
        BOOST_TEST(c.value() == "a");
        c.config.annotations.erase(key);
        BOOST_TEST(c.value() == "-");
    }
}

BOOST_AUTO_TEST_CASE(a_key_for_one_container_needs_that_containers_name)
{
    Case c;
    c.config.annotations = {{key + "/train", "b"}};
    BOOST_TEST((c.failure().kind == ErrorKind::Usage));
    BOOST_TEST(c.failure().says("name is not known"));
}

BOOST_AUTO_TEST_CASE(a_dash_is_as_if_the_annotation_were_not_there)
{
    for (const char *name :
         {"mount-srv", "mount-srv/train", "mount-svr", "nvidia-devices.lease", "later.key/x"}) {
        Case c;
        c.config.annotations = {{"io.oci-gpu-hooks." + std::string(name), "-"},
                                {"io.kubernetes.container.name", "train"}};
        BOOST_TEST(!c.ask().has_value(), name);
        c.options.opt_in = OptIn::Environment;
        c.config.environment = {"OCI_GPU_HOOKS_MOUNT_SRV=a"};
        BOOST_TEST(c.value() == "a", name);
        c.config.environment.clear();
        c.options.opt_in = OptIn::Always;
        c.options.request.emplace("b");
        BOOST_TEST(c.value() == "b", name);
    }
}

BOOST_AUTO_TEST_CASE(what_is_said_besides_is_read_with_the_request)
{
    Case c;
    c.config.annotations = {{"io.oci-gpu-hooks.nvidia-devices", "0"},
                            {"io.oci-gpu-hooks.nvidia-devices.lease", "exclusive"},
                            {"io.oci-gpu-hooks.nvidia-devices.wait", "-"},
                            {"io.oci-gpu-hooks.amd-kfd.wait", "5m"}};
    const auto asked = c.ask("nvidia-devices");
    BOOST_TEST((asked->asker == Asker::Annotation));
    BOOST_REQUIRE(asked->detail("lease") != nullptr);
    BOOST_TEST(asked->detail("lease")->value == "exclusive");
    BOOST_TEST(asked->details.size() == 1U);
    c.options.request.emplace("1");
    BOOST_TEST((c.ask("nvidia-devices")->asker == Asker::Device));
    BOOST_TEST(c.ask("nvidia-devices")->details.empty());
    c.options.opt_in = OptIn::Always;
    c.config.annotations.erase("io.oci-gpu-hooks.nvidia-devices");
    BOOST_TEST((c.ask("nvidia-devices")->asker == Asker::Always));
    BOOST_TEST(c.ask("nvidia-devices")->details.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_dash_for_one_container_leaves_the_key_of_all)
{
    Case c;
    c.config.annotations = {{key, "a"}, {key + "/train", "-"}, {"io.kubernetes.container.name", "train"}};
    BOOST_TEST(c.value() == "a");
}

BOOST_AUTO_TEST_CASE(what_only_resembles_a_dash_is_a_value)
{
    for (const char *value : {"--", "- ", " -", "-a", "a-"}) {
        Case c;
        c.config.annotations = {{key, value}};
        BOOST_TEST(c.value() == value);
    }
}

BOOST_AUTO_TEST_CASE(in_a_container_that_podman_made_a_key_with_a_name_does_not_count)
{
    // The former podman writes after what an image says, the latter an image can take away.
    for (const auto &[podman_key, value] : std::map<std::string, std::string>{
             {"io.podman.annotations.privileged", "FALSE"}, {"io.container.manager", "libpod"}}) {
        Case c;
        c.config.annotations = {{key, "-"},
                                {key + "/x", "all"},
                                {"io.kubernetes.container.name", "x"},
                                {"io.kubernetes.cri.container-name", "x"},
                                {"io.container.manager", "cri-o"}};
        c.config.annotations[podman_key] = value;
        BOOST_TEST(!c.ask().has_value(), podman_key);
        c.config.annotations[key] = "a";
        BOOST_TEST(c.value() == "a", podman_key);
        c.config.annotations.erase(key);
        BOOST_TEST((c.failure().kind == ErrorKind::Usage), podman_key);
        BOOST_TEST(c.failure().says("podman made it"), c.failure().message);
    }
}

BOOST_AUTO_TEST_CASE(in_a_pod_an_annotation_counts_only_with_a_limit)
{
    for (const char *pod : {"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace"}) {
        Case c;
        c.config.annotations = {{pod, "ml"}};
        BOOST_TEST(c.value() == "-", "not asking costs nothing");
        c.config.annotations[key] = "a";
        BOOST_TEST((c.failure().kind == ErrorKind::Denied));
        BOOST_TEST(c.failure().says(std::string("--only ") + pod + "=NAMESPACE"), c.failure().message);
        c.config.annotations["io.container.manager"] = "libpod";
        BOOST_TEST((c.failure().kind == ErrorKind::Denied), "whatever else the pod says");
        for (bool CommonOptions::*const enough :
             {&CommonOptions::has_limit, &CommonOptions::needs_no_limit}) {
            Case limited = c;
            limited.options.*enough = true;
            BOOST_TEST(limited.value() == "a");
        }
        for (const char *nothing : {"none", "-"}) {
            c.config.annotations[key] = nothing;
            BOOST_TEST(c.value() == nothing); // also where there is no value
        }
        const std::string gpus = "io.oci-gpu-hooks.nvidia-devices";
        c.config.annotations = {{pod, "ml"}, {gpus, "none"}};
        BOOST_TEST(c.ask("nvidia-devices").has_value());
        c.config.annotations[gpus + ".lease"] = "exclusive";
        BOOST_TEST(
            (failure_of([&] { static_cast<void>(c.ask("nvidia-devices")); }).kind == ErrorKind::Denied));
    }
}

BOOST_AUTO_TEST_CASE(what_a_refused_pod_needs_is_one_command_with_the_options_that_are_there)
{
    Case c;
    c.config.annotations = {{key, "a"}, {"io.kubernetes.pod.namespace", "ml"}};
    BOOST_TEST(c.failure().says("example: oci-gpu-hooks install --engine crio mount-srv --only "
                                "io.kubernetes.pod.namespace=NAMESPACE"),
               c.failure().message);
    Case other;
    other.config.annotations = {{key, "a"}, {"io.kubernetes.cri.sandbox-namespace", "ml"}};
    BOOST_TEST(other.failure().says(
                   "example: oci-gpu-hooks install --engine containerd --runtime NAME mount-srv --only "
                   "io.kubernetes.cri.sandbox-namespace=NAMESPACE"),
               other.failure().message);
    c.options.words = {"--source-dir", "/data"};
    BOOST_TEST(c.failure().says("mount-srv '--source-dir' '/data' --only"), c.failure().message);
}

BOOST_AUTO_TEST_CASE(in_a_pod_the_host_and_the_environment_need_no_limit)
{
    Case c;
    c.config.annotations = {{"io.kubernetes.pod.namespace", "ml"}};
    c.config.environment = {"OCI_GPU_HOOKS_MOUNT_SRV=a"};
    c.options.opt_in = OptIn::Environment;
    BOOST_TEST(c.value() == "a");
    c.options.opt_in = OptIn::Always;
    c.options.request.emplace("b");
    BOOST_TEST((c.failure().kind == ErrorKind::Denied), "what its author asks beside the host does");
    c.options.has_limit = true;
    BOOST_TEST(c.value() == "a");
    c.options.has_limit = false;
    c.config.environment.clear();
    BOOST_TEST(c.value() == "b");
}

BOOST_AUTO_TEST_CASE(the_environment_asks_only_where_the_host_says_so)
{
    Case c;
    c.config.environment = {"OCI_GPU_HOOKS_MOUNT_SRV=a"};
    c.options.opt_in = OptIn::Environment;
    BOOST_TEST(c.value() == "a");
    c.config.annotations = {{key, "b"}};
    BOOST_TEST(c.value() == "b");
    c.config = {};
    c.config.environment = {"OCI_GPU_HOOKS_MOUNT_SRV="};
    BOOST_TEST((c.failure().kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_CASE(variables_are_named_after_keys)
{
    Case c;
    c.options.opt_in = OptIn::Environment;
    c.config.environment = {"OCI_GPU_HOOKS_NVIDIA_DEVICES=0",
                            "OCI_GPU_HOOKS_NVIDIA_DEVICES_CAPABILITIES=compute"};
    BOOST_TEST(c.ask("nvidia-devices")->detail("capabilities")->value == "compute");
}

BOOST_AUTO_TEST_CASE(the_hosts_request_alone_is_the_opt_in)
{
    Case c;
    c.options.request.emplace("models");
    BOOST_TEST(c.value() == "models");
    c.config.annotations = {{key, "datasets"}};
    BOOST_TEST(c.value() == "models");
    c.options.request.emplace("");
    BOOST_TEST((c.failure().kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_CASE(always_is_for_every_container_that_does_not_ask_itself)
{
    Case c;
    c.options.opt_in = OptIn::Always;
    c.options.request.emplace("models");
    BOOST_TEST(c.value() == "models");
    c.config.environment = {"OCI_GPU_HOOKS_MOUNT_SRV=outputs",
                            "OCI_GPU_HOOKS_NVIDIA_DEVICES_LEASE=exclusive"};
    BOOST_TEST(c.value() == "outputs");
    BOOST_TEST((c.ask()->asker == Asker::Environment));
    c.config.annotations = {{key, "datasets"}};
    BOOST_TEST(c.value() == "datasets");
    BOOST_TEST(c.ask("nvidia-devices")->detail("lease")->value == "exclusive");
}

BOOST_AUTO_TEST_CASE(concourses_resource_steps_are_left_out_whoever_asks)
{
    struct Way {
        OptIn opt_in;
        const char *request;
        const char *variable;
        const char *annotation;
        bool asks;
    };
    const std::vector<Way> ways{
        {OptIn::Always, "a", "", "", false},     {OptIn::Always, "a", "b", "", true},
        {OptIn::Always, "a", "", "b", true},     {OptIn::Environment, "", "b", "", true},
        {OptIn::Environment, "", "", "", false}, {OptIn::Annotation, "", "", "b", true},
        {OptIn::Annotation, "", "b", "", false}, {OptIn::Annotation, "a", "", "", false}};
    for (const Way &way : ways) {
        Case c;
        c.options.opt_in = way.opt_in;
        if (*way.request != '\0')
            c.options.request.emplace(way.request);
        if (*way.variable != '\0')
            c.config.environment = {std::string("OCI_GPU_HOOKS_MOUNT_SRV=") + way.variable};
        if (*way.annotation != '\0')
            c.config.annotations = {{key, way.annotation}};
        c.config.program = "/tmp/gdn-init";
        for (const char *volume : {"/tmp/build/put", "/tmp/build/run"}) {
            c.config.binds = {BindMount{volume}};
            Notes notes;
            BOOST_TEST(!read_request("mount-srv", &c.config, c.options, notes));
            BOOST_REQUIRE(notes.size() == 1);
            const bool is_put = std::string_view(volume).ends_with("put");
            BOOST_TEST((notes[0].level == LogLevel::Warning) ==
                       (way.asks || (!is_put && way.opt_in == OptIn::Always)));
        }
    }
}

BOOST_AUTO_TEST_CASE(always_leaves_out_no_task_whatever_its_environment)
{
    Case c;
    c.options.opt_in = OptIn::Always;
    c.options.request.emplace("models");
    c.config.environment = {"PATH=/bin", "BUILD_TYPE=Release", "BUILD_TEAM_NAME=main"};
    BOOST_TEST(c.value() == "models");
    c.config.program = "/tmp/gdn-init";
    c.config.binds = {BindMount{"/scratch"}, BindMount{"/tmp/build/0123abcd"}};
    BOOST_TEST(c.value() == "models");
}

BOOST_AUTO_TEST_CASE(a_container_of_concourse_that_is_like_no_step_is_not_left_out_silently)
{
    Case c;
    c.options.opt_in = OptIn::Always;
    c.options.request.emplace("models");
    c.config.program = "/tmp/gdn-init";
    c.config.binds = {BindMount{"/tmp/build/put"}, BindMount{"/tmp/build/0123abcd"}};
    Notes notes;
    BOOST_TEST(!read_request("mount-srv", &c.config, c.options, notes));
    BOOST_REQUIRE(notes.size() == 1);
    BOOST_TEST((notes[0].level == LogLevel::Warning));
    BOOST_TEST(notes[0].text.starts_with("left out: "));
}

// printf %s abc | sha256sum
const std::string line_for_abc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad nightly --allow models --max-devices 1";
const std::string line_for_directories = line_for_abc + " --for mount-srv";

BOOST_AUTO_TEST_CASE(with_a_key_file_the_environment_needs_a_key)
{
    Case c;
    c.options.opt_in = OptIn::Environment;
    c.options.key_file = "/etc/keys";
    c.options.keys.emplace(line_for_directories);
    BOOST_TEST(c.value() == "-");
    c.config.environment = {"OCI_GPU_HOOKS_MOUNT_SRV=all"};
    BOOST_TEST((c.failure().kind == ErrorKind::Denied));
    BOOST_TEST(c.failure().says("this container has none"), c.failure().message);
    c.config.environment.emplace_back("OCI_GPU_HOOKS_KEY=");
    BOOST_TEST((c.failure().kind == ErrorKind::Denied));
    c.config.environment.back() = "OCI_GPU_HOOKS_KEY=guessed";
    BOOST_TEST((c.failure().kind == ErrorKind::Denied));
    BOOST_TEST(c.failure().says("is not in --key-file"), c.failure().message);
    BOOST_TEST((!c.failure().says("guessed") && !c.failure().says("ba7816bf")), c.failure().message);
    c.config.environment.back() = "OCI_GPU_HOOKS_KEY=abc";
    BOOST_TEST(c.value() == "all");
    BOOST_TEST(c.ask()->what.origin ==
               "environment variable 'OCI_GPU_HOOKS_MOUNT_SRV' with the key 'nightly'");
    BOOST_TEST(c.ask()->limits.allow.value() == "models");
    BOOST_TEST(c.ask()->limits.max_devices.value() == 1);
}

BOOST_AUTO_TEST_CASE(none_counts_without_a_key)
{
    Case c;
    c.options.opt_in = OptIn::Environment;
    c.options.key_file = "/etc/keys";
    c.options.keys.emplace(line_for_directories);
    // The second variable may be the image's.
    c.config.environment = {"OCI_GPU_HOOKS_MOUNT_SRV= none", "OCI_GPU_HOOKS_MOUNT_SRV_IDMAP=all"};
    BOOST_TEST((c.ask()->asker == Asker::Environment));
    BOOST_TEST(c.ask()->details.empty());
    c.config.environment.emplace_back("OCI_GPU_HOOKS_KEY=guessed");
    BOOST_TEST((c.ask()->asker == Asker::Environment));
    c.config.environment.back() = "OCI_GPU_HOOKS_KEY=abc";
    BOOST_TEST((c.ask()->asker == Asker::Key));
    c.config.environment = {"OCI_GPU_HOOKS_MOUNT_SRV=none,a"};
    BOOST_TEST((c.failure().kind == ErrorKind::Denied));
}

BOOST_AUTO_TEST_CASE(a_key_serves_no_hook_but_those_of_its_line)
{
    Case c;
    c.options.opt_in = OptIn::Environment;
    c.options.key_file = "/etc/keys";
    c.options.keys.emplace(line_for_abc);
    c.config.environment = {"OCI_GPU_HOOKS_MOUNT_SRV=all", "OCI_GPU_HOOKS_NVIDIA_DEVICES=0",
                            "OCI_GPU_HOOKS_NVIDIA_DEVICES_LEASE=shared", "OCI_GPU_HOOKS_KEY=abc"};
    BOOST_TEST((c.failure().kind == ErrorKind::Denied));
    BOOST_TEST(c.failure().says("the line 'nightly' of --key-file does not serve this hook, which takes "
                                "'--for mount-srv'"),
               c.failure().message);
    BOOST_TEST((c.ask("nvidia-devices")->asker == Asker::Key));
    BOOST_TEST(c.ask("nvidia-devices")->what.value == "0");
    BOOST_TEST(c.ask("nvidia-devices")->detail("lease")->value == "shared");
    c.options.keys.emplace(line_for_directories);
    BOOST_TEST(c.value() == "all");
    const auto ask_for_gpus = [&] { static_cast<void>(c.ask("nvidia-devices")); };
    BOOST_TEST(failure_of(ask_for_gpus).says("which takes '--for nvidia-devices'"));
    c.config.environment[1].clear();
    c.config.annotations = {{"io.oci-gpu-hooks.nvidia-devices", "0"}};
    BOOST_TEST((failure_of(ask_for_gpus).kind == ErrorKind::Denied));
    BOOST_TEST(failure_of(ask_for_gpus).says("which takes '--for nvidia-devices'"), "what is said besides");
}

BOOST_AUTO_TEST_CASE(every_variable_needs_the_key_and_an_annotation_none)
{
    Case c;
    c.options.opt_in = OptIn::Environment;
    c.options.key_file = "/etc/keys";
    c.options.keys.emplace(line_for_abc);
    c.config.environment = {"OCI_GPU_HOOKS_NVIDIA_DEVICES_CAPABILITIES=all"};
    c.config.annotations = {{"io.oci-gpu-hooks.nvidia-devices", "0"}};
    BOOST_TEST((failure_of([&] { static_cast<void>(c.ask("nvidia-devices")); }).kind == ErrorKind::Denied));
    BOOST_TEST(needs_keys("nvidia-devices", c.config, c.options));
    BOOST_TEST(!needs_keys("mount-srv", c.config, c.options));
    c.config.program = "/tmp/gdn-init";
    BOOST_TEST(!needs_keys("nvidia-devices", c.config, c.options), "a check, which is left out");
    BOOST_TEST(!c.ask("nvidia-devices"));
    c.config.program.clear();
    c.config.annotations = {{key, "models"}};
    BOOST_TEST(c.value() == "models");
    BOOST_TEST(!c.ask()->limits.allow.has_value());
}

BOOST_AUTO_TEST_CASE(only_where_an_annotation_matches)
{
    Case c;
    c.options.has_limit = true; // this very option
    c.config.annotations = {{key, "models"}, {"user", "x"}};
    c.options.only = {"io.kubernetes.cri.sandbox-namespace=ci-*", "io.kubernetes.cri.sandbox-namespace=ml"};
    BOOST_TEST((c.failure().kind == ErrorKind::Denied));
    BOOST_TEST(c.failure().says("'io.kubernetes.cri.sandbox-namespace'"), c.failure().message);
    for (const char *name : {"ci-", "ci-1", "ml"}) {
        c.config.annotations["io.kubernetes.cri.sandbox-namespace"] = name;
        BOOST_TEST(c.value() == "models");
    }
    for (const char *name : {"xci-1", "mlx", "", "CI-1"}) {
        c.config.annotations["io.kubernetes.cri.sandbox-namespace"] = name;
        BOOST_TEST((c.failure().kind == ErrorKind::Denied), name);
    }
    c.config.annotations["io.kubernetes.cri.sandbox-namespace"] = "ml";
    c.options.only.emplace_back("user=root");
    BOOST_TEST((c.failure().kind == ErrorKind::Denied));
    c.options.only.back() = "user=?";
    BOOST_TEST(c.value() == "models");
}

BOOST_AUTO_TEST_CASE(only_leaves_out_of_always_and_of_a_request_what_does_not_match)
{
    Case c;
    c.options.only = {"a=b"};
    BOOST_TEST(c.value() == "-"); // who does not ask is not told
    c.options.request.emplace("models");
    BOOST_TEST((c.failure().kind == ErrorKind::Denied));
    c.options.opt_in = OptIn::Always;
    BOOST_TEST(c.value() == "-");
    c.config.annotations = {{"a", "b"}};
    BOOST_TEST(c.value() == "models");
}

BOOST_AUTO_TEST_CASE(without_a_container_only_the_host_asks)
{
    CommonOptions options;
    options.request.emplace("all");
    Notes notes;
    BOOST_TEST(read_request("mount-srv", nullptr, options, notes)->what.value == "all");
}

BOOST_AUTO_TEST_CASE(options_that_need_others_say_so)
{
    CommonOptions options;
    options.opt_in = OptIn::Always;
    BOOST_TEST((failure_of([&] { check(options); }).kind == ErrorKind::Usage));
    options.request.emplace("all");
    check(options);
    for (const char *only : {"", "=x", "user"}) {
        CommonOptions wrong;
        wrong.only = {only};
        BOOST_TEST((failure_of([&] { check(wrong); }).kind == ErrorKind::Usage), only);
    }
    CommonOptions keys;
    keys.key_file = "/etc/keys";
    BOOST_TEST(failure_of([&] { check(keys); }).says("--opt-in environment"));
    keys.opt_in = OptIn::Environment;
    check(keys);
    keys.key_file = "keys";
    BOOST_TEST(failure_of([&] { check(keys); }).says("--key-file needs an absolute path"));
}

BOOST_AUTO_TEST_CASE(directories_of_options_are_absolute)
{
    BOOST_TEST(absolute_directory("/srv///", "--x") == "/srv");
    BOOST_TEST(absolute_directory("/", "--x") == "/");
    BOOST_TEST(failure_of([] { absolute_directory("srv", "--source-dir"); }).says("--source-dir"));
    BOOST_TEST((failure_of([] { absolute_directory("", "--x"); }).kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_SUITE_END()
