// SPDX-License-Identifier: Apache-2.0
#include "oci/config.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/letters.h"
#include "base/text.h"

namespace ogh {

using nlohmann::json;

namespace {

/** Members of config.json that a hook looks at, at whatever depth; see parse_config(). */
constexpr auto known_names = std::to_array<std::string_view>(
    {"action",        "additionalGids", "allow",     "annotations", "args",    "capabilities", "cgroupsPath",
     "defaultAction", "destination",    "devices",   "effective",   "env",     "gid",          "hooks",
     "linux",         "major",          "minor",     "mountLabel",  "mounts",  "names",        "path",
     "process",       "readonly",       "resources", "root",        "seccomp", "source",       "syscalls",
     "timeout",       "type",           "uid",       "user"});

/** Of an object with one of these names the members are anybody's, and each name is what it is in its own case. */
constexpr auto free_names =
    std::to_array<std::string_view>({"annotations", "sysctl", "unified", "netDevices"});

/** As Go folds names: two letters beyond ASCII are letters of it in another case. */
std::string folded(std::string name)
{
    for (const auto &[letter, as] : {std::pair{"\u017f", "s"}, std::pair{"\u212a", "k"}})
        for (size_t at = name.find(letter); at != std::string::npos; at = name.find(letter))
            name.replace(at, std::string_view(letter).size(), as);
    std::transform(name.begin(), name.end(), name.begin(), to_lower);
    return name;
}

/** A second reading: a callback of the first one has the library go through an array anew at the end of each object in it. */
class NameCheck final : public json::json_sax_t {
public:
    explicit NameCheck(const char *what) : what_(what) {}

    bool start_object(size_t /*elements*/) override
    {
        open_.push_back({std::exchange(next_is_free_, false), {}});
        return true;
    }

    bool end_object() override
    {
        open_.pop_back();
        return true;
    }

    bool key(std::string &name) override
    {
        Object &object = open_.back();
        const std::string common = object.is_free ? name : folded(name);
        if (!object.names.insert(common).second)
            throw refused(name, "is there twice, perhaps in another case");
        const auto is_known = [&](std::string_view known) { return is_same_word(known, common); };
        const auto *const known = std::find_if(known_names.begin(), known_names.end(), is_known);
        if (!object.is_free && known != known_names.end() && *known != name)
            throw refused(name, "is " + quote(*known) + " to some runtimes, and nothing to others");
        next_is_free_ = !object.is_free && contains(free_names, name);
        return true;
    }

    bool start_array(size_t /*elements*/) override { return scalar(); }
    bool end_array() override { return true; }
    bool null() override { return scalar(); }
    bool boolean(bool /*value*/) override { return scalar(); }
    bool number_integer(json::number_integer_t /*value*/) override { return scalar(); }
    bool number_unsigned(json::number_unsigned_t /*value*/) override { return scalar(); }
    bool number_float(json::number_float_t /*value*/, const std::string & /*text*/) override
    {
        return scalar();
    }
    bool string(std::string & /*value*/) override { return scalar(); }
    bool binary(json::binary_t & /*value*/) override { return scalar(); }
    bool parse_error(size_t /*at*/, const std::string & /*token*/, const json::exception & /*error*/) override
    {
        return false; // whoever has read it as JSON says so
    }

private:
    struct Object {
        bool is_free;
        std::set<std::string> names;
    };

    bool scalar()
    {
        next_is_free_ = false;
        return true;
    }

    [[nodiscard]] Error refused(const std::string &name, const std::string &why) const
    {
        return {ErrorKind::Failure, std::string(what_) + ": the member " + quote(name) + " " + why};
    }

