// SPDX-License-Identifier: Apache-2.0
#include "cdi/spec_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/contains.h"
#include "base/letters.h"
#include "base/text.h"
#include "cdi/names.h"

namespace ogh::cdi {

namespace {

/** What a scalar stands for, to whoever reads it. */
enum class Scalar : std::uint8_t {
    Null,
    Flag,    ///< "true" or "false"
    Integer, ///< decimal, with no digit or sign that it could do without: as a text it is the same
    Octal,   ///< not negative, with a 0 in front
    Text,
    Unclear, ///< perhaps another text, a number or a truth for the reference implementation
};

/** What is a number beyond that is a matter of bits. */
constexpr size_t most_digits = 18;

bool has_only(std::string_view text, std::string_view characters)
{
    return text.find_first_not_of(characters) == std::string_view::npos;
}

bool is_decimal(std::string_view text)
{
    if (text == "0")
        return true;
    text.remove_prefix(text.starts_with('-') ? 1 : 0);
    return !text.empty() && text.size() <= most_digits && text.front() != '0' && has_only(text, "0123456789");
}

/** In whatever case it is written: some are words in three cases. */
bool is_word_of_yaml(std::string_view text)
{
    constexpr auto words = std::to_array<std::string_view>(
        {"y", "n", "yes", "no", "on", "off", "true", "false", "null", ".nan", ".inf", "+.inf", "-.inf"});
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return is_same_word(text, word); });
}

/** By more than what numbers are: digits with at most one point, or what begins as one of another base does. */
bool may_be_number(std::string_view written)
{
    std::string text(written);
    std::erase(text, '_'); // as the reference does with most
    const size_t begin = text.starts_with('+') || text.starts_with('-') ? 1 : 0;
    if (text.size() > begin + 1 && text[begin] == '0' &&
        std::string_view("xXoObB").find(text[begin + 1]) != std::string_view::npos)
        return true;
    return std::any_of(text.begin(), text.end(), is_digit) && has_only(text, "0123456789.eE+-") &&
           std::count(text.begin(), text.end(), '.') <= 1;
}

/**
 * The reference implementation of CDI reads its files by the rules of YAML 1.1 that go-yaml 2 has: `yes` is true, and
 * `0x10`, `1_0.5` and `08` are numbers, which become texts such as "16" where one is wanted. Programs write no such
 * thing, so it is not read here either: whatever could be one of those is unclear.
 * @param is_plain it has no quotes
 */
Scalar resolve_scalar(std::string_view text, bool is_plain)
{
    constexpr std::string_view first_of_others = "~.+-0123456789yYnNtTfFoO";
    if (!is_plain || (!text.empty() && first_of_others.find(text.front()) == std::string_view::npos))
        return Scalar::Text;
    if (text.empty() || text == "~" || text == "null")
        return Scalar::Null;
    if (text == "true" || text == "false")
        return Scalar::Flag;
    if (is_decimal(text))
        return Scalar::Integer;
    if (text.front() == '0' && text.size() <= most_digits && has_only(text, "01234567"))
        return Scalar::Octal;
    return is_word_of_yaml(text) || may_be_number(text) ? Scalar::Unclear : Scalar::Text;
}

Error wrong_at(const YamlNode &node, const std::string &why)
{
    return {ErrorKind::BrokenHost, "line " + std::to_string(node.line) + ": " + why};
}

/** Of a list or a mapping nothing is clear. */
Scalar scalar_of(const YamlNode &node)
{
    return node.type == YamlNode::Type::Scalar ? resolve_scalar(node.text, node.plain) : Scalar::Unclear;
}

/** "" for null. @throws Error if it may be another one */
std::string_view text_of(const YamlNode &node)
{
    if (node.type != YamlNode::Type::Scalar)
        throw wrong_at(node, "it is no text");
    switch (scalar_of(node)) {
    case Scalar::Null:
        return "";
    case Scalar::Octal:
    case Scalar::Unclear:
        throw wrong_at(node,
                       quote(node.text) + " may be a number or a word of YAML: where it is a text, quote it");
    default:
        return node.text;
    }
}

std::string key_of(const YamlNode &node)
{
    if (node.type != YamlNode::Type::Scalar || scalar_of(node) == Scalar::Null)
        throw wrong_at(node, "a key is no text");
    if (node.plain && node.text == "<<")
        throw wrong_at(node, "a merge, '<<', is not understood here: write what it stands for");
    return std::string(text_of(node));
}

/** A version of the specification of CDI. */
using Version = std::array<unsigned, 3>;

