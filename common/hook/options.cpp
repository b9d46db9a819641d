// SPDX-License-Identifier: Apache-2.0
#include "hook/options.h"

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "hook/declared_options.h"
#include "request/annotations.h"

namespace ogh {

namespace {

OptIn opt_in_of(std::string_view name)
{
    return name == "always" ? OptIn::Always : name == "environment" ? OptIn::Environment : OptIn::Annotation;
}

LogLevel level_of(std::string_view name)
{
    return name == "error"   ? LogLevel::Error
           : name == "info"  ? LogLevel::Info
           : name == "debug" ? LogLevel::Debug
                             : LogLevel::Warning;
}

void check_path(const std::optional<std::string> &path, const char *option)
{
    if (path && !path->starts_with('/'))
        throw Error(ErrorKind::Usage, std::string(option) + " needs an absolute path, not " + quote(*path));
}

} // namespace

void add_common_options(CommandLine &cli, CommonOptions &options)
{
    cli.add_choice(declared("--opt-in"), {"always", "annotation", "environment"},
                   [&](const std::string &name) { options.opt_in = opt_in_of(name); });
    cli.add(declared("--request"), options.request);
    cli.add(declared("--key-file"), options.key_file);
    cli.add(declared("--only"), options.only);
    cli.add(declared("--sysroot"), options.sysroot);
    cli.add(declared("--plan"), options.plan);
    cli.add_choice(declared("--log-level"), {"debug", "error", "info", "warning"},
                   [&](const std::string &name) { options.log_level = level_of(name); });
    cli.add(declared("--log-file"), options.log_file);
    cli.add(declared("--history"), options.history);
}

void check(const CommonOptions &options)
{
    if (!options.history.empty() && options.history != "none")
        check_path(options.history, "--history");
    if (options.opt_in == OptIn::Always && !options.request)
        throw Error(ErrorKind::Usage, "--opt-in always needs --request");
    if (options.key_file && options.opt_in != OptIn::Environment)
        throw Error(ErrorKind::Usage, "--key-file needs --opt-in environment");
    check_patterns(options.only, "--only");
    check_path(options.sysroot, "--sysroot"); // though most containers need nothing of it
    check_path(options.key_file, "--key-file");
    check_path(options.log_file, "--log-file");
}

std::string absolute_directory(const std::string &path, const char *option)
{
    check_path(path, option);
    const size_t last = path.find_last_not_of('/');
    return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

} // namespace ogh
