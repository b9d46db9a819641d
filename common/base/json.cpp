// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

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
    KeptMembers(std::string_view text, const char *what, KeptPaths paths)
        : text_(text), what_(what), paths_(paths)
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
        keep_parts(0);
        pass_end();
        return std::move(kept_);
    }

private:
    enum class Kept { Nothing, Parts, Whole };

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
        size_t at = at_;
        for (; at < text_.size() && text_[at] != '"'; ++at) {
            const auto byte = static_cast<unsigned char>(text_[at]);
            if (byte < ' ')
                break;
            is_plain = is_plain && byte != '\\' && byte < 0x80U;
            at += byte == '\\' ? 1 : 0;
        }
        at_ = at;
        if (next() != '"')
            throw invalid();
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

    [[nodiscard]] Kept kept_of_path() const
    {
        if (paths_.empty())
            return Kept::Whole;
        for (const auto &[path, wanted] : paths_) {
            if (path == path_)
                return Kept::Whole;
            if (path.size() > path_.size() && path[path_.size()] == '/' && path.starts_with(path_))
                return Kept::Parts;
        }
        return Kept::Nothing;
    }

    void keep_whole(int depth)
    {
        const size_t begin = at_;
        pass_value(depth);
        const std::string_view value = text_.substr(begin, at_ - begin);
        kept_.append(value);
        for (const auto &[path, wanted] : paths_) {
            if (!wanted.empty() && path == path_)
                is_wanted_ = !is_plain_text(value) || value.substr(1, value.size() - 2) == wanted;
        }
    }

    /** What has no escapes means what is written. */
    static bool is_plain_text(std::string_view value)
    {
        return value.starts_with('"') && value.find('\\') == std::string_view::npos;
    }

    /** Keeps what is asked for of the next value, which begins here: of an object, or of each in a list. */
    void keep_parts(int depth)
    {
        const char first = next();
        if (first != '{' && first != '[') {
            keep_whole(depth);
            return;
        }
        const char end = first == '{' ? '}' : ']';
        go_deeper(depth);
        kept_ += first;
        if (!pass_if(end)) {
            do {
                if (first == '{')
                    keep_member(depth + 1);
                else
                    keep_element(depth + 1);
            } while (pass_if(','));
            pass(end);
        }
        if (kept_.back() == ',')
            kept_.pop_back();
        kept_ += end;
    }

    void keep_element(int depth)
    {
        const size_t before = kept_.size();
        const bool outer = std::exchange(is_wanted_, true);
        pass_blanks();
        keep_parts(depth);
        if (is_wanted_)
            kept_ += ',';
        else
            kept_.resize(before);
        is_wanted_ = outer;
    }

    void keep_member(int depth)
    {
        const std::string_view string = pass_string();
        const size_t outer = path_.size();
        if (outer != 0)
            path_ += '/';
        if (string.find('\\') == std::string_view::npos)
            path_ += string.substr(1, string.size() - 2);
        else
            path_ += json::parse(string).get<std::string>();
        pass(':');
        pass_blanks();
        const Kept kept = kept_of_path();
        if (kept == Kept::Nothing) {
            pass_value(depth);
        } else {
            kept_.append(string) += ':';
            kept == Kept::Whole ? keep_whole(depth) : keep_parts(depth);
            kept_ += ',';
        }
        path_.resize(outer);
    }

    std::string_view text_;
    const char *what_;
    KeptPaths paths_;
    size_t at_ = 0;
    std::string path_;      ///< of the member that is being read
    bool is_wanted_ = true; ///< the element of a list that is being read
    std::string kept_;
};

} // namespace

json parse_object(std::string_view text, const char *what, KeptPaths kept)
{
    return json::parse(KeptMembers(text, what, kept).take());
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
