// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/host/folder_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <optional>
#include <utility>
#include <variant>

#include "base/path_names.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "kernel/folder_entries.h"
#include "loader/elf_library.h"

namespace ogh::cdi_devices {

namespace {

/** Nothing if it is no library. Not blocking: a FIFO must not hold up the start of a container. */
std::optional<FoundFile> read_file(const Sysroot &sysroot, const std::string &host_path, std::string name)
{
    const auto found = sysroot.find(host_path);
    if (!found)
        return std::nullopt;
    const UniqueFd fd(::open(sysroot.on_host(found->path).c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    const auto read = read_elf_library(fd.get());
    const auto *library = std::get_if<ElfLibrary>(&read);
    if (library == nullptr)
        return std::nullopt;
    return FoundFile{std::move(name), false, status.st_dev, status.st_ino, *library};
}

void add_host_folder(const Sysroot &sysroot, const std::string &path, std::vector<FoundFile> &files)
{
    constexpr size_t max_files = 32768;
    const auto folder = sysroot.find(path);
    struct stat status {};
    if (!folder || ::fstat(folder->fd.get(), &status) != 0 || !S_ISDIR(status.st_mode))
        return;
    for (const FolderEntry &entry :
         list_folder(folder->fd.get(), {quote(path), is_library_name, max_files, ErrorKind::BrokenHost})) {
        auto file = read_file(sysroot, path + "/" + entry.name, entry.name);
        if (!file)
            continue;
        file->is_link = entry.type == DT_LNK;
        files.push_back(std::move(*file));
    }
}

} // namespace

std::vector<FoundFile> read_folder_files(const std::string &folder, const std::vector<cdi::Mount> &mounts,
                                         const Sysroot &sysroot)
{
    std::vector<FoundFile> files;
    for (const cdi::Mount &mount : mounts) {
        const std::string &path = mount.container_path;
        if ((folder + "/").starts_with(path + "/")) {
            add_host_folder(sysroot, mount.host_path + folder.substr(path.size()), files);
        } else if (folder_of(path) == folder && is_library_name(file_name_of(path))) {
            if (auto file = read_file(sysroot, mount.host_path, file_name_of(path)))
                files.push_back(std::move(*file));
        }
    }
    return files;
}

} // namespace ogh::cdi_devices
