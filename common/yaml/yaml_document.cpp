// SPDX-License-Identifier: Apache-2.0
#include "yaml/yaml_document.h"

#include <yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "base/error.h"

namespace ogh {

namespace {

using Index = std::uint32_t;

constexpr size_t bytes_per_weight = 64;

std::string_view text_of(const yaml_char_t *text, size_t length)
{
    return {reinterpret_cast<const char *>(text), length};
}

std::string_view text_of(const yaml_char_t *text)
{
    return text == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char *>(text));
}

Error refused(size_t line, const std::string &why)
{
    return {ExitCode::Host, "it is no YAML, line " + std::to_string(line) + ": " + why};
}

Error too_deep(size_t line)
{
    return refused(line, "it is nested deeper than " + std::to_string(YamlDocument::max_depth) + " levels");
}

/** An event of libyaml, which it allocates. */
class Event final {
public:
    explicit Event(yaml_parser_t &parser)
    {
        if (::yaml_parser_parse(&parser, &event_) != 0)
            return;
        const char *problem = parser.problem == nullptr ? "out of memory" : parser.problem;
        throw refused(parser.problem_mark.line + 1, problem);
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
            throw Error(ExitCode::Failure, "no memory to read YAML");
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

} // namespace

/** Makes a document of the library's events, without recursion. */
class YamlDocument::Reader final {
public:
    Reader(std::string_view text, YamlDocument &document) : document_(document), parser_(text)
    {
        document_.text_.reserve(text.size());
    }

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
    /** A sequence or a mapping that has not ended. */
    struct Open {
        Index node;
        size_t first; ///< of its members, in `pending_`
    };

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

    void add_scalar(const Event &event)
    {
        const auto &scalar = event->data.scalar;
        const Index index = add(event, YamlNode::Type::Scalar, scalar.tag);
        YamlNode &node = document_.nodes_[index];
        node.value_ = store(text_of(scalar.value, scalar.length));
        node.weight_ += static_cast<Index>(scalar.length / bytes_per_weight);
        node.plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
        name(scalar.anchor, index);
        place(index);
    }

    void open(const Event &event, YamlNode::Type type, const yaml_char_t *anchor, const yaml_char_t *tag)
    {
        if (open_.size() == max_depth)
            throw too_deep(event.line());
        const Index index = add(event, type, tag);
        // Until it has ended nothing is in it: an alias to it is refused, and a walk over the nodes has an end.
        if (anchor != nullptr)
            anchors_[std::string(text_of(anchor))] = std::nullopt;
        open_.push_back({index, pending_.size()});
        open_anchors_.emplace_back(text_of(anchor));
    }

    void close(const Event &event)
    {
        const auto [index, first] = open_.back();
        YamlNode &node = document_.nodes_[index];
        node.value_ = {static_cast<Index>(document_.members_.size()),
                       static_cast<Index>(pending_.size() - first)};
        weigh(node, std::span(pending_).subspan(first), event);
        const auto begin = pending_.begin() + static_cast<std::ptrdiff_t>(first);
        document_.members_.insert(document_.members_.end(), begin, pending_.end());
        pending_.erase(begin, pending_.end());
        // The same name may have been given to something inside meanwhile, and then it is that one's.
        if (const auto known = anchors_.find(open_anchors_.back()); known != anchors_.end() && !known->second)
            known->second = index;
        open_.pop_back();
        open_anchors_.pop_back();
        place(index);
    }

    void add_alias(const Event &event)
    {
        const auto known = anchors_.find(text_of(event->data.alias.anchor));
        if (known == anchors_.end())
            throw refused(event.line(), "an alias of nothing");
        if (!known->second)
            throw refused(event.line(), "an alias within what it repeats");
        place(*known->second);
    }

    void weigh(YamlNode &node, std::span<const Index> members, const Event &event) const
    {
        size_t weight = 1;
        for (const Index index : members) {
            const YamlNode &member = document_.nodes_[index];
            node.height_ = std::max(node.height_, member.height_ + 1);
            weight += member.weight_;
        }
        if (weight > max_weight)
            throw refused(event.line(), "it is too large");
        if (node.height_ > max_depth)
            throw too_deep(event.line());
        node.weight_ = static_cast<std::uint32_t>(weight);
    }

    Index add(const Event &event, YamlNode::Type type, const yaml_char_t *tag)
    {
        if (document_.nodes_.size() >= max_weight || pending_.size() >= max_weight)
            throw refused(event.line(), "it is too large");
        YamlNode node;
        node.type = type;
        node.line = static_cast<std::uint32_t>(event.line());
        node.tag_ = store(text_of(tag));
        document_.nodes_.push_back(node);
        return static_cast<Index>(document_.nodes_.size() - 1);
    }

    YamlNode::Range store(std::string_view text)
    {
        const YamlNode::Range range{static_cast<Index>(document_.text_.size()),
                                    static_cast<Index>(text.size())};
        document_.text_ += text;
        return range;
    }

    void name(const yaml_char_t *anchor, Index index)
    {
        if (anchor != nullptr)
            anchors_[std::string(text_of(anchor))] = index;
    }

    void place(Index index)
    {
        if (open_.empty())
            document_.root_ = index;
        else
            pending_.push_back(index);
    }

    YamlDocument &document_;
    Parser parser_;
    std::vector<Open> open_;
    std::vector<std::string> open_anchors_; ///< of each of open_; "" for none
    std::vector<Index> pending_;            ///< members of those that have not ended
    std::map<std::string, std::optional<Index>, std::less<>> anchors_; ///< nothing: it has not ended
};

YamlDocument::YamlDocument(std::string_view text)
{
    Reader(text, *this).read();
}

} // namespace ogh
