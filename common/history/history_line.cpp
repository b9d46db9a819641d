// SPDX-License-Identifier: Apache-2.0
#include "history/history_line.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ogh {

void HistoryLine::begin(std::string_view name)
{
    if (text_.size() > 1)
        text_ += ',';
    text_ += '"';
    text_ += name;
    text_ += "\":";
}

void HistoryLine::add_text(std::string_view text)
{
    text = text.substr(0, max_text);
    const auto is_plain = [](char letter) {
        return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
    };
    if (std::all_of(text.begin(), text.end(), is_plain))
        text_.append("\"").append(text).append("\"");
    else
        text_ += nlohmann::ordered_json(as_utf8(text)).dump(-1, ' ', true);
}

void HistoryLine::add(std::string_view name, std::string_view text)
{
    if (text.empty())
        return;
    begin(name);
    add_text(text);
}

void HistoryLine::add(std::string_view name, const std::vector<std::string> &texts)
{
    begin(name);
    char before = '[';
    for (const std::string &text : texts) {
        text_ += before;
        add_text(text);
        before = ',';
    }
    text_ += texts.empty() ? "[]" : "]";
}

void HistoryLine::add_number(std::string_view name, std::uint64_t number)
{
    begin(name);
    text_ += std::to_string(number);
}

void HistoryLine::add_time(std::string_view name, std::int64_t ns)
{
    const std::int64_t ms = std::max(ns, std::int64_t{0}) / 1'000'000;
    const std::string rest = std::to_string(ms % 1000);
    begin(name);
    text_ += std::to_string(ms / 1000) + "." + std::string(3 - rest.size(), '0') + rest;
}

void add_label(HistoryLine &line, const ContainerLabel &label)
{
    line.add("name", label.name);
    line.add("image", label.image);
    line.add("user", label.user);
    line.add("asker", label.asker);
}

} // namespace ogh
