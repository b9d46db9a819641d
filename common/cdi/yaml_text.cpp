// SPDX-License-Identifier: Apache-2.0
#include "cdi/yaml_text.h"

#include <yaml.h>

#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ogh::cdi {

namespace {

constexpr size_t max_depth = 64;
constexpr size_t max_nodes = 1'000'000;

/** What is wrong with a text, and in which line of it. */
Error refused_yaml(size_t line, const std::string &why)
{
    return {ErrorKind::BrokenHost, "it is no YAML, line " + std::to_string(line) + ": " + why};
}

std::string_view text_of(const yaml_char_t *text, size_t length)
{
    return {reinterpret_cast<const char *>(text), length};
}

/** An event of libyaml, which it allocates. */
class Event final {
public:
    explicit Event(yaml_parser_t &parser)
    {
        if (::yaml_parser_parse(&parser, &event_) != 0)
            return;
        const char *problem = parser.problem == nullptr ? "out of memory" : parser.problem;
        throw refused_yaml(parser.problem_mark.line + 1, problem);
    }
    Event(const Event &) = delete;
    Event &operator=(const Event &) = delete;
    ~Event() { ::yaml_event_delete(&event_); }

    const yaml_event_t *operator->() const { return &event_; }
    [[nodiscard]] size_t line() const { return event_.start_mark.line + 1; }

private:
    yaml_event_t event_{};
};

class YamlParser final {
public:
    explicit YamlParser(std::string_view text)
    {
        if (::yaml_parser_initialize(&parser_) == 0)
            throw Error(ErrorKind::Failure, "no memory to read YAML");
        // The library takes bytes as unsigned, and does not change them; and it takes no nullptr for nothing.
        const char *const begin = text.empty() ? "" : text.data();
        ::yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char *>(begin), text.size());
    }
    YamlParser(const YamlParser &) = delete;
    YamlParser &operator=(const YamlParser &) = delete;
    ~YamlParser() { ::yaml_parser_delete(&parser_); }

    /** @param node gets what begins at the next event. @return false if nothing does, but something ends */
    bool read(YamlNode &node, size_t depth = 0)
    {
        const Event event(parser_);
        if (event->type == YAML_STREAM_START_EVENT || event->type == YAML_DOCUMENT_START_EVENT)
            return read(node, depth);
        node.line = event.line();
        if (++nodes_ > max_nodes)
            throw refused_yaml(node.line, "it is too large");
        const yaml_char_t *tag = nullptr;
        switch (event->type) {
        case YAML_SCALAR_EVENT:
            tag = event->data.scalar.tag;
            node.text = text_of(event->data.scalar.value, event->data.scalar.length);
            node.plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
            break;
        case YAML_SEQUENCE_START_EVENT:
            tag = event->data.sequence_start.tag;
            node.type = YamlNode::Type::Sequence;
            break;
        case YAML_MAPPING_START_EVENT:
            tag = event->data.mapping_start.tag;
            node.type = YamlNode::Type::Mapping;
            break;
        case YAML_ALIAS_EVENT:
            throw refused_yaml(node.line, "an alias is not understood here: write what it stands for");
        default:
            return false;
        }
        if (tag != nullptr)
            throw refused_yaml(node.line, "a tag, " + quote(reinterpret_cast<const char *>(tag)) +
                                              ", is not understood here");
        if (node.type != YamlNode::Type::Scalar)
            read_members(node, depth + 1);
        return true;
    }

    /** @throws Error unless the document has ended with what was read */
    void end_document() { const Event event(parser_); }

private:
    void read_members(YamlNode &node, size_t depth)
    {
        if (depth > max_depth)
            throw refused_yaml(node.line,
                               "it is nested deeper than " + std::to_string(max_depth) + " levels");
        for (YamlNode member; read(member, depth); member = {})
            node.members.push_back(std::move(member));
    }

    yaml_parser_t parser_{};
    size_t nodes_ = 0;
};

} // namespace

std::optional<YamlNode> read_yaml(std::string_view text)
{
    YamlParser parser(text);
    YamlNode root;
    if (!parser.read(root))
        return std::nullopt;
    parser.end_document();
    return root;
}

} // namespace ogh::cdi
