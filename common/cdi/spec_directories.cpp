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

/** One directory with specifications. */
class Directory final {
public:
    Directory(const Sysroot &sysroot, std::string path, ResolvedPath place)
        : sysroot_(sysroot), path_(std::move(path)), place_(std::move(place))
    {
    }

    /** As it was given. */
    [[nodiscard]] const std::string &path() const { return path_; }

    [[nodiscard]] std::vector<DirectoryEntry> entries() const
    {
        return list_directory(place_.fd.get(),
                              {quote(path_), is_spec_name, max_files, ErrorKind::BrokenHost});
    }

    /** @return the text; nothing for a directory of such a name */
    [[nodiscard]] std::optional<std::string> read(const DirectoryEntry &entry) const
    {
        if (entry.type == DT_DIR)
            return std::nullopt;
        if (entry.type == DT_REG)
            return read_in(place_.fd.get(), entry.name);
        // A symlink: where it leads is nobody else's either.
        const auto file = sysroot_.find(place_.path + "/" + entry.name, check_directory);
        if (!file)
            throw Error(ErrorKind::BrokenHost, "it is a symlink that leads nowhere");
        const auto directory = sysroot_.find(directory_of(file->path), check_directory);
        return directory ? std::optional(read_in(directory->fd.get(), file_name_of(file->path)))
                         : std::nullopt;
    }

    static void check_directory(int directory) { require_trusted(directory, "a directory on the way to it"); }

private:
    static std::string read_in(int directory, const std::string &name)
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

    const Sysroot &sysroot_;
    std::string path_;
    ResolvedPath place_;
};

std::optional<ResolvedPath> find_directory(const Sysroot &sysroot, const std::string &path)
{
    try {
        auto place = sysroot.find(path, Directory::check_directory);
        if (place)
            require_trusted(place->fd.get(), "it");
        return place;
    } catch (const Error &error) {
        throw Error(ErrorKind::BrokenHost, "the directory " + quote(path) +
                                               " with CDI specifications is not used: " + error.what() +
                                               "; who writes there could give any file of the host");
    }
}

void read_directory(const Directory &directory, size_t number, const IsWanted &is_wanted,
                    std::vector<SpecFile> &files, Notes &notes)
{
    for (const DirectoryEntry &entry : directory.entries()) {
        const std::string path = directory.path() + "/" + entry.name;
        try {
            if (const auto text = directory.read(entry))
                files.push_back({path, number, parse_spec(*text, is_wanted)});
        } catch (const Error &error) {
            notes.push_back({LogLevel::Warning, quote(path) + " is passed over: " + error.what()});
        }
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
    for (size_t number = 0; number < directories.size(); ++number)
        if (places[number] && last.at(places[number]->path) == number)
            read_directory({sysroot, directories[number], std::move(*places[number])}, number, is_wanted,
                           files, notes);
    return files;
}

} // namespace ogh::cdi
