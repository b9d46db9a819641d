// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "request/annotations.h"
#include "request/request.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(observers)

using namespace ogh;
using ogh::test::failure_of;

namespace {

const std::string containerds = "io.kubernetes.cri.sandbox-namespace";
const std::string crios = "io.kubernetes.pod.namespace";
const std::string pod = "io.kubernetes.cri.sandbox-name";
const std::string own_key = "io.oci-gpu-hooks.nvidia-devices";

Config in_pod(const std::string &space, const std::string &name)
{
    Config config;
    config.annotations = {{containerds, space}, {pod, name}};
    return config;
}

std::optional<Request> ask(const Config &config, OptInOptions options)
{
    options.observers = {containerds + "=gpu-*"};
    Notes notes;
    return read_request("nvidia-devices", &config, options, notes);
}

/** What is asked for; "-" for nothing. */
std::string asked(const Config &config, const OptInOptions &options = {})
{
    const auto found = ask(config, options);
    return found ? found->asker_text() + " " + found->what.value : "-";
}

} // namespace

BOOST_AUTO_TEST_CASE(the_engines_namespace_has_to_be_named)
{
    for (const std::vector<std::string> &patterns : {std::vector<std::string>{pod + "=monitor"},
                                                     {containerds},
                                                     {"=x"},
                                                     {containerds + "=a", crios + "=a"}})
        BOOST_TEST((failure_of([&] { check_observers(patterns); }).kind == ErrorKind::Usage),
                   patterns.front());
    for (const std::vector<std::string> &patterns :
         {std::vector<std::string>{}, {containerds + "=a"}, {crios + "=a", crios + "=b", pod + "=c"}})
        check_observers(patterns);
}

BOOST_AUTO_TEST_CASE(what_else_is_named_narrows_it)
{
    const std::vector<std::string> patterns{containerds + "=gpu", containerds + "=kube-*",
                                            pod + "=monitor-*"};
    BOOST_TEST(is_observer(in_pod("gpu", "monitor-1"), patterns));
    BOOST_TEST(is_observer(in_pod("kube-system", "monitor-1"), patterns));
    BOOST_TEST(!is_observer(in_pod("gpu", "train"), patterns));
    BOOST_TEST(!is_observer(in_pod("ml", "monitor-1"), patterns));
    BOOST_TEST(!is_observer({}, patterns));
    BOOST_TEST(!is_observer(in_pod("gpu", "monitor-1"), {}));
}

BOOST_AUTO_TEST_CASE(a_namespace_that_may_be_the_users_word_makes_no_observer)
{
    const std::vector<std::string> patterns{containerds + "=gpu"};
    Config config = in_pod("gpu", "x");
    config.annotations[crios] = "ml"; // the engine's: who wrote the pod has forged the other
    BOOST_TEST(!is_observer(config, patterns));
    config = in_pod("gpu", "x");
    config.annotations["io.container.manager"] = "libpod";
    BOOST_TEST(!is_observer(config, patterns));
}

BOOST_AUTO_TEST_CASE(an_observer_sees_all_unless_it_says_what)
{
    Config config = in_pod("gpu-tools", "x");
    BOOST_TEST(asked(config) == "observer all");
    for (const char *value : {"none", "0", "env"}) {
        config.annotations[own_key] = value;
        BOOST_TEST(asked(config) == std::string("observer ") + value, value);
    }
    config.annotations = {{containerds, "ml"}};
    BOOST_TEST(asked(config) == "-");
}

BOOST_AUTO_TEST_CASE(what_a_plugin_says_and_only_are_not_for_observers)
{
    OptInOptions options;
    options.plugin = {{.variable = "V", .directories = {"/run/plugin/"}}, {PluginSource::Mounts}};
    options.only = {containerds + "=ml"};
    Config config = in_pod("gpu-tools", "x");
    config.binds = {{"/run/plugin/0", "/dev/null"}};
    BOOST_TEST(asked(config, options) == "observer all");
    config.annotations[own_key + ".capabilities"] = "utility";
    BOOST_TEST(ask(config, options)->detail("capabilities") != nullptr);
    config.annotations["io.oci-gpu-hooks.nvidia-device"] = "0";
    BOOST_TEST((failure_of([&] { asked(config, options); }).kind == ErrorKind::Usage));
}

BOOST_AUTO_TEST_SUITE_END()
