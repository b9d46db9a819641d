// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "base/error.h"
#include "base/text.h"

namespace ogh {

using nlohmann::json;

namespace {

constexpr int max_depth = 64;

Error malformed(const char *what, const std::string &why)
{
    return {ErrorKind::Failure, std::string(what) + " " + why};
}

/** Before the library stores any of it; what is no JSON besides, that says. */
void check_depth(std::string_view text, const char *what)
{
    int depth = 0;
    bool is_in_string = false;
    for (size_t at = 0; at < text.size(); ++at) {
        const char byte = text[at];
        if (byte == '"')
            is_in_string = !is_in_string;
        else if (is_in_string)
            at += byte == '\\' ? 1 : 0;
        else if (byte == '[' || byte == '{')
            ++depth;
        else if (byte == ']' || byte == '}')
            --depth;
        if (depth > max_depth)
            throw malformed(what, "is nested deeper than " + std::to_string(max_depth) + " levels");
    }
}

} // namespace

json parse_object(std::string_view text, const char *what)
{
    check_depth(text, what);
    json document;
    try {
        document = json::parse(text);
    } catch (const json::parse_error &error) {
        throw malformed(what, "is no valid JSON (at byte " + std::to_string(error.byte) + ")");
    } catch (const json::exception &) {
        throw malformed(what, "is no valid JSON (a number is out of range)");
    }
    if (text.find('\0') != std::string_view::npos) // for the library it is the text's end
        throw malformed(what, "is no valid JSON (at byte " + std::to_string(text.find('\0') + 1) + ")");
    if (!document.is_object())
        throw malformed(what, "is no JSON object");
    return document;
}

const json *find_member(const json &object, const char *name)
{
    const auto member = object.find(name);
    return member == object.end() || member->is_null() ? nullptr : &*member;
}

std::string checked_string(const json &value, const std::string &name, const char *what)
{
    const auto *text = value.get_ptr<const std::string *>();
    if (text == nullptr)
        throw malformed(what, "has a value of the wrong type: " + quote(name) + " is no string");
    if (text->find('\0') != std::string::npos)
        throw malformed(what, "has a NUL character in " + quote(name));
    return *text;
}

std::string text_member(const json &object, const char *name)
{
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string string_member(const json &object, const char *name, const char *what)
{
    const json *value = find_member(object, name);
    return value == nullptr ? std::string() : checked_string(*value, name, what);
}

} // namespace ogh
