// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "build_config.h"
#include "error.h"
#include "text.h"

namespace ogh {

CommandLine::CommandLine(const char *name, const char *description)
    : name_(name), app_(std::make_unique<CLI::App>(description, name))
{
    app_->set_help_flag();
}

CommandLine::~CommandLine() = default;

void CommandLine::add(const Option &option, std::string &value)
{
    app_->add_option(option.name, value, option.help)->type_name(option.type)->group(heading_);
}

void CommandLine::add(const Option &option, std::optional<std::string> &value)
{
    app_->add_option(option.name, value, option.help)->type_name(option.type)->group(heading_);
}

void CommandLine::add(const Option &option, std::optional<unsigned> &value)
{
    app_->add_option(option.name, value, option.help)->type_name(option.type)->group(heading_);
}

void CommandLine::add(const Option &option, std::vector<std::string> &values)
{
    app_->add_option(option.name, values, option.help)->type_name(option.type)->group(heading_);
}

void CommandLine::add_flag(const char *name, const char *help, bool &flag)
{
    app_->add_flag(name, flag, help)->group(heading_);
}

void CommandLine::add_choice(const Option &option, const std::vector<std::string> &names,
                             const std::function<void(const std::string &)> &choose)
{
    app_->add_option_function<std::string>(option.name, choose, option.help)
        ->check(CLI::IsMember(names).description(""))
        ->type_name(option.type)
        ->group(heading_);
}

std::string CommandLine::why_unexpected() const
{
    const auto words = app_->remaining();
    const auto option = std::find_if(words.begin(), words.end(),
                                     [](const std::string &word) { return word.starts_with('-'); });
    if (option != words.end())
        return "unknown option " + quote(option->substr(0, option->find('=')));
    return "unexpected argument " + quote(words.empty() ? "" : words.front());
}

std::optional<std::string> CommandLine::parse(int argc, const char *const *argv)
{
    app_->set_help_flag("-h,--help", "Print this text")->group(heading_);
    app_->set_version_flag("--version", name_ + " " OGH_VERSION, "Print the version")->group(heading_);
    const auto refused = [](const std::string &why) { return Error(ExitCode::Usage, why + "; see --help"); };
    try {
        app_->parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
        return app_->help() + "See " + name_ + "(8).\n";
    } catch (const CLI::CallForVersion &version) {
        return std::string(version.what()) + "\n";
    } catch (const CLI::ExtrasError &) {
        throw refused(why_unexpected());
    } catch (const CLI::ParseError &error) {
        throw refused(error.what());
    }
    return std::nullopt;
}

} // namespace ogh
