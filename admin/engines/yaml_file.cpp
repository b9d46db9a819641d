// SPDX-License-Identifier: Apache-2.0
#include "engines/yaml_file.h"

#include <yaml.h>

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace ogh::admin {

namespace {

using nlohmann::json;

constexpr size_t max_yaml_nodes = 1'000'000;
constexpr int max_depth = 64;

class Parser final {
public:
    explicit Parser(std::string_view text)
    {
        if (::yaml_parser_initialize(&parser_) == 0)
            throw Error(ExitCode::Failure, "no memory to read YAML");
        // The library takes bytes as unsigned, and does not change them.
        ::yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char *>(text.data()),
                                       text.size());
        if (::yaml_parser_load(&parser_, &document_) == 0) {
            const std::string problem = parser_.problem == nullptr ? "" : parser_.problem;
            const size_t line = parser_.problem_mark.line + 1;
            ::yaml_parser_delete(&parser_);
            throw Error(ExitCode::Host, "it is no YAML, line " + std::to_string(line) + ": " + problem);
        }
    }
    Parser(const Parser &) = delete;
    Parser &operator=(const Parser &) = delete;
    ~Parser()
    {
        ::yaml_document_delete(&document_);
        ::yaml_parser_delete(&parser_);
    }

    [[nodiscard]] json root()
    {
        const yaml_node_t *const top = ::yaml_document_get_root_node(&document_);
        return top == nullptr ? json() : convert(*top, 0);
    }

private:
    [[nodiscard]] json convert(int index, int depth) { return convert(*node(index), depth); }

    [[nodiscard]] const yaml_node_t *node(int index) { return ::yaml_document_get_node(&document_, index); }

    [[nodiscard]] json convert(const yaml_node_t &one, int depth)
    {
        if (depth > max_depth || ++nodes_ > max_yaml_nodes)
            throw Error(ExitCode::Host, "it is nested too deep, or too large");
        if (one.type == YAML_SCALAR_NODE)
            return text_of(one);
        if (one.type == YAML_SEQUENCE_NODE) {
            json list = json::array();
            for (const int item : std::span(one.data.sequence.items.start, one.data.sequence.items.top))
                list.push_back(convert(item, depth + 1));
            return list;
        }
        json object = json::object();
        if (one.type == YAML_MAPPING_NODE)
            for (const yaml_node_pair_t &pair :
                 std::span(one.data.mapping.pairs.start, one.data.mapping.pairs.top))
                if (const yaml_node_t *const key = node(pair.key); key->type == YAML_SCALAR_NODE)
                    object[text_of(*key)] = convert(pair.value, depth + 1);
        return object;
    }

    static std::string text_of(const yaml_node_t &scalar)
    {
        return {reinterpret_cast<const char *>(scalar.data.scalar.value), scalar.data.scalar.length};
    }

    yaml_parser_t parser_{};
    yaml_document_t document_{};
    size_t nodes_ = 0;
};

} // namespace

json parse_yaml(std::string_view text)
{
    return Parser(text).root();
}

} // namespace ogh::admin