constexpr Version v0_3{0, 3, 0};
constexpr Version v0_4{0, 4, 0};
constexpr Version v0_5{0, 5, 0};
constexpr Version v0_6{0, 6, 0};
constexpr Version v0_7{0, 7, 0};
constexpr Version v1_1{1, 1, 0};

/**
 * "0.6.0", perhaps with a `v` in front; nothing if there is no such version. 0.3.0 is the first one: the reference
 * implementation knows two before it, and says of whatever has them that it should have 0.3.0.
 */
std::optional<Version> parse_version(std::string_view text)
{
    constexpr auto versions = std::to_array<std::pair<std::string_view, Version>>({{"0.3.0", v0_3},
                                                                                   {"0.4.0", v0_4},
                                                                                   {"0.5.0", v0_5},
                                                                                   {"0.6.0", v0_6},
                                                                                   {"0.7.0", v0_7},
                                                                                   {"0.8.0", {0, 8, 0}},
                                                                                   {"1.0.0", {1, 0, 0}},
                                                                                   {"1.1.0", v1_1}});
    if (text.starts_with('v'))
        text.remove_prefix(1);
    const auto *const known = std::find_if(versions.begin(), versions.end(),
                                           [&](const auto &version) { return version.first == text; });
    return known == versions.end() ? std::nullopt : std::optional(known->second);
}

void require(const std::string &problem, const Value &at)
{
    if (!problem.empty())
        throw at.wrong(problem);
}

/** Reads a specification, and notes the first version that has all it is made of. */
class Parser final {
public:
    Parser(const Value &root, const IsWanted &is_wanted) : fields_(root), root_(root), is_wanted_(is_wanted)
    {
    }

    [[nodiscard]] Spec read()
    {
        Spec spec;
        spec.version = fields_.take("cdiVersion").text();
        version_ = parse_version(spec.version);
        spec.kind = fields_.take("kind").text();
        read_annotations(fields_);
        if (const Value edits = fields_.take("containerEdits"); !edits.is_null())
            spec.edits = read_edits(edits);
        const auto devices = fields_.take("devices").list();
        spec.devices.reserve(devices.size());
        for (const Value &device : devices)
            spec.devices.push_back(read_device(device, spec.kind));
        fields_.finish();
        check(spec);
        return spec;
    }

private:
    void check(const Spec &spec)
    {
        if (!version_)
            throw root_.wrong(spec.version.empty() ? "it has no 'cdiVersion'"
                                                   : "the version " + quote(spec.version) + " is not known");
        require(kind_problem(spec.kind), root_);
        if (spec.kind.find('.', spec.kind.find('/')) != std::string::npos)
            since(v0_6, "a dot in the class");
        if (*version_ < needed_)
            throw root_.wrong("the version " + quote(spec.version) + " does not have " + feature_);
        if (spec.devices.empty())
            throw root_.wrong("it has no device");
        std::vector<std::string_view> names;
        names.reserve(spec.devices.size());
        for (const Device &device : spec.devices)
            names.emplace_back(device.name);
        std::sort(names.begin(), names.end());
        if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
            throw root_.wrong("it has two devices " + quote(*twice));
    }

    void since(const Version &version, const std::string &feature)
    {
        if (needed_ < version) {
            needed_ = version;
            feature_ = feature;
        }
    }

    Device read_device(const Value &value, const std::string &kind)
    {
        Fields fields(value);
        Device device;
        device.name = fields.take("name").text();
        require(device_problem(device.name), value);
        if (device.name.front() >= '0' && device.name.front() <= '9')
            since(v0_5, "a device name that begins with a digit");
        read_annotations(fields);
        if (const Value edits = fields.take("containerEdits"); !edits.is_null())
            device.edits = read_edits(edits);
        fields.finish();
        if (device.edits.empty())
            throw value.wrong("the device " + quote(device.name) + " has no edits");
        if (is_wanted_ && !is_wanted_(kind, device.name))
            device.edits = {};
        return device;
    }

    void read_annotations(Fields &fields)
    {
        // The reference means to check their keys, and does not: its check is of another type than they have.
        const Fields annotations(fields.take("annotations"), Case::Exact);
        annotations.check_texts();
        if (!annotations.empty())
            since(v0_6, "annotations");
    }

