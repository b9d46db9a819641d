// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_executable.h"

#include <optional>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "build_config.h"
#include "engines/hook_version.h"
#include "engines/own_hooks.h"
#include "host/root_alone.h"

namespace ogh::admin {

namespace {

std::optional<Finding> check_writers(const Sysroot &sysroot, const HookFile &file)
{
    try {
        static_cast<void>(find_of_root_alone(sysroot, file.executable));
        return std::nullopt;
    } catch (const Error &error) {
        return Finding{Severity::Error,
                       std::string(error.what()) +
                           ": whoever that is becomes root when a container is created",
                       "give it to root, with mode 0755"};
    }
}

/** Only root may change it, and so what is read of it is said by root. */
std::optional<Finding> check_version(const Engine &engine, const HookFile &file, int fd)
{
    const std::string shown =
        quote(file.executable) + (has_own_root(engine) ? " in the root of " + engine.title : "");
    const auto version = read_hook_version(fd, shown);
    if (!version)
        return Finding{Severity::Error, shown + " is no hook of this collection",
                       "install the hooks again, or mend 'path' in the file"};
    const std::string remedy = "install the hooks and this command of one version";
    if (version->version != OGH_VERSION)
        return Finding{Severity::Warning,
                       shown + " is of version " + quote(version->version) + ", and this is " OGH_VERSION,
                       remedy};
    const Program own = open_own_hook(*file.ours);
    if (read_hook_version(own.fd.get(), quote(own.path)) != version)
        return Finding{Severity::Warning,
                       shown + " is another build of " OGH_VERSION " than " + quote(own.path), remedy};
    return std::nullopt;
}

Finding missing(const Engine &engine, const HookFile &file)
{
    return {Severity::Error,
            quote(file.path) + " names " + quote(file.executable) + ", which is not there" +
                (engine.rules == FolderRules::EveryFile ? ": no container is created" : ""),
            "install the hooks again" +
                std::string(has_own_root(engine) ? " where the worker sees them" : "") +
                ", or mend 'path' in the file"};
}

} // namespace

Findings check_executable(const Engine &engine, const HookFile &file)
{
    try {
        const auto place = engine.sysroot->find(file.executable);
        if (!place)
            return {missing(engine, file)};
        if (const auto writers = check_writers(*engine.sysroot, file))
            return {*writers};
        const auto version = check_version(engine, file, place->fd.get());
        return version ? Findings{*version} : Findings{};
    } catch (const Error &error) {
        return {{Severity::Error, error.what(), "install the hooks again"}};
    }
}

} // namespace ogh::admin
