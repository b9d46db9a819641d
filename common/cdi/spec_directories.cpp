// SPDX-License-Identifier: Apache-2.0
#include "cdi/spec_directories.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "cdi/spec_parser.h"
#include "host/trusted_path.h"
#include "kernel/directory_entries.h"

namespace ogh::cdi {

namespace {

constexpr size_t max_file_size = size_t{4}
                                 << 20U; // that of a server with a thousand parts of GPUs has 0.2 MB
constexpr size_t max_files = 10'000;

/** Whether nobody but root can write it; or this user, whose engine it is then. */
void require_trusted(int fd, const std::string &what)
{
    if (const std::string why = why_others_may_add(fd, ::geteuid()); !why.empty())
        throw Error(ErrorKind::BrokenHost, what + " " + why);
}

bool is_spec_name(std::string_view name)
{
    return name.ends_with(".json") || name.ends_with(".yaml");
}

void check_directory(int directory)
{
    require_trusted(directory, "a directory on the way to it");
}

std::string read_in(int directory, const std::string &name)
{
    const UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0)
        throw SystemError(errno, "it cannot be read", ErrorKind::BrokenHost);
    if (!S_ISREG(status.st_mode))
        throw Error(ErrorKind::BrokenHost, "it is no plain file");
    require_trusted(fd.get(), "it");
    return read_all(fd.get(), max_file_size, "it", static_cast<size_t>(status.st_size));
}

/** @return the text; nothing for a directory of such a name */
std::optional<std::string> read_entry(const Sysroot &sysroot, const ResolvedPath &directory,
                                      const DirectoryEntry &entry)
{
    if (entry.type == DT_DIR)
        return std::nullopt;
    if (entry.type == DT_REG)
        return read_in(directory.fd.get(), entry.name);
    // A symlink: where it leads is nobody else's either.
    const auto file = sysroot.find(directory.path + "/" + entry.name, check_directory);
    if (!file)
        throw Error(ErrorKind::BrokenHost, "it is a symlink that leads nowhere");
    const auto behind = sysroot.find(directory_of(file->path), check_directory);
    return behind ? std::optional(read_in(behind->fd.get(), file_name_of(file->path))) : std::nullopt;
}

std::optional<ResolvedPath> find_directory(const Sysroot &sysroot, const std::string &path)
{
    try {
        auto place = sysroot.find(path, check_directory);
        if (place)
            require_trusted(place->fd.get(), "it");
        return place;
    } catch (const Error &error) {
        throw Error(ErrorKind::BrokenHost, "the directory " + quote(path) +
                                               " with CDI specifications is not used: " + error.what() +
                                               "; who writes there could give any file of the host");
    }
}

} // namespace

std::vector<SpecFile> read_directories(const Sysroot &sysroot, const std::vector<std::string> &directories,
                                       const IsWanted &is_wanted, Notes &notes)
{
    std::vector<std::optional<ResolvedPath>> places;
    std::map<std::string, size_t> last; // one that is given twice is where it is given last
    for (size_t number = 0; number < directories.size(); ++number) {
        places.push_back(find_directory(sysroot, directories[number]));
        if (places.back())
            last[places.back()->path] = number;
    }
    std::vector<SpecFile> files;
    for (size_t number = 0; number < directories.size(); ++number) {
        if (!places[number] || last.at(places[number]->path) != number)
            continue;
        for (const DirectoryEntry &entry :
             list_directory(places[number]->fd.get(),
                            {quote(directories[number]), is_spec_name, max_files, ErrorKind::BrokenHost})) {
            const std::string path = directories[number] + "/" + entry.name;
            try {
                if (const auto text = read_entry(sysroot, *places[number], entry))
                    files.push_back({path, number, parse_spec(*text, is_wanted)});
            } catch (const Error &error) {
                notes.push_back({LogLevel::Warning, quote(path) + " is passed over: " + error.what()});
            }
        }
    }
    return files;
}

} // namespace ogh::cdi