    ContainerEdits read_edits(const Value &value)
    {
        Fields fields(value);
        ContainerEdits edits;
        edits.env = read_env(fields, value);
        const auto nodes = fields.take("deviceNodes").list();
        edits.nodes.reserve(nodes.size());
        for (const Value &node : nodes)
            edits.nodes.push_back(read_node(node));
        edits.net_devices = read_net_devices(fields);
        for (const Value &hook : fields.take("hooks").list())
            edits.hooks.push_back(read_hook(hook));
        const auto mounts = fields.take("mounts").list();
        edits.mounts.reserve(mounts.size());
        for (const Value &mount : mounts)
            edits.mounts.push_back(read_mount(mount));
        if (const Value rdt = fields.take("intelRdt"); !rdt.is_null()) {
            read_rdt(rdt);
            edits.intel_rdt = true;
        }
        for (const Value &group : fields.take("additionalGids").list()) {
            since(v0_7, "'additionalGids'");
            edits.groups.push_back(
                static_cast<std::uint32_t>(group.number(0, std::numeric_limits<std::uint32_t>::max())));
        }
        fields.finish();
        return edits;
    }

    static std::vector<std::string> read_env(Fields &fields, const Value &at)
    {
        auto env = fields.take("env").texts();
        for (const std::string &each : env)
            if (const size_t sign = each.find('='); sign == std::string::npos || sign == 0)
                throw at.wrong("the variable " + quote(each) + " is not like NAME=VALUE");
        return env;
    }

    DeviceNode read_node(const Value &value)
    {
        Fields fields(value);
        DeviceNode node;
        node.path = fields.take("path").text();
        node.host_path = fields.take("hostPath").text();
        node.type = fields.take("type").text();
        node.major = fields.take("major").number();
        node.minor = fields.take("minor").number();
        node.file_mode = fields.take("fileMode").small_number();
        node.permissions = fields.take("permissions").text();
        node.uid = fields.take("uid").small_number();
        node.gid = fields.take("gid").small_number();
        fields.finish();
        if (!node.host_path.empty())
            since(v0_5, "'hostPath' of a device");
        if (node.path.empty())
            throw value.wrong("a device node has no 'path'");
        constexpr auto types = std::to_array<std::string_view>({"", "b", "c", "u", "p"});
        if (!contains(types, node.type))
            throw value.wrong("no device node has the type " + quote(node.type));
        if (node.permissions != "none" && node.permissions.find_first_not_of("rwm") != std::string::npos)
            throw value.wrong("no device node has the permissions " + quote(node.permissions));
        return node;
    }

    std::vector<std::string> read_net_devices(Fields &edits)
    {
        std::vector<std::string> host_names;
        std::set<std::string> seen_hosts;
        std::set<std::string> seen;
        for (const Value &value : edits.take("netDevices").list()) {
            since(v1_1, "'netDevices'");
            Fields fields(value);
            host_names.push_back(fields.take("hostInterfaceName").text());
            const std::string name = fields.take("name").text();
            fields.finish();
            if (host_names.back().empty() || name.empty())
                throw value.wrong("a network device without its two names");
            if (!seen_hosts.insert(host_names.back()).second || !seen.insert(name).second)
                throw value.wrong("two network devices have a name in common");
        }
        return host_names;
    }

    static SpecHook read_hook(const Value &value)
    {
        Fields fields(value);
        SpecHook hook;
        hook.name = fields.take("hookName").text();
        hook.path = fields.take("path").text();
        hook.args = fields.take("args").texts();
        static_cast<void>(read_env(fields, value));
        static_cast<void>(fields.take("timeout").number());
        fields.finish();
        constexpr auto stages = std::to_array<std::string_view>(
            {"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"});
        if (!contains(stages, hook.name))
            throw value.wrong("a hook is called at " + quote(hook.name) + ", which is no stage");
        if (hook.path.empty())
            throw value.wrong("a hook has no 'path'");
        return hook;
    }

    Mount read_mount(const Value &value)
    {
        Fields fields(value);
        Mount mount;
        mount.host_path = fields.take("hostPath").text();
        mount.container_path = fields.take("containerPath").text();
        mount.type = fields.take("type").text();
        mount.options = fields.take("options").texts();
        fields.finish();
        if (!mount.type.empty())
            since(v0_4, "'type' of a mount");
        if (mount.host_path.empty() || mount.container_path.empty())
            throw value.wrong("a mount without 'hostPath' or 'containerPath'");
        return mount;
    }

