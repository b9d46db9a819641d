// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <CLI/CLI.hpp>

#include "build_config.h"
#include "error.h"

namespace ogh {

CommandLine::CommandLine(const char *name, const char *description)
    : name_(name), app_(std::make_unique<CLI::App>(description, name))
{
    app_->set_version_flag("--version", name_ + " " OGH_VERSION);
    app_->set_help_flag("--help", "Print this text");
}

CommandLine::~CommandLine() = default;

void CommandLine::add(const Option &option, std::string &value)
{
    app_->add_option(option.name, value, option.help)->type_name(option.type);
}

void CommandLine::add(const Option &option, std::optional<std::string> &value)
{
    app_->add_option(option.name, value, option.help)->type_name(option.type);
}

void CommandLine::add(const Option &option, std::optional<unsigned> &value)
{
    app_->add_option(option.name, value, option.help)->type_name(option.type);
}

void CommandLine::add(const Option &option, std::vector<std::string> &values)
{
    app_->add_option(option.name, values, option.help)->type_name(option.type);
}

void CommandLine::add_flag(const char *name, const char *help, bool &flag)
{
    app_->add_flag(name, flag, help);
}

void CommandLine::add_choice(const Option &option, const std::vector<std::string> &names,
                             const std::function<void(const std::string &)> &choose)
{
    app_->add_option_function<std::string>(option.name, choose, option.help)
        ->check(CLI::IsMember(names).description(""))
        ->type_name(option.type);
}

std::optional<std::string> CommandLine::parse(int argc, const char *const *argv)
{
    try {
        app_->parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
        return app_->help() + "See " + name_ + "(8).\n";
    } catch (const CLI::CallForVersion &version) {
        return std::string(version.what()) + "\n";
    } catch (const CLI::ParseError &error) {
        throw Error(ExitCode::Usage, error.what());
    }
    return std::nullopt;
}

} // namespace ogh
