// SPDX-License-Identifier: Apache-2.0
#include "libraries/injected_directories.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/directory_entries.h"
#include "kernel/inode.h"
#include "kernel/openat2.h"
#include "loader/elf_file.h"

namespace ogh {

namespace {

constexpr size_t max_hwcaps = 64;
constexpr size_t max_warnings = 10; // an image may hold any number of files that deserve one
constexpr const char *hwcaps_name = "glibc-hwcaps";

std::string in_container(const std::string &path)
{
    return quote(path) + " in the container";
}

using Known = std::pair<dev_t, ino_t>;

Known key_of(const Inode &inode)
{
    return {inode.device, inode.number};
}

/** Reads the files of directories, each inode once. */
class FileReader final {
public:
    FileReader(const ImageReader &image, Notes &notes) : image_(image), notes_(notes) {}

    std::vector<FoundFile> read(int directory, const std::string &path)
    {
        std::vector<FoundFile> files;
        const auto entries = image_.list(directory, {in_container(path), is_library_name, left_});
        // 0 stands for any number in a DirectoryListing.
        left_ = std::max(left_ - entries.size(), size_t{1});
        for (const DirectoryEntry &entry : entries) {
            const std::string full = path + "/" + entry.name;
            try {
                look_at(directory, full, entry, files);
            } catch (const SystemError &error) {
                leave_out(full, error.what());
            }
        }
        return files;
    }

    void finish()
    {
        if (left_out_ > max_warnings)
            notes_.push_back(
                {LogLevel::Warning, std::to_string(left_out_ - max_warnings) + " more files are left out"});
    }

private:
    void leave_out(const std::string &path, const std::string &why)
    {
        if (++left_out_ <= max_warnings)
            notes_.push_back({LogLevel::Warning, quote(path) + " is left out: " + why});
    }

    /** A directory and a dangling symlink are not worth a warning. */
    void look_at(int directory, const std::string &path, const DirectoryEntry &entry,
                 std::vector<FoundFile> &files)
    {
        const bool is_link = entry.type == DT_LNK;
        if (entry.type == DT_DIR || (!is_link && add_known(directory, path, entry, files)))
            return;
        const std::string what = in_container(path);
        const auto fd = is_link ? image_.find(path)
                                : find_path(directory, entry.name, O_PATH | O_NOFOLLOW, Walk::Beneath, what);
        if (!fd)
            return;
        const Inode inode = Inode::of(fd->get(), what);
        if (inode.is(Kind::Directory))
            return;
        const auto &library = library_of(fd->get(), inode, what);
        if (const auto *problem = std::get_if<NotALibrary>(&library))
            leave_out(path, problem->why);
        else
            files.push_back({entry.name, is_link, inode.device, inode.number, std::get<ElfLibrary>(library)});
    }

