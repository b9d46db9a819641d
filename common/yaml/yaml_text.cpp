// SPDX-License-Identifier: Apache-2.0
#include "yaml/yaml_text.h"

#include <yaml.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "yaml/yaml_builder.h"

namespace ogh {

namespace {

std::string_view text_of(const yaml_char_t *text, size_t length)
{
    return {reinterpret_cast<const char *>(text), length};
}

std::string_view text_of(const yaml_char_t *text)
{
    return text == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char *>(text));
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

class Parser final {
public:
    explicit Parser(std::string_view text)
    {
        if (::yaml_parser_initialize(&parser_) == 0)
            throw Error(ErrorKind::Failure, "no memory to read YAML");
        // The library takes bytes as unsigned, and does not change them; and it takes no nullptr for nothing.
        const char *const begin = text.empty() ? "" : text.data();
        ::yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char *>(begin), text.size());
    }
    Parser(const Parser &) = delete;
    Parser &operator=(const Parser &) = delete;
    ~Parser() { ::yaml_parser_delete(&parser_); }

    [[nodiscard]] yaml_parser_t &get() { return parser_; }

private:
    yaml_parser_t parser_{};
};

/** Makes a document of the library's events, without recursion. */
class Reader final {
public:
    Reader(std::string_view text, YamlDocument &document) : parser_(text), builder_(document, text.size()) {}

    void read()
    {
        while (true) {
            const Event event(parser_.get());
            if (event->type == YAML_DOCUMENT_END_EVENT || event->type == YAML_STREAM_END_EVENT)
                return;
            take(event);
        }
    }

private:
    using Index = YamlBuilder::Index;

    void take(const Event &event)
    {
        switch (event->type) {
        case YAML_SCALAR_EVENT:
            add_scalar(event);
            break;
        case YAML_SEQUENCE_START_EVENT:
            open(event, YamlNode::Type::Sequence, event->data.sequence_start.anchor,
                 event->data.sequence_start.tag);
            break;
        case YAML_MAPPING_START_EVENT:
            open(event, YamlNode::Type::Mapping, event->data.mapping_start.anchor,
                 event->data.mapping_start.tag);
            break;
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
            close(event);
            break;
        case YAML_ALIAS_EVENT:
            add_alias(event);
            break;
        default:
            break;
        }
    }

    /** Nobody writes one into files that are read here, and what it says could not be passed over. */
    static void refuse_tag(const yaml_char_t *tag, const Event &event)
    {
        if (tag != nullptr)
            throw refused_yaml(event.line(), "a tag, " + quote(text_of(tag)) + ", is not understood here");
    }

    void add_scalar(const Event &event)
    {
        const auto &scalar = event->data.scalar;
        refuse_tag(scalar.tag, event);
        const Index index = builder_.add_scalar(text_of(scalar.value, scalar.length),
                                                scalar.style == YAML_PLAIN_SCALAR_STYLE, event.line());
        if (scalar.anchor != nullptr)
            anchors_[std::string(text_of(scalar.anchor))] = index;
    }

    void open(const Event &event, YamlNode::Type type, const yaml_char_t *anchor, const yaml_char_t *tag)
    {
        refuse_tag(tag, event);
        builder_.open(type, event.line());
        if (anchor != nullptr)
            anchors_[std::string(text_of(anchor))] = std::nullopt;
        open_anchors_.emplace_back(text_of(anchor));
    }

    void close(const Event &event)
    {
        const Index index = builder_.close(event.line());
        // The same name may have been given to something inside meanwhile, and then it is that one's.
        const std::string &anchor = open_anchors_.back();
        if (const auto known = anchor.empty() ? anchors_.end() : anchors_.find(anchor);
            known != anchors_.end() && !known->second)
            known->second = index;
        open_anchors_.pop_back();
    }

    void add_alias(const Event &event)
    {
        const auto known = anchors_.find(text_of(event->data.alias.anchor));
        if (known == anchors_.end())
            throw refused_yaml(event.line(), "an alias of nothing");
        if (!known->second)
            throw refused_yaml(event.line(), "an alias within what it repeats");
        builder_.repeat(*known->second, event.line());
    }

    Parser parser_;
    YamlBuilder builder_;
    std::vector<std::string> open_anchors_; ///< of each that has not ended; "" for none
    std::map<std::string, std::optional<Index>, std::less<>> anchors_; ///< nothing: it has not ended
};

} // namespace

YamlDocument read_yaml(std::string_view text)
{
    YamlDocument document;
    Reader(text, document).read();
    return document;
}

} // namespace ogh
