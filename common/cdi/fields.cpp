// SPDX-License-Identifier: Apache-2.0
#include "cdi/fields.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/letters.h"
#include "base/text.h"
#include "cdi/scalar.h"

namespace ogh::cdi {

namespace {

Error wrong_at(const YamlNode &node, const std::string &why)
{
    return {ErrorKind::BrokenHost, "line " + std::to_string(node.line) + ": " + why};
}

/** Of a list or a mapping nothing is clear. */
Scalar scalar_of(const YamlDocument &document, const YamlNode &node)
{
    return node.type == YamlNode::Type::Scalar ? resolve_scalar(document.text(node), node.plain)
                                               : Scalar::Unclear;
}

/** "" for null. @throws Error if it may be another one */
std::string_view text_of(const YamlDocument &document, const YamlNode &node)
{
    if (node.type != YamlNode::Type::Scalar)
        throw wrong_at(node, "it is no text");
    const std::string_view text = document.text(node);
    switch (scalar_of(document, node)) {
    case Scalar::Null:
        return "";
    case Scalar::Octal:
    case Scalar::Unclear:
        throw wrong_at(node,
                       quote(text) + " may be a number or a word of YAML: where it is a text, quote it");
    default:
        return text;
    }
}

bool is_merge(const YamlDocument &document, const YamlNode &key)
{
    return key.type == YamlNode::Type::Scalar && key.plain && !key.is_alias && document.text(key) == "<<";
}

std::string key_of(const YamlDocument &document, const YamlNode &node)
{
    if (node.type != YamlNode::Type::Scalar || scalar_of(document, node) == Scalar::Null)
        throw wrong_at(node, "a key is no text");
    return std::string(text_of(document, node));
}

} // namespace

Error Value::wrong(const std::string &why) const
{
    return wrong_at(*node_, why);
}

bool Value::is_null() const
{
    return scalar_of(*document_, *node_) == Scalar::Null;
}

std::string Value::text() const
{
    const std::string_view text = text_of(*document_, *node_);
    if (text.find('\0') != std::string_view::npos)
        throw wrong("it has a NUL character");
    return std::string(text);
}

std::int64_t Value::number(std::int64_t least, std::int64_t most) const
{
    const Scalar scalar = scalar_of(*document_, *node_);
    if (scalar == Scalar::Null)
        return 0;
    if (scalar != Scalar::Integer && scalar != Scalar::Octal)
        throw wrong("it is no whole number in decimal digits");
    const std::string_view text = document_->text(*node_);
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
    items.reserve(YamlDocument::size(*node_));
    for (size_t i = 0; i < YamlDocument::size(*node_); ++i)
        items.emplace_back(*document_, document_->member(*node_, i));
    return items;
}

bool Value::flag() const
{
    if (is_null())
        return false;
    if (scalar_of(*document_, *node_) != Scalar::Flag)
        throw wrong("it is neither true nor false");
    return document_->text(*node_) == "true";
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
        return names_as == Case::Any ? is_same_word(one, other) : one == other;
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
    const auto as_written = [&](char c) { return names_as == Case::Any ? to_lower(c) : c; };
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
