// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/spec/fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "cdi-devices/spec/scalar.h"

namespace ogh::cdi_devices {

namespace {

constexpr std::string_view merge_key = "<<";
constexpr std::string_view merge_tag = "tag:yaml.org,2002:merge";

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view one, std::string_view other)
{
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

Scalar scalar_of(const YamlDocument &document, const YamlNode &node)
{
    return resolve_scalar(document.text(node), node.plain, document.tag(node));
}

bool is_mere(const YamlDocument &document, const YamlNode &node)
{
    return is_mere_text(document.text(node), node.plain, document.tag(node));
}

Error wrong_at(const YamlNode &node, const std::string &why)
{
    return {ErrorKind::BrokenHost, "line " + std::to_string(node.line) + ": " + why};
}

bool is_merge(const YamlDocument &document, const YamlNode &key)
{
    if (key.type != YamlNode::Type::Scalar || document.text(key) != merge_key)
        return false;
    const std::string_view tag = document.tag(key);
    return tag == merge_tag || tag == "!" || (key.plain && tag.empty());
}

std::string key_of(const YamlDocument &document, const YamlNode &node)
{
    if (node.type != YamlNode::Type::Scalar)
        throw wrong_at(node, "a key is no text");
    if (is_mere(document, node))
        return std::string(document.text(node));
    const Scalar key = scalar_of(document, node);
    if (std::holds_alternative<std::monostate>(key) || std::holds_alternative<std::uint64_t>(key))
        throw wrong_at(node, "a key is null, or a number that is too large");
    return to_string(key);
}

} // namespace

Error Value::wrong(const std::string &why) const
{
    return wrong_at(*node_, why);
}

bool Value::is_null() const
{
    return node_->type == YamlNode::Type::Scalar && !is_mere(*document_, *node_) &&
           std::holds_alternative<std::monostate>(scalar_of(*document_, *node_));
}

std::string Value::text() const
{
    if (node_->type != YamlNode::Type::Scalar)
        throw wrong("it is no text");
    std::string text = is_mere(*document_, *node_) ? std::string(document_->text(*node_))
                                                   : to_string(scalar_of(*document_, *node_));
    if (text.find('\0') != std::string::npos)
        throw wrong("it has a NUL character");
    return text;
}

std::int64_t Value::number(std::int64_t least, std::int64_t most) const
{
    const Scalar scalar =
        node_->type == YamlNode::Type::Scalar ? scalar_of(*document_, *node_) : Scalar(true);
    std::optional<std::int64_t> value;
    if (std::holds_alternative<std::monostate>(scalar))
        value = 0;
    else if (const auto *whole = std::get_if<std::int64_t>(&scalar))
        value = *whole;
    else if (const auto *real = std::get_if<double>(&scalar))
        // 08 is one of these. Where no sign is allowed, -0.0 is not.
        if (constexpr double beyond = 9223372036854775808.0;
            *real == std::floor(*real) && std::abs(*real) < beyond && (least < 0 || !std::signbit(*real)))
            value = static_cast<std::int64_t>(*real);
    if (!value)
        throw wrong("it is no whole number");
    if (*value < least || *value > most)
        throw wrong("the number " + std::to_string(*value) + " is too small or too large");
    return *value;
}

std::vector<Value> Value::list() const
{
    std::vector<Value> items;
    if (is_null())
        return items;
    if (node_->type != YamlNode::Type::Sequence)
        throw wrong("it is no list");
    items.reserve(YamlDocument::size(*node_));
    for (size_t i = 0; i < YamlDocument::size(*node_); ++i)
        items.emplace_back(*document_, document_->member(*node_, i));
    return items;
}

bool Value::flag() const
{
    if (is_null())
        return false;
    const Scalar scalar =
        node_->type == YamlNode::Type::Scalar ? scalar_of(*document_, *node_) : Scalar(std::string());
    if (!std::holds_alternative<bool>(scalar))
        throw wrong("it is neither true nor false");
    return std::get<bool>(scalar);
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
    add(value);
    check_unique(value, names_as);
}

/** There may be any number of them, as there are annotations; but most have a few, and nothing is made of these. */
void Fields::check_unique(const Value &value, Case names_as) const
{
    constexpr size_t few = 12;
    const auto is_same = [&](std::string_view one, std::string_view other) {
        return names_as == Case::Any ? same_word(one, other) : one == other;
    };
    const auto wrong = [&](std::string_view name) {
        return value.wrong("the key " + quote(name) + " is there twice");
    };
    if (fields_.size() <= few) {
        for (auto one = fields_.begin(); one != fields_.end(); ++one)
            if (std::any_of(fields_.begin(), one,
                            [&](const Field &other) { return is_same(one->name, other.name); }))
                throw wrong(one->name);
        return;
    }
    std::vector<std::string_view> names;
    names.reserve(fields_.size());
    for (const Field &field : fields_)
        names.emplace_back(field.name);
    const auto as_written = [&](char c) { return names_as == Case::Any ? lower(c) : c; };
    std::sort(names.begin(), names.end(), [&](std::string_view one, std::string_view other) {
        return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end(),
                                            [&](char a, char b) { return as_written(a) < as_written(b); });
    });
    if (const auto twice = std::adjacent_find(names.begin(), names.end(), is_same); twice != names.end())
        throw wrong(*twice);
}

void Fields::add(const Value &mapping)
{
    const YamlDocument &document = *mapping.document_;
    const YamlNode &node = *mapping.node_;
    if (node.type != YamlNode::Type::Mapping)
        throw mapping.wrong("it is no mapping");
    fields_.reserve(fields_.size() + YamlDocument::size(node) / 2);
    for (size_t i = 0; i < YamlDocument::size(node); i += 2) {
        const YamlNode &key = document.member(node, i);
        const Value value(document, document.member(node, i + 1));
        if (is_merge(document, key))
            merge(value);
        else
            fields_.push_back({key_of(document, key), value});
    }
}

void Fields::merge(const Value &value)
{
    if (value.node_->type != YamlNode::Type::Sequence || value.node_->is_alias)
        return add(value);
    for (const Value &each : value.list())
        add(each);
}

std::optional<Value> Fields::take(std::string_view name)
{
    for (Field &field : fields_) {
        if (!same_word(field.name, name))
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

} // namespace ogh::cdi_devices
