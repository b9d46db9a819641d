// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/vendor_hooks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "cdi-devices/plan/target_path.h"
#include "libraries/loader_file.h"
#include "nvidia/cuda_compat.h"

namespace ogh::cdi_devices {

namespace {

Error refused(const cdi::SpecHook &hook, const std::string &why)
{
    return {ErrorKind::Denied, "a specification has the " + hook.name + " hook " + quote(hook.path) +
                                   (hook.args.empty() ? "" : " with " + quote_list(hook.args)) + ": " + why};
}

/** What follows the program's own words. */
using Arguments = std::vector<std::string>;

/** The action that NVIDIA's program is called for, and its options. */
std::optional<std::pair<std::string, Arguments>> vendor_action(const cdi::SpecHook &hook)
{
    const std::string program = file_name_of(hook.path);
    Arguments words = hook.args;
    if (words.empty() || hook.name != "createContainer")
        return std::nullopt;
    words.erase(words.begin()); // args[0] is the program
    if (program == "nvidia-ctk") {
        if (words.empty() || words.front() != "hook")
            return std::nullopt;
        words.erase(words.begin());
    } else if (program != "nvidia-cdi-hook") {
        return std::nullopt;
    }
    if (words.empty())
        return std::nullopt;
    std::string action = words.front();
    words.erase(words.begin());
    return std::pair(std::move(action), std::move(words));
}

/** What a hook's action is given: values by the names of options, in their order. */
class ActionOptions final {
public:
    ActionOptions(const Arguments &words, const cdi::SpecHook &hook) : hook_(hook)
    {
        for (auto word = words.begin(); word != words.end(); ++word) {
            const size_t equals = word->find('=');
            if (!word->starts_with("--"))
                throw refused(hook_, "the argument " + quote(*word) + " is not known");
            std::string option = word->substr(0, equals);
            if (equals != std::string::npos)
                given_.emplace_back(std::move(option), word->substr(equals + 1));
            else if (++word != words.end())
                given_.emplace_back(std::move(option), *word);
            else
                throw refused(hook_, "the option " + quote(option) + " has no value");
        }
    }

    /** The values of one option, which is known from now on. */
    Arguments take(std::string_view option)
    {
        Arguments values;
        std::erase_if(given_, [&](const auto &each) {
            if (each.first == option)
                values.push_back(each.second);
            return each.first == option;
        });
        return values;
    }

    /** The value of an option that may be there once; "" without it. */
    std::string take_optional(std::string_view option)
    {
        Arguments values = take(option);
        if (values.size() > 1)
            throw refused(hook_, "it has the option " + quote(option) + " more than once");
        return values.empty() ? "" : std::move(values.front());
    }

    /** The value of an option that must be there once. */
    std::string take_one(std::string_view option)
    {
        std::string value = take_optional(option);
        if (value.empty())
            throw refused(hook_, "it needs the option " + quote(option) + " once");
        return value;
    }

    /** @throws Error if there is an option that is not known */
    void end() const
    {
        if (!given_.empty())
            throw refused(hook_, "the option " + quote(given_.front().first) + " is not known");
    }

private:
    const cdi::SpecHook &hook_;
    std::vector<std::pair<std::string, std::string>> given_;
};

LinkEdit link_of(const std::string &value, const cdi::SpecHook &hook)
{
    constexpr std::string_view separator = "::";
    const size_t at = value.find(separator);
    if (at == 0 || at == std::string::npos || at + separator.size() == value.size() ||
        value.find(separator, at + separator.size()) != std::string::npos)
        throw refused(hook, quote(value) + " is not like TARGET::PATH");
    return {mount_target(value.substr(at + separator.size())), value.substr(0, at)};
}

std::string library_directory(const std::string &value, const cdi::SpecHook &hook)
{
    std::string directory = clean_path(value);
    if (directory == "/" || !can_be_in_loader_files(directory))
        throw refused(hook, "the directory " + quote(value) + " cannot be named in the loader's files");
    return directory;
}

ModeChange mode_change(const std::string &path, const std::string &mode, const cdi::SpecHook &hook)
{
    constexpr unsigned base = 8;
    constexpr unsigned most = 0777; // a node needs no more
    unsigned bits = 0;
    const auto [end, error] = std::from_chars(mode.data(), mode.data() + mode.size(), bits, base);
    if (error != std::errc() || end != mode.data() + mode.size() || bits > most)
        throw refused(hook, quote(mode) + " is no mode");
    return {clean_path(path), bits};
}

/** Adds what one action does, by its options. */
using Action = void (*)(ActionOptions &, const cdi::SpecHook &, VendorActions &);

struct NamedAction {
    std::string_view name;
    Action add;
};

void add_links(ActionOptions &options, const cdi::SpecHook &hook, VendorActions &actions)
{
    for (const std::string &value : options.take("--link"))
        add_once(actions.links, link_of(value, hook));
}

void add_directories(ActionOptions &options, const cdi::SpecHook &hook, VendorActions &actions)
{
    static_cast<void>(options.take("--ldconfig-path")); // no program is run
    for (const std::string &value : options.take("--folder"))
        add_once(actions.library_directories, library_directory(value, hook));
}

/** On Tegra the host is named by its version of CUDA, and some images have the libraries elsewhere. */
void add_compat(ActionOptions &options, const cdi::SpecHook &hook, VendorActions &actions)
{
    CompatRequest request;
    request.driver = options.take_optional("--host-driver-version");
    request.cuda = options.take_optional("--host-cuda-version");
    const std::string root = options.take_optional("--cuda-compat-container-root");
    if (request.driver.empty() && request.cuda.empty())
        return; // NVIDIA's own does nothing then
    request.directory = root.empty() ? cuda_compat_directory : library_directory(root, hook);
    add_once(actions.compat, std::move(request));
}

void add_modes(ActionOptions &options, const cdi::SpecHook &hook, VendorActions &actions)
{
    const std::string mode = options.take_one("--mode");
    for (const std::string &path : options.take("--path"))
        add_once(actions.modes, mode_change(path, mode, hook));
}

constexpr auto known_actions = std::to_array<NamedAction>({
    {"create-symlinks", add_links},
    {"update-ldcache", add_directories},
    {"enable-cuda-compat", add_compat},
    {"disable-device-node-modification",
     [](auto &, auto &, VendorActions &actions) { actions.masks_params = true; }},
    {"update-application-profile", [](auto &, auto &, VendorActions &actions) { actions.limits_egl = true; }},
    {"chmod", add_modes},
});

} // namespace

VendorActions vendor_actions(const std::vector<cdi::SpecHook> &hooks)
{
    VendorActions actions;
    for (const cdi::SpecHook &hook : hooks) {
        const auto called = vendor_action(hook);
        if (!called)
            throw refused(hook, "no program of a specification is run, and what this one does is not known");
        const auto *const known =
            std::find_if(known_actions.begin(), known_actions.end(),
                         [&](const NamedAction &each) { return each.name == called->first; });
        if (known == known_actions.end())
            throw refused(hook, "what " + quote(called->first) +
                                    " does is not done by this hook; see cdi-devices(8) for those that are");
        ActionOptions options(called->second, hook);
        known->add(options, hook, actions);
        options.end();
    }
    return actions;
}

} // namespace ogh::cdi_devices
