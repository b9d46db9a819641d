// SPDX-License-Identifier: Apache-2.0
#include "hook/command_line.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "build_config.h"

namespace ogh {

namespace {

template<typename Value> auto describe(const CommandLine::Option &option, Value &value)
{
    return [option, &value](CLI::App &app, const char *heading) {
        app.add_option(option.name, value, option.help)->type_name(option.type)->group(heading);
    };
}

std::string why_unexpected(const CLI::App &app)
{
    const auto words = app.remaining();
    const auto option = std::find_if(words.begin(), words.end(),
                                     [](const std::string &word) { return word.starts_with('-'); });
    if (option != words.end())
        return "unknown option " + quote(option->substr(0, option->find('=')));
    return "unexpected argument " + quote(words.empty() ? "" : words.front());
}

} // namespace

void CommandLine::add(Describe describe)
{
    options_.emplace_back(
        [describe = std::move(describe), heading = heading_](CLI::App &app) { describe(app, heading); });
}

void CommandLine::add(const Option &option, std::string &value)
{
    add(describe(option, value));
}

void CommandLine::add(const Option &option, std::optional<std::string> &value)
{
    add(describe(option, value));
}

void CommandLine::add(const Option &option, std::optional<unsigned> &value)
{
    add(describe(option, value));
}

void CommandLine::add(const Option &option, std::vector<std::string> &values)
{
    add(describe(option, values));
}

void CommandLine::add_flag(const char *name, const char *help, bool &flag)
{
    add([=, &flag](CLI::App &app, const char *heading) { app.add_flag(name, flag, help)->group(heading); });
}

void CommandLine::add_words(const char *name, const char *help, std::vector<std::string> &words)
{
    add([=, &words](CLI::App &app, const char *) {
        app.add_option(name, words, help)->type_name("")->group("Arguments");
    });
}

void CommandLine::add_choice(const Option &option, const std::vector<std::string> &names,
                             const std::function<void(const std::string &)> &choose)
{
    add([=](CLI::App &app, const char *heading) {
        app.add_option_function<std::string>(option.name, choose, option.help)
            ->check(CLI::IsMember(names).description(""))
            ->type_name(option.type)
            ->group(heading);
    });
}

std::optional<std::string> CommandLine::parse(int argc, const char *const *argv)
{
    // As most hooks are called: describing what is not there was half of the instructions of one with nothing to do.
    if (argc <= 1)
        return std::nullopt;
    CLI::App app(description_, name_);
    app.set_help_flag();
    for (const auto &add_to : options_)
        add_to(app);
    app.set_help_flag("-h,--help", "Print this text")->group(heading_);
    app.set_version_flag("--version", std::string(name_) + " " OGH_VERSION, "Print the version")
        ->group(heading_);
    const auto refused = [](const std::string &why) { return Error(ErrorKind::Usage, why + "; see --help"); };
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
        return app.help() + "See " + (page_ != nullptr ? page_ : name_ + std::string("(8)")) + ".\n";
    } catch (const CLI::CallForVersion &version) {
        return std::string(version.what()) + "\n";
    } catch (const CLI::ExtrasError &) {
        throw refused(why_unexpected(app));
    } catch (const CLI::ParseError &error) {
        throw refused(error.what());
    }
    return std::nullopt;
}

} // namespace ogh
