// SPDX-License-Identifier: Apache-2.0
#include "base/command_line.h"

#include <getopt.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "build_config.h"

namespace ogh {

namespace {

constexpr size_t help_column = 30;

Error refused(const std::string &why)
{
    return {ErrorKind::Usage, why + "; see --help"};
}

std::string help_line(std::string left, const char *help)
{
    left.insert(0, "  ");
    left += left.size() < help_column ? std::string(help_column - left.size(), ' ')
                                      : "\n" + std::string(help_column, ' ');
    return left + help + "\n";
}

/** What getopt_long() returns for an option without a letter: this and its place in the table. */
constexpr int first_value = 256;

/** The words, as getopt_long() takes them: it puts those that belong to no option last. */
class Words final {
public:
    /** @param options of getopt_long(): with '+' in front, the first word ends them */
    Words(int argc, const char *const *argv, const char *options)
        : copies_(argv, argv + argc), options_(options)
    {
        for (std::string &copy : copies_)
            pointers_.push_back(copy.data());
        pointers_.push_back(nullptr);
        ::optind = 0; // begins anew, also where it has been called before
        ::opterr = 0;
    }

    /** The place in `table` of the next option, or nothing after the last one. @throws Error (Usage) */
    std::optional<size_t> next(const std::vector<::option> &table)
    {
        const int argc = static_cast<int>(copies_.size());
        const int value = ::getopt_long(argc, pointers_.data(), options_, table.data(), nullptr);
        if (value == -1)
            return std::nullopt;
        if (value == 'h')
            return table.size() - 3;
        const std::string name = this->name();
        const int known = value == '?' || value == ':' ? ::optopt : value;
        if (known < first_value)
            throw refused("unknown option " +
                          quote(known == 0 ? name : std::string("-") + static_cast<char>(known)));
        const auto place = static_cast<size_t>(known - first_value);
        if (name != std::string("--") + table.at(place).name) // an abbreviation
            throw refused("unknown option " + quote(name));
        if (value == '?')
            throw refused(quote(name) + " takes no value");
        if (value == ':')
            throw refused(quote(name) + " needs a value");
        return place;
    }

    /** Those that belong to no option, after the last of them. */
    [[nodiscard]] std::vector<std::string> rest() const
    {
        return {pointers_.begin() + ::optind, pointers_.end() - 1};
    }

private:
    /** The option that was read last, as it is written. */
    [[nodiscard]] std::string name() const
    {
        const auto next = static_cast<size_t>(::optind);
        const bool value_is_a_word = ::optarg != nullptr && ::optarg == pointers_.at(next - 1);
        const std::string_view word = pointers_.at(next - (value_is_a_word ? 2 : 1));
        return std::string(word.substr(0, word.find('=')));
    }

    std::vector<std::string> copies_;
    std::vector<char *> pointers_;
    const char *options_;
};

} // namespace

void CommandLine::add(const Option &option, bool may_repeat, std::function<void(const std::string &)> take)
{
    options_.push_back({option, heading_, std::move(take), may_repeat});
}

void CommandLine::add(const Option &option, std::string &value)
{
    add(option, false, [&value](const std::string &text) { value = text; });
}

void CommandLine::add(const Option &option, std::optional<std::string> &value)
{
    add(option, false, [&value](const std::string &text) { value = text; });
}

void CommandLine::add(const Option &option, std::optional<unsigned> &value)
{
    add(option, false, [name = option.name, &value](const std::string &text) {
        value = parse_small_number(text, std::numeric_limits<unsigned>::max());
        if (!value)
            throw refused(std::string(name) + " needs a number, not " + quote(text));
    });
}

void CommandLine::add(const Option &option, std::vector<std::string> &values)
{
    add_each(option, [&values](const std::string &text) { values.push_back(text); });
}

void CommandLine::add_each(const Option &option, std::function<void(const std::string &)> take)
{
    add(option, true, std::move(take));
}

void CommandLine::add(const Option &option, bool &flag)
{
    add(option, true, [&flag](const std::string &) { flag = true; });
}

void CommandLine::add_words(const char *name, const char *help, std::vector<std::string> &words)
{
    words_option_ = {name, "", help};
    words_ = &words;
}

void CommandLine::add_rest(const char *name, const char *help, std::vector<std::string> &words)
{
    add_words(name, help, words);
    words_are_the_rest_ = true;
}

void CommandLine::add_choice(const Option &option, std::vector<std::string_view> names,
                             std::function<void(const std::string &)> choose)
{
    add(option, false,
        [option, names = std::move(names), choose = std::move(choose)](const std::string &text) {
            if (!contains(names, text) && !(text.empty() && option.may_go_without()))
                throw refused(std::string(option.name) + " takes " +
                              quote_list({names.begin(), names.end()}) + ", not " + quote(text));
            choose(text);
        });
}

std::string CommandLine::help() const
{
    std::string text = std::string(description_) + "\nUsage: " + name_ + " [OPTIONS]";
    if (words_ != nullptr)
        text += std::string(" [") + words_option_.name + "]\n\nArguments:\n" +
                help_line(words_option_.name, words_option_.help);
    else
        text += "\n";
    std::string_view heading;
    for (const Known &known : options_) {
        if (known.heading != heading)
            text += "\n" + std::string(known.heading) + ":\n";
        heading = known.heading;
        const char *const type = known.option.type;
        const char *const gap = type == nullptr || known.option.may_go_without() ? "" : " ";
        text += help_line(std::string(known.option.name) + gap + (type == nullptr ? "" : type),
                          known.option.help);
    }
    text += help_line("-h,--help", "Print this text") + help_line("--version", "Print the version");
    return text + "\nSee " + (page_ != nullptr ? page_ : name_ + std::string("(8)")) + ".\n";
}

std::optional<std::string> CommandLine::parse(int argc, const char *const *argv)
{
    // As most hooks are called.
    if (argc <= 1)
        return std::nullopt;
    std::vector<::option> table;
    const auto add_name = [&](const char *name, int has_value) {
        table.push_back({name, has_value, nullptr, first_value + static_cast<int>(table.size())});
    };
    for (const auto &[option, heading, take, may_repeat] : options_)
        add_name(option.name + 2, option.type == nullptr    ? no_argument
                                  : option.may_go_without() ? optional_argument
                                                            : required_argument);
    add_name("help", no_argument);
    add_name("version", no_argument);
    table.push_back({});

    Words words(argc, argv, words_are_the_rest_ ? "+:h" : ":h");
    std::vector<bool> is_given(table.size());
    while (const auto place = words.next(table)) {
        if (*place >= options_.size())
            return *place == options_.size() ? help() : std::string(name_) + " " OGH_VERSION "\n";
        const Known &known = options_[*place];
        if (is_given[*place] && !known.may_repeat)
            throw refused(quote(known.option.name) + " is given twice");
        is_given[*place] = true;
        known.take(::optarg == nullptr ? "" : ::optarg);
    }
    const std::vector<std::string> rest = words.rest();
    if (words_ == nullptr && !rest.empty())
        throw refused("unexpected argument " + quote(rest.front()));
    if (words_ != nullptr)
        *words_ = rest;
    return std::nullopt;
}

} // namespace ogh
