// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <utility>
#include <vector>

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

/**
 * Stores the kept members as the parser meets them. nlohmann's own filter would do, but takes quadratic time:
 * it looks through all elements of a parent whenever one of them ends.
 */
class Builder final : public nlohmann::json_sax<json> {
public:
    Builder(const char *what, const KeepMember &keep) : what_(what), keep_(keep) {}

    [[nodiscard]] json take() { return std::move(document_); }
    [[nodiscard]] size_t error_position() const { return error_position_; }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t & /*text*/) override { return add(value); }
    bool string(string_t &value) override { return add(std::move(value)); }
    bool binary(binary_t & /*value*/) override { return false; }
    bool start_object(size_t /*size*/) override { return open(json::object()); }
    bool start_array(size_t /*size*/) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t &name) override
    {
        if (skipped_at_ == 0 && !is_kept(name))
            skipped_at_ = depth_;
        name_ = std::move(name);
        return true;
    }

    bool parse_error(size_t position, const std::string & /*token*/,
                     const nlohmann::detail::exception & /*error*/) override
    {
        error_position_ = position;
        return false;
    }

private:
    bool is_kept(const std::string &name)
    {
        if (depth_ == 1)
            member_ = name;
        return depth_ > 2 || keep_(member_, depth_ == 1 ? "" : name);
    }

    bool add(json value)
    {
        if (skipped_at_ == 0)
            place(std::move(value));
        else
            end_skipping();
        return true;
    }

    /** A value that is skipped has ended; perhaps it was the whole of it. */
    void end_skipping()
    {
        if (depth_ == skipped_at_)
            skipped_at_ = 0;
    }

    /** Where the value is from now on; nothing is added beside it while something is added to it. */
    json *place(json value)
    {
        if (open_.empty())
            return &(document_ = std::move(value));
        if (open_.back()->is_object())
            return &((*open_.back())[name_] = std::move(value));
        return &open_.back()->emplace_back(std::move(value));
    }

    bool open(json value)
    {
        if (++depth_ > max_depth)
            throw malformed(what_, "is nested deeper than " + std::to_string(max_depth) + " levels");
        if (skipped_at_ == 0)
            open_.push_back(place(std::move(value)));
        return true;
    }

    bool close()
    {
        --depth_;
        if (skipped_at_ == 0)
            open_.pop_back();
        else
            end_skipping();
        return true;
    }

    const char *what_;
    const KeepMember &keep_;
    json document_;
    std::vector<json *> open_;
    std::string member_; ///< of the outermost object
    std::string name_;
    int depth_ = 0;
    int skipped_at_ = 0; ///< the depth of the member whose value is not stored; 0: none
    size_t error_position_ = 0;
};

} // namespace

json parse_object(std::string_view text, const char *what, const KeepMember &keep)
{
    // The parser takes NUL for the end of the text and would not look at what follows.
    if (text.find('\0') != std::string_view::npos)
        throw malformed(what, "is no valid JSON (it contains a NUL character)");
    Builder builder(what, keep);
    if (!json::sax_parse(text.begin(), text.end(), &builder))
        throw malformed(what, "is no valid JSON (at byte " + std::to_string(builder.error_position()) + ")");
    json document = builder.take();
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
