// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ogh {

/** The options of an executable, as getopt_long(3) has them, without abbreviations of their names. */
class CommandLine final {
public:
    /** @param page that --help refers to; the one of that name in section 8 if nullptr */
    CommandLine(const char *name, const char *description, const char *page = nullptr)
        : name_(name), description_(description), page_(page)
    {
    }
    CommandLine(const CommandLine &) = delete;
    CommandLine &operator=(const CommandLine &) = delete;

    /** An option that takes a value. */
    struct Option {
        const char *name; ///< "--allow"
        const char *type; ///< what --help calls the value: "GPU", or "[=GPU]" where it may be left out
        const char *help;

        [[nodiscard]] bool may_go_without() const { return type != nullptr && *type == '['; }
    };

    // What the value is written to lives until parse() has returned. --help lists options in the order in which they
    // are added, below the last heading.

    void heading(const char *text) { heading_ = text; }
    void add(const Option &option, std::string &value);
    void add(const Option &option, std::optional<std::string> &value);
    void add(const Option &option, std::optional<unsigned> &value);
    void add(const Option &option, std::vector<std::string> &values); ///< may be given several times
    /** @param take called with the value, each of them where it may repeat, and throws Error (Usage) for a wrong one */
    void add(const Option &option, std::function<void(const std::string &)> take, bool may_repeat = false);
    void add(const Option &option, bool &flag); ///< without a type
    void add_flag(const char *name, const char *help, bool &flag) { add({name, nullptr, help}, flag); }

    /** What stands on the command line without an option. @param name what --help calls them: "HOOK..." */
    void add_words(const char *name, const char *help, std::vector<std::string> &words);

    /** The same, and from the first of them on all that follows is no option of this, whatever it looks like. */
    void add_rest(const char *name, const char *help, std::vector<std::string> &words);

    /** An option that takes one of `names`, which live as long. @param choose called with it, or "" if there is none */
    void add_choice(const Option &option, std::vector<std::string_view> names,
                    std::function<void(const std::string &)> choose);

    /**
     * Adds -h, --help and --version too, which come last.
     * @return what is to be printed, after --help or --version, instead of doing anything; nothing otherwise
     * @throws Error (Usage)
     */
    [[nodiscard]] std::optional<std::string> parse(int argc, const char *const *argv);

private:
    struct Known {
        Option option; ///< without a type it takes no value
        const char *heading;
        std::function<void(const std::string &)> take;
        bool may_repeat;
        bool is_given = false;

        /** @param word the option, or "option=value". @param next the word behind it, or nullptr. @return whether that is its value */
        bool take_from(std::string_view word, const char *next);
    };

    [[nodiscard]] std::string help() const;
    /** What the word of no option prints. @throws Error (Usage) for any other */
    [[nodiscard]] std::string answer_to(std::string_view word) const;

    const char *name_;
    const char *description_;
    const char *page_;
    const char *heading_ = "Options";
    std::vector<Known> options_;
    Option words_option_{};
    std::vector<std::string> *words_ = nullptr;
    bool words_are_the_rest_ = false;
};

} // namespace ogh
