// SPDX-License-Identifier: Apache-2.0
#include "base/command_line.h"

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

} // namespace

void CommandLine::add(const Option &option, std::function<void(const std::string &)> take, bool may_repeat)
{
    options_.push_back({option, heading_, std::move(take), may_repeat});
}

void CommandLine::add(const Option &option, std::string &value)
{
    add(option, [&value](const std::string &text) { value = text; });
}

void CommandLine::add(const Option &option, std::optional<std::string> &value)
{
    add(option, [&value](const std::string &text) { value = text; });
}

void CommandLine::add(const Option &option, std::optional<unsigned> &value)
{
    add(option, [name = option.name, &value](const std::string &text) {
        value = parse_small_number(text, std::numeric_limits<unsigned>::max());
        if (!value)
            throw refused(std::string(name) + " needs a number, not " + quote(text));
    });
}

void CommandLine::add(const Option &option, std::vector<std::string> &values)
{
    add(
        option, [&values](const std::string &text) { values.push_back(text); }, true);
}

void CommandLine::add(const Option &option, bool &flag)
{
    add(
        option, [&flag](const std::string &) { flag = true; }, true);
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
    add(option, [option, names = std::move(names), choose = std::move(choose)](const std::string &text) {
        if (!contains(names, text) && !(text.empty() && option.may_go_without()))
            throw refused(std::string(option.name) + " takes " + quote_list({names.begin(), names.end()}) +
                          ", not " + quote(text));
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

bool CommandLine::Known::take_from(std::string_view word, const char *next)
{
    const std::string_view name = option.name;
    const bool has_value = name.size() < word.size();
    if (has_value && option.type == nullptr)
        throw refused(quote(name) + " takes no value");
    const bool is_next = !has_value && option.type != nullptr && !option.may_go_without();
    if (is_next && next == nullptr)
        throw refused(quote(name) + " needs a value");
    if (std::exchange(is_given, true) && !may_repeat)
        throw refused(quote(name) + " is given twice");
    take(std::string(is_next ? next : word.substr(std::min(name.size() + 1, word.size()))));
    return is_next;
}

std::string CommandLine::answer_to(std::string_view word) const
{
    if (word == "-h" || word == "--help")
        return help();
    if (word == "--version")
        return std::string(name_) + " " OGH_VERSION "\n";
    const std::string_view name = word.substr(0, word.find('='));
    const bool is_known = name == "--help" || name == "--version";
    throw refused(is_known ? quote(name) + " takes no value" : "unknown option " + quote(name));
}

std::optional<std::string> CommandLine::parse(int argc, const char *const *argv)
{
    std::vector<std::string> rest;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const bool is_option = word.size() > 1 && word.starts_with('-');
        if (word == "--" || (!is_option && words_are_the_rest_)) {
            rest.insert(rest.end(), argv + i + (is_option ? 1 : 0), argv + argc);
            break;
        }
        if (!is_option) {
            rest.emplace_back(word);
            continue;
        }
        const std::string_view name = word.substr(0, word.find('='));
        const auto known = std::find_if(options_.begin(), options_.end(),
                                        [&](const Known &each) { return name == each.option.name; });
        if (known == options_.end())
            return answer_to(word);
        if (known->take_from(word, i + 1 < argc ? argv[i + 1] : nullptr))
            ++i;
    }
    if (words_ == nullptr && !rest.empty())
        throw refused("unexpected argument " + quote(rest.front()));
    if (words_ != nullptr)
        *words_ = rest;
    return std::nullopt;
}

} // namespace ogh
