// SPDX-License-Identifier: Apache-2.0
#include "cdi/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>

#include "base/letters.h"
#include "base/text.h"

namespace ogh::cdi {

namespace {

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

} // namespace

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

std::optional<Value> Fields::take(std::string_view name)
{
    for (Field &field : fields_) {
        if (!is_same_word(field.name, name))
            continue;
        field.taken = true;
        return field.value.is_null() ? std::nullopt : std::optional(field.value);
    }
    return std::nullopt;
}

std::string Fields::text(std::string_view name)
{
    const auto value = take(name);
    return value ? value->text() : "";
}

std::vector<Value> Fields::list(std::string_view name)
{
    const auto value = take(name);
    return value ? value->list() : std::vector<Value>();
}

std::vector<std::string> Fields::texts(std::string_view name)
{
    const auto value = take(name);
    return value ? value->texts() : std::vector<std::string>();
}

std::int64_t Fields::number(std::string_view name)
{
    const auto value = take(name);
    using Limits = std::numeric_limits<std::int64_t>;
    return value ? value->number(Limits::min(), Limits::max()) : 0;
}

bool Fields::flag(std::string_view name)
{
    const auto value = take(name);
    return value && value->flag();
}

std::optional<std::uint32_t> Fields::small_number(std::string_view name)
{
    const auto value = take(name);
    if (!value)
        return std::nullopt;
    return static_cast<std::uint32_t>(value->number(0, std::numeric_limits<std::uint32_t>::max()));
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

} // namespace ogh::cdi