    /** Most files have been read by way of a link to them, whose name is shorter: then one look is enough. */
    bool add_known(int directory, const std::string &path, const DirectoryEntry &entry,
                   std::vector<FoundFile> &files)
    {
        struct stat status {};
        if (::fstatat(directory, entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            throw SystemError(errno, "cannot look at " + in_container(path));
        const auto known = known_.find(Known{status.st_dev, status.st_ino});
        const auto *library = known == known_.end() ? nullptr : std::get_if<ElfLibrary>(&known->second);
        if (library == nullptr)
            return false;
        files.push_back({entry.name, false, status.st_dev, status.st_ino, *library});
        return true;
    }

    const std::variant<ElfLibrary, NotALibrary> &library_of(int fd, const Inode &inode,
                                                            const std::string &what)
    {
        const auto [entry, is_new] = known_.try_emplace(key_of(inode), NotALibrary{"it cannot be read"});
        if (!is_new)
            return entry->second;
        if (const std::string why = image_.why_not_read(fd, inode); !why.empty())
            entry->second = NotALibrary{"it " + why};
        else
            entry->second = read_elf_library(image_.open(fd, inode, what).get());
        return entry->second;
    }

    const ImageReader &image_;
    Notes &notes_;
    size_t left_out_ = 0; ///< files
    size_t left_ = max_library_files;
    std::map<Known, std::variant<ElfLibrary, NotALibrary>> known_;
};

UniqueFd open_directory(const ImageReader &image, const std::string &path)
{
    auto directory = image.find(path);
    if (!directory)
        throw Error(ErrorKind::NotAvailable, "no directory " + in_container(path));
    if (!Inode::of(directory->get(), quote(path)).is(Kind::Directory))
        throw Error(ErrorKind::NotAvailable, in_container(path) + " is no directory");
    return std::move(*directory);
}

/** The kernel's no is about the container's process, not about this one. */
Error as_of_the_process(const SystemError &error)
{
    return {ErrorKind::NotAvailable,
            std::string(error.what()) + "; directories are read as the container's process could read them"};
}

/** A directory below another one; nothing if there is none of that name, or it is something else. */
std::optional<UniqueFd> subdirectory(int directory, const std::string &name, const std::string &path)
{
    auto found = find_path(directory, name, O_PATH | O_NOFOLLOW, Walk::Beneath, in_container(path));
    if (!found || !Inode::of(found->get(), quote(path)).is(Kind::Directory))
        return std::nullopt;
    return found;
}

/** Adds the variants for newer processors: glibc looks below DIRECTORY/glibc-hwcaps/NAME. */
void add_hwcaps(int directory, const std::string &path, const ImageReader &image, FileReader &files,
                std::vector<AddedLibrary> &libraries, Notes &notes)
{
    const std::string parent = path + "/" + hwcaps_name;
    const auto hwcaps = subdirectory(directory, hwcaps_name, parent);
    if (!hwcaps)
        return;
    const auto is_wanted = [](std::string_view name) { return !name.starts_with('.'); };
    for (const auto &[name, type] :
         image.list(hwcaps->get(), {in_container(parent), is_wanted, max_hwcaps})) {
        std::string below = parent;
        (below += '/') += name;
        const auto variant = subdirectory(hwcaps->get(), name, below);
        if (!variant)
            continue;
        for (AddedLibrary &library : choose_libraries(path, name, files.read(variant->get(), below), notes))
            libraries.push_back(std::move(library));
    }
}

/** The libraries of one directory. @throws Error */
std::vector<AddedLibrary> read_directory(int directory, const std::string &path, bool by_every_name,
                                         const ImageReader &image, FileReader &reader, Notes &notes)
{
    const auto files = reader.read(directory, path);
    std::vector<AddedLibrary> libraries = choose_libraries(path, "", files, notes);
    if (by_every_name)
        add_file_names(path, files, libraries);
    add_hwcaps(directory, path, image, reader, libraries, notes);
    return libraries;
}

} // namespace

std::vector<AddedLibrary> read_injected_directories(const ImageReader &reader,
                                                    const InjectedDirectories &directories, Notes &notes)
{
    std::vector<AddedLibrary> libraries;
    FileReader files(reader, notes);
    std::set<Known> known;
    for (const std::string &path : directories.all) {
        try {
            const UniqueFd directory = open_directory(reader, path);
            if (!known.insert(key_of(Inode::of(directory.get(), quote(path)))).second)
                continue;
            for (AddedLibrary &library : read_directory(
                     directory.get(), path, contains(directories.put_in, path), reader, files, notes))
                libraries.push_back(std::move(library));
        } catch (const SystemError &error) {
            if (contains(directories.asked_for, path))
                throw as_of_the_process(error);
            // What nobody asked for by name fails no start.
            notes.push_back(
                {LogLevel::Warning, "the libraries in " + quote(path) + " are left out: " + error.what()});
        }
    }
    files.finish();
    return libraries;
}

} // namespace ogh