    const char *what_;
    std::vector<Object> open_;
    bool next_is_free_ = false; ///< the members of the value that comes next
};

/**
 * Refuses a config.json in which runtimes may see something else than this process does. Those in Go take a member's name
 * in any case, join objects that come twice and let the last value count (encoding/json, `fold.go`); those in C take the
 * exact name, and the first or the last. No engine writes such a file, but what has written it may mean to mislead.
 * @param text is JSON
 * @param what names it in the message
 * @throws Error for a member that comes twice in an object, or whose name is that of one that is looked at but for its case
 */
void check_one_reading(std::string_view text, const char *what)
{
    NameCheck check(what);
    json::sax_parse(text, &check);
}

constexpr const char *config_name = "config.json";
constexpr size_t max_size = size_t{16} << 20U;

/** Stands for an object, or an array, that is not there. */
const json &absent(json::value_t type)
{
    static const json no_object = json::object();
    static const json no_array = json::array();
    return type == json::value_t::array ? no_array : no_object;
}

/** A member that must be of the type if it is there. */
const json &typed_member(const json &object, const char *name, json::value_t type)
{
    const json *member = find_member(object, name);
    if (member != nullptr && member->type() != type)
        throw Error(ErrorKind::Failure,
                    std::string(config_name) + ": " + quote(name) + " is no " + json(type).type_name());
    return member == nullptr ? absent(type) : *member;
}

const json &object_member(const json &object, const char *name)
{
    return typed_member(object, name, json::value_t::object);
}

const json &array_member(const json &object, const char *name)
{
    return typed_member(object, name, json::value_t::array);
}

/** A member whatever it is; an empty object where there is none, and what is wrong is for the runtime to say. */
const json &any_member(const json &object, const char *name)
{
    const json *member = find_member(object, name);
    return member == nullptr ? absent(json::value_t::object) : *member;
}

/** The same for an array; an empty one for anything else. */
const json &any_array(const json &object, const char *name)
{
    const json &member = any_member(object, name);
    return member.is_array() ? member : absent(json::value_t::array);
}

std::string read_rootfs(const json &config, const std::string &bundle)
{
    const std::string path = string_member(object_member(config, "root"), "path", config_name);
    if (path.empty())
        throw Error(ErrorKind::Failure, "config.json has no root.path");
    return path.starts_with('/') ? path : bundle + "/" + path;
}

std::vector<std::string> read_environment(const json &config)
{
    std::vector<std::string> environment;
    for (const json &entry : array_member(object_member(config, "process"), "env"))
        environment.push_back(checked_string(entry, "process.env", config_name));
    return environment;
}

std::uint32_t read_id(const json &value, const char *name)
{
    // The last number is no id (setfsuid(2)).
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= UINT32_MAX)
        throw Error(ErrorKind::Failure, std::string("config.json: process.user.") + name + " is no id");
    return value.get<std::uint32_t>();
}

std::uint32_t id_member(const json &user, const char *name)
{
    const json *member = find_member(user, name);
    return member == nullptr ? 0 : read_id(*member, name);
}

ProcessUser read_user(const json &process)
{
    const json &object = object_member(process, "user");
    ProcessUser user{id_member(object, "uid"), id_member(object, "gid")};
    for (const json &group : array_member(object, "additionalGids"))
        user.groups.push_back(read_id(group, "additionalGids"));
    for (const json &capability : array_member(object_member(process, "capabilities"), "effective"))
        user.overrides_permissions |= capability == "CAP_DAC_OVERRIDE";
    return user;
}

/** Whatever is wrong with a hook is for the runtime to say. */
std::vector<HookEntry> read_hooks(const json &config)
{
    std::vector<HookEntry> entries;
    for (const json &hooks : object_member(config, "hooks")) {
        for (const json &hook : hooks.is_array() ? hooks : absent(json::value_t::array)) {
            const json &timeout = any_member(hook, "timeout");
            if (!any_member(hook, "path").is_string())
                continue;
            entries.push_back({text_member(hook, "path")});
            if (timeout.is_number_unsigned())
                entries.back().timeout = timeout.get<std::uint64_t>();
        }
    }
    return entries;
}

std::string read_program(const json &config)
{
    const json &args = any_array(object_member(config, "process"), "args");
    return !args.empty() && args.front().is_string() ? args.front().get<std::string>() : std::string();
}

std::vector<BindMount> read_binds(const json &config)
{
    std::vector<BindMount> binds;
    for (const json &mount : any_array(config, "mounts"))
        if (text_member(mount, "type") == "bind")
            binds.push_back({text_member(mount, "destination"), text_member(mount, "source")});
    return binds;
}

std::vector<std::string> read_devices(const json &config)
{
    std::vector<std::string> paths;
    for (const json &device : any_array(any_member(config, "linux"), "devices")) {
        if (any_member(device, "path").is_string())
            paths.push_back(text_member(device, "path"));
    }
    return paths;
}

/** Of the rules that are for every device the last one counts. */
bool read_allows_every_device(const json &config)
{
    bool allows = false;
    for (const json &rule : any_array(any_member(any_member(config, "linux"), "resources"), "devices")) {
        const auto is_for_some = [&](const char *name) {
            const json &member = any_member(rule, name);
            return (member.is_string() && member != "a") || (member.is_number() && member != -1);
        };
        if (rule.is_object() && !is_for_some("type") && !is_for_some("major") && !is_for_some("minor"))
            allows = any_member(rule, "allow") == true;
    }
    return allows;
}

/** Of a call; an action that is not known may let it through. */
bool is_refusal(const json &action)
{
    return action == "SCMP_ACT_ERRNO" || action == "SCMP_ACT_TRAP" || action == "SCMP_ACT_KILL" ||
           action == "SCMP_ACT_KILL_THREAD" || action == "SCMP_ACT_KILL_PROCESS";
}

bool read_refuses_io_uring(const json &config)
{
    const json &filter = any_member(any_member(config, "linux"), "seccomp");
    bool refuses = is_refusal(any_member(filter, "defaultAction"));
    bool is_let_through = false;
    for (const json &rule : any_array(filter, "syscalls")) {
        const json &names = any_array(rule, "names");
        if (std::find(names.begin(), names.end(), "io_uring_setup") == names.end())
            continue;
        is_let_through |= !is_refusal(any_member(rule, "action"));
        refuses |= any_array(rule, "args").empty();
    }
    return refuses && !is_let_through;
}

} // namespace

