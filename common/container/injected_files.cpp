// SPDX-License-Identifier: Apache-2.0
#include "container/injected_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

UniqueFd make_folder(int parent, const std::string &name, const std::string &what)
{
    if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST)
        throw SystemError(errno, "cannot make " + what);
    return open_path(parent, name, O_PATH | O_DIRECTORY, Walk::Beneath, what);
}

} // namespace

UniqueFd make_injected_folders(int tmpfs, std::string_view path, const std::string &what)
{
    const size_t slash = path.find('/');
    UniqueFd folder = make_folder(tmpfs, std::string(path.substr(0, slash)), what);
    return slash == std::string_view::npos
               ? std::move(folder)
               : make_injected_folders(folder.get(), path.substr(slash + 1), what);
}

UniqueFd make_injected_target(int tmpfs, const std::string &path, Kind kind, const std::string &what)
{
    if (kind == Kind::Directory)
        return make_injected_folders(tmpfs, path, what);
    const size_t slash = path.rfind('/');
    const UniqueFd folder = make_injected_folders(tmpfs, path.substr(0, slash), what);
    const std::string name = path.substr(slash + 1);
    if (::mknodat(folder.get(), name.c_str(), S_IFREG | 0444, 0) != 0 && errno != EEXIST)
        throw SystemError(errno, "cannot make " + what);
    return open_path(folder.get(), name, O_PATH | O_NOFOLLOW, Walk::Beneath, what);
}

void write_injected_file(int tmpfs, const TmpfsEdit::File &file, const std::string &what)
{
    const UniqueFd fd(::openat(tmpfs, file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!fd.valid())
        throw SystemError(errno, "cannot make " + what);
    write_all(fd.get(), file.content, what);
}

} // namespace ogh
