// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include "error.h"
#include "text.h"

namespace ogh {

using nlohmann::json;

namespace {

constexpr int max_depth = 64;

Error malformed(const char *what, const std::string &why)
{
    return {ExitCode::Failure, std::string(what) + " " + why};
}

} // namespace

json parse_object(std::string_view text, const char *what,
                  const std::function<bool(const std::string &)> &keep)
{
    const json::parser_callback_t filter = [&](int depth, json::parse_event_t event, json &parsed) {
        if (depth > max_depth)
            throw malformed(what, "is nested deeper than " + std::to_string(max_depth) + " levels");
        return event != json::parse_event_t::key || depth != 1 || keep(parsed.get_ref<const std::string &>());
    };
    json document;
    try {
        document = json::parse(text.begin(), text.end(), filter);
    } catch (const json::parse_error &error) {
        throw malformed(what, "is no valid JSON (at byte " + std::to_string(error.byte) + ")");
    }
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

std::string string_member(const json &object, const char *name, const char *what)
{
    const json *value = find_member(object, name);
    return value == nullptr ? std::string() : checked_string(*value, name, what);
}

} // namespace ogh