    void read_rdt(const Value &value)
    {
        since(v0_7, "'intelRdt'");
        Fields fields(value);
        const std::string id = fields.take("closID").text();
        static_cast<void>(fields.take("l3CacheSchema").text());
        static_cast<void>(fields.take("memBwSchema").text());
        if (version_ && *version_ < v1_1) // later ones do not know them
            for (const char *flag : {"enableCMT", "enableMBM"})
                static_cast<void>(fields.take(flag).flag());
        const Value schemata = fields.take("schemata");
        static_cast<void>(schemata.texts());
        if (fields.take("enableMonitoring").flag() || !schemata.is_null()) // an empty list too
            since(v1_1, "what it says of 'intelRdt'");
        fields.finish();
        constexpr size_t longest = 4095;
        if (id == "/") // the class of all that have no other
            return;
        if (id.size() > longest || id == "." || id == ".." || id.find_first_of("/\n") != std::string::npos)
            throw value.wrong("the class " + quote(id) + " of 'intelRdt' is no name of a file");
    }

    Fields fields_;
    Value root_;
    const IsWanted &is_wanted_;
    std::optional<Version> version_;
    Version needed_ = v0_3;
    std::string feature_;
};

} // namespace

Error Value::wrong(const std::string &why) const
{
    return wrong_at(*node_, why);
}

bool Value::is_null() const
{
    return scalar_of(*node_) == Scalar::Null;
}

std::string Value::text() const
{
    const std::string_view text = text_of(*node_);
    if (text.find('\0') != std::string_view::npos)
        throw wrong("it has a NUL character");
    return std::string(text);
}

std::int64_t Value::number(std::int64_t least, std::int64_t most) const
{
    const Scalar scalar = scalar_of(*node_);
    if (scalar == Scalar::Null)
        return 0;
    if (scalar != Scalar::Integer && scalar != Scalar::Octal)
        throw wrong("it is no whole number in decimal digits");
    const std::string &text = node_->text;
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, scalar == Scalar::Octal ? 8 : 10);
    if (value < least || value > most)
        throw wrong("the number " + std::to_string(value) + " is too small or too large");
    return value;
}

std::optional<std::uint32_t> Value::small_number() const
{
    if (is_null())
        return std::nullopt;
    return static_cast<std::uint32_t>(number(0, std::numeric_limits<std::uint32_t>::max()));
}

std::vector<Value> Value::list() const
{
    std::vector<Value> items;
    if (is_null())
        return items;
    if (node_->type != YamlNode::Type::Sequence)
        throw wrong("it is no list");
    for (const YamlNode &item : node_->members)
        items.emplace_back(item);
    return items;
}

bool Value::flag() const
{
    if (is_null())
        return false;
    if (scalar_of(*node_) != Scalar::Flag)
        throw wrong("it is neither true nor false");
    return node_->text == "true";
}

std::vector<std::string> Value::texts() const
{
    std::vector<std::string> texts;
    for (const Value &item : list())
        texts.push_back(item.text());
    return texts;
}

Fields::Fields(const Value &value, Case names_as)
{
    if (value.is_null())
        return;
    if (value.node_->type != YamlNode::Type::Mapping)
        throw value.wrong("it is no mapping");
    const std::vector<YamlNode> &members = value.node_->members;
    for (size_t i = 0; i < members.size(); i += 2)
        fields_.push_back({key_of(members[i]), Value(members[i + 1])});
    check_unique(value, names_as);
}

/** There may be any number of them, as there are annotations. */
void Fields::check_unique(const Value &value, Case names_as) const
{
    std::set<std::string> names;
    for (const Field &field : fields_) {
        std::string name = field.name;
        if (names_as == Case::Any)
            std::transform(name.begin(), name.end(), name.begin(), to_lower);
        if (!names.insert(std::move(name)).second)
            throw value.wrong("the key " + quote(field.name) + " is there twice");
    }
}

Value Fields::take(std::string_view name)
{
    static const YamlNode absent{YamlNode::Type::Scalar, true, 0, "", {}};
    const auto field = std::find_if(fields_.begin(), fields_.end(),
                                    [&](const Field &each) { return is_same_word(each.name, name); });
    if (field == fields_.end())
        return Value(absent);
    field->taken = true;
    return field->value;
}

void Fields::finish() const
{
    for (const Field &field : fields_)
        if (!field.taken)
            throw field.value.wrong("the field " + quote(field.name) + " is not known");
}

void Fields::check_texts() const
{
    for (const Field &field : fields_)
        static_cast<void>(field.value.text());
}

Spec parse_spec(std::string_view text, const IsWanted &is_wanted)
{
    const auto root = read_yaml(text);
    if (!root)
        throw Error(ErrorKind::BrokenHost, "it is empty");
    return Parser(Value(*root), is_wanted).read();
}

} // namespace ogh::cdi
