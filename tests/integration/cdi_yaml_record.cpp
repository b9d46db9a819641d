// SPDX-License-Identifier: Apache-2.0
// What cdi-devices makes of texts in YAML: the same record, and the same input and output, as cdi_yaml_oracle.go.
#include <cstdint>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cdi/spec_parser.h"
#include "cdi/yaml_text.h"

namespace {

using nlohmann::json;
using namespace ogh::cdi;

json read_record(const Value &value)
{
    Fields fields(value);
    json record = json::object();
    if (auto text = fields.take("text").text(); !text.empty())
        record["text"] = std::move(text);
    if (const auto number = fields.take("number").number(); number != 0)
        record["number"] = number;
    if (const auto small = fields.take("small").small_number())
        record["small"] = *small;
    if (fields.take("flag").flag())
        record["flag"] = true;
    if (auto texts = fields.take("texts").texts(); !texts.empty())
        record["texts"] = std::move(texts);
    if (const Value notes = fields.take("notes"); !notes.is_null()) {
        // As annotations: nobody wants to know what they say.
        const Fields names(notes, Case::Exact);
        names.check_texts();
        if (!names.empty())
            record["notes"] = true;
    }
    if (const Value part = fields.take("part"); !part.is_null())
        record["part"] = read_record(part);
    for (const Value &part : fields.take("parts").list())
        record["parts"].push_back(read_record(part));
    fields.finish();
    return record;
}

json outcome(std::string_view text)
{
    try {
        const auto root = read_yaml(text);
        return {{"value", root ? read_record(Value(*root)) : json::object()}};
    } catch (const ogh::Error &error) {
        return {{"error", error.what()}};
    }
}

} // namespace

int main()
{
    size_t length = 0;
    while (std::cin >> length) {
        std::cin.ignore();
        std::string text(length, '\0');
        if (!std::cin.read(text.data(), static_cast<std::streamsize>(length)))
            return 1;
        std::cout << outcome(text).dump(-1, ' ', true, json::error_handler_t::replace) << '\n';
    }
    return 0;
}
