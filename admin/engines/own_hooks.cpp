// SPDX-License-Identifier: Apache-2.0
#include "engines/own_hooks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "admin_config.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"

namespace ogh::admin {

namespace {

constexpr const char *own_executable = "/proc/self/exe";

bool is_installed()
{
    struct stat self {};
    struct stat installed {};
    return ::stat(own_executable, &self) == 0 && ::stat(OGH_COMMAND, &installed) == 0 &&
           self.st_dev == installed.st_dev && self.st_ino == installed.st_ino;
}

/** The folder that meson has put this command's folder into. */
std::string build_folder()
{
    std::array<char, PATH_MAX> path{};
    const ssize_t length = ::readlink(own_executable, path.data(), path.size());
    if (length <= 0)
        throw SystemError(errno, "cannot tell where this command lies (/proc/self/exe)",
                          ErrorKind::BrokenHost);
    return folder_of(folder_of({path.data(), static_cast<size_t>(length)}));
}

std::string path_of(const OurHook &hook)
{
    const std::string name(hook.name);
    if (is_installed())
        return std::string(hook.executable);
    return build_folder() + "/hooks/" + name + "/" + name;
}

} // namespace

Program open_own_hook(const OurHook &hook)
{
    const std::string path = path_of(hook);
    auto program = open_program(path, ::geteuid());
    if (!program)
        throw Error(ErrorKind::BrokenHost, "there is no " + quote(path) +
                                               ", which belongs to this command: install the hooks again");
    return std::move(*program);
}

} // namespace ogh::admin
