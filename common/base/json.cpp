// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/letters.h"
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
 * Copies the members that are kept, and passes over the others: the library, which takes ten times as long for a byte,
 * parses the copy. What is passed over is checked as JSON too, its scalars by the library but for the plainest.
 */
class KeptMembers final {
public:
    KeptMembers(std::string_view text, const char *what, const KeepMember &keep)
        : text_(text), what_(what), keep_(keep)
    {
    }

    std::string take()
    {
        if (text_.starts_with("\xef\xbb\xbf")) // which the library passes over, too
            at_ = 3;
        pass_blanks();
        if (next() != '{') {
            pass_value(0);
            pass_end();
            throw malformed(what_, "is no JSON object");
        }
        keep_members({});
        pass_end();
        return std::move(kept_);
    }

private:
    [[nodiscard]] Error invalid() const
    {
        return malformed(what_, "is no valid JSON (at byte " + std::to_string(at_ + 1) + ")");
    }

    /** NUL at the end, and for itself, which JSON never has. */
    [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    void pass_blanks()
    {
        while (next() == ' ' || next() == '\n' || next() == '\t' || next() == '\r')
            ++at_;
    }

    bool pass_if(char wanted)
    {
        pass_blanks();
        if (next() != wanted)
            return false;
        ++at_;
        return true;
    }

    void pass(char wanted)
    {
        if (!pass_if(wanted))
            throw invalid();
    }

    void pass_end()
    {
        pass_blanks();
        if (at_ != text_.size())
            throw invalid();
    }

    /** @return it as it stands in the text, in quotes */
    std::string_view pass_string()
    {
        pass_blanks();
        const size_t begin = at_;
        pass('"');
        bool is_plain = true;
        while (next() != '"') {
            const auto byte = static_cast<unsigned char>(next());
            if (byte < ' ')
                throw invalid();
            is_plain = is_plain && byte != '\\' && byte < 0x80U;
            at_ += byte == '\\' ? 2 : 1;
        }
        ++at_;
        const std::string_view string = text_.substr(begin, at_ - begin);
        if (!is_plain && !json::accept(string))
            throw invalid();
        return string;
    }

    void pass_word()
    {
        constexpr size_t most_plain_digits = 18;
        const size_t begin = at_;
        size_t digits = 0;
        for (; is_letter_or_digit(next()) || next() == '-' || next() == '+' || next() == '.'; ++at_)
            digits += is_digit(next()) ? size_t{1} : 0;
        const std::string_view word = text_.substr(begin, at_ - begin);
        const bool is_plain = digits == word.size() && digits > 0 && digits <= most_plain_digits &&
                              (word.front() != '0' || digits == 1);
        if (!is_plain && word != "true" && word != "false" && word != "null" && !json::accept(word))
            throw invalid();
    }

    void go_deeper(int depth)
    {
        if (depth >= max_depth)
            throw malformed(what_, "is nested deeper than " + std::to_string(max_depth) + " levels");
        ++at_;
    }

    /** @param depth how many objects and lists the value is in; there are at most `max_depth` */
    void pass_value(int depth)
    {
        pass_blanks();
        const char first = next();
        if (first == '"') {
            pass_string();
        } else if (first == '{' || first == '[') {
            const char end = first == '{' ? '}' : ']';
            go_deeper(depth);
            if (pass_if(end))
                return;
            do {
                if (first == '{') {
                    pass_string();
                    pass(':');
                }
                pass_value(depth + 1);
            } while (pass_if(','));
            pass(end);
        } else {
            pass_word();
        }
    }

    /** The next value is an object. @param outer the member of the outermost object that it is; nothing for that itself */
    void keep_members(const std::optional<std::string> &outer) // of two levels
    {
        const int depth = outer ? 2 : 1;
        go_deeper(depth - 1);
        kept_ += '{';
        if (!pass_if('}')) {
            do {
                keep_member(outer, depth);
            } while (pass_if(','));
            pass('}');
        }
        if (kept_.back() == ',')
            kept_.pop_back();
        kept_ += '}';
    }

    void keep_member(const std::optional<std::string> &outer, int depth)
    {
        const std::string_view string = pass_string();
        const std::string name = string.find('\\') == std::string_view::npos
                                     ? std::string(string.substr(1, string.size() - 2))
                                     : json::parse(string).get<std::string>();
        pass(':');
        pass_blanks();
        if (!(outer ? keep_(*outer, name) : keep_(name, ""))) {
            pass_value(depth);
            return;
        }
        kept_.append(string) += ':';
        const size_t begin = at_;
        if (!outer && next() == '{') {
            keep_members(name);
        } else {
            pass_value(depth);
            kept_.append(text_, begin, at_ - begin);
        }
        kept_ += ',';
    }

    std::string_view text_;
    const char *what_;
    const KeepMember &keep_;
    size_t at_ = 0;
    std::string kept_;
};

} // namespace

json parse_object(std::string_view text, const char *what, const KeepMember &keep)
{
    return json::parse(KeptMembers(text, what, keep).take());
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