Config parse_config(std::string_view text, const std::string &bundle)
{
    const json document = parse_object(text, config_name);
    check_one_reading(text, config_name);
    Config config;
    config.rootfs = read_rootfs(document, bundle);
    for (const auto &[key, value] : object_member(document, "annotations").items())
        config.annotations.emplace(key, checked_string(value, key, config_name));
    config.environment = read_environment(document);
    config.user = read_user(object_member(document, "process"));
    config.read_only =
        typed_member(object_member(document, "root"), "readonly", json::value_t::boolean) == true;
    config.mount_label = string_member(object_member(document, "linux"), "mountLabel", config_name);
    config.cgroups_path = string_member(object_member(document, "linux"), "cgroupsPath", config_name);
    config.hooks = read_hooks(document);
    config.program = read_program(document);
    config.binds = read_binds(document);
    config.devices = read_devices(document);
    config.allows_every_device = read_allows_every_device(document);
    config.refuses_io_uring = read_refuses_io_uring(document);
    return config;
}

std::string read_config(const std::string &bundle)
{
    const std::string path = bundle + "/config.json";
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd.valid())
        throw SystemError(errno, "cannot open the container's " + quote(path));
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
        throw Error(ErrorKind::Failure, "the container's " + quote(path) + " is no regular file");
    const auto size = static_cast<size_t>(std::clamp(status.st_size, off_t{0}, off_t{max_size}));
    return read_all(fd.get(), max_size, quote(path), size);
}

std::optional<std::string> environment_value(const Config &config, std::string_view name)
{
    for (auto entry = config.environment.rbegin(); entry != config.environment.rend(); ++entry) {
        if (entry->starts_with(name) && entry->size() > name.size() && (*entry)[name.size()] == '=')
            return entry->substr(name.size() + 1);
    }
    return std::nullopt;
}

} // namespace ogh
