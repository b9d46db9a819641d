// SPDX-License-Identifier: Apache-2.0
#include "hook/options.h"

#include <map>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "request/annotation_patterns.h"

namespace ogh {

namespace {

const std::map<std::string, OptIn> opt_in_names{
    {"annotation", OptIn::Annotation}, {"environment", OptIn::Environment}, {"always", OptIn::Always}};

const std::map<std::string, LogLevel> level_names{{"error", LogLevel::Error},
                                                  {"warning", LogLevel::Warning},
                                                  {"info", LogLevel::Info},
                                                  {"debug", LogLevel::Debug}};

/** An option that takes one of the names of `values`. */
template<typename Value>
void add_choice(CommandLine &cli, const char *option, Value &chosen,
                const std::map<std::string, Value> &values, const char *help)
{
    std::vector<std::string> names;
    names.reserve(values.size());
    for (const auto &[name, value] : values)
        names.push_back(name);
    cli.add_choice({option, "NAME", help}, names, [&](const std::string &name) { chosen = values.at(name); });
}

void check_path(const std::optional<std::string> &path, const char *option)
{
    if (path && !path->starts_with('/'))
        throw Error(ErrorKind::Usage, std::string(option) + " needs an absolute path, not " + quote(*path));
}

} // namespace

void add_common_options(CommandLine &cli, CommonOptions &options)
{
    add_choice(cli, "--opt-in", options.opt_in, opt_in_names,
               "Who may ask: annotation, environment or always (default: annotation)");
    cli.add({"--request", "VALUE", "What the host asks for (default: nothing, the container asks)"},
            options.request);
    cli.add_flag("--all-steps", "Also for Concourse's get, put and check containers", options.all_steps);
    cli.add({"--key-file", "FILE", "Environment counts only with a key of this file (default: no file)"},
            options.key_file);
    cli.add({"--only", "KEY=PATTERN",
             "Only containers whose annotation KEY matches; may be given several times (default: all)"},
            options.only);
    cli.add({"--sysroot", "DIR", "Where the host's files are found (default: /)"}, options.sysroot);
    cli.add_flag("--plan", "Print what would be done as JSON and change nothing", options.plan);
    cli.add_flag("--inspect", "Change nothing and log nothing; with --list, --plan or --cdi",
                 options.inspect);
    add_choice(cli, "--log-level", options.log_level, level_names,
               "error, warning, info or debug (default: warning)");
    cli.add({"--log-file", "FILE", "A file that messages are added to (default: no file)"}, options.log_file);
    cli.add({"--history", "FILE",
             "What was given, ended and refused is added to it; none: nothing (default: "
             "/var/lib/oci-gpu-hooks/history)"},
            options.history);
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
    check_path(options.key_file, "--key-file");
    check_path(options.log_file, "--log-file");
}

std::string absolute_folder(const std::string &path, const char *option)
{
    if (!path.starts_with('/'))
        throw Error(ErrorKind::Usage, std::string(option) + " needs an absolute path, not " + quote(path));
    const size_t last = path.find_last_not_of('/');
    return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

} // namespace ogh
