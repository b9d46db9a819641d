// SPDX-License-Identifier: Apache-2.0
#include "injected_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>

#include "elf_library.h"
#include "error.h"
#include "folder_entries.h"
#include "openat2.h"
#include "text.h"

namespace ogh::ldcache_update {

namespace {

constexpr size_t max_files = 16384;
constexpr size_t max_hwcaps = 64;
constexpr size_t max_warnings = 10; // an image may hold any number of files that deserve one
constexpr const char *hwcaps_name = "glibc-hwcaps";

std::string in_container(const std::string &path)
{
    return quote(path) + " in the container";
}

/** Warnings about single files, of which only the first are written. */
class Warnings final {
public:
    explicit Warnings(Notes &notes) : notes_(notes) {}

    void left_out(const std::string &path, const std::string &why)
    {
        if (++count_ <= max_warnings)
            notes_.push_back({LogLevel::Warning, quote(path) + " is left out: " + why});
    }

    void finish(const std::string &folder)
    {
        if (count_ > max_warnings)
            notes_.push_back({LogLevel::Warning, std::to_string(count_ - max_warnings) + " more files of " +
                                                     quote(folder) + " are left out"});
    }

private:
    Notes &notes_;
    size_t count_ = 0;
};

/** Reads the files of one folder, each inode once. */
class Reader final {
public:
    Reader(const EnteredContainer &container, Warnings &warnings) : container_(container), warnings_(warnings)
    {
    }

    std::vector<FoundFile> read(int folder, const std::string &path)
    {
        std::vector<FoundFile> files;
        for (const FolderEntry &entry :
             list_folder(folder, {in_container(path), is_library_name, max_files})) {
            const std::string full = path + "/" + entry.name;
            try {
                look_at(folder, full, entry, files);
            } catch (const SystemError &error) {
                warnings_.left_out(full, error.what());
            }
        }
        return files;
    }

private:
    /** A folder and a dangling symlink are not worth a warning. */
    void look_at(int folder, const std::string &path, const FolderEntry &entry, std::vector<FoundFile> &files)
    {
        const bool is_link = entry.type == DT_LNK;
        if (entry.type == DT_DIR || (!is_link && add_known(folder, path, entry, files)))
            return;
        const std::string what = in_container(path);
        const auto fd = is_link ? container_.root().find(path)
                                : find_path(folder, entry.name, O_PATH | O_NOFOLLOW, Walk::Beneath, what);
        if (!fd)
            return;
        const Inode inode = Inode::of(fd->get(), what);
        if (inode.is(Kind::Directory))
            return;
        const auto &library = library_of(fd->get(), inode, what);
        if (const auto *problem = std::get_if<NotALibrary>(&library))
            warnings_.left_out(path, problem->why);
        else
            files.push_back({entry.name, is_link, inode.device, inode.number, std::get<ElfLibrary>(library)});
    }

    /** Most files have been read by way of a link to them, whose name is shorter: then one look is enough. */
    bool add_known(int folder, const std::string &path, const FolderEntry &entry,
                   std::vector<FoundFile> &files)
    {
        struct stat status {};
        if (::fstatat(folder, entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            throw SystemError(errno, "cannot look at " + in_container(path));
        const auto known = known_.find({status.st_dev, status.st_ino});
        const auto *library = known == known_.end() ? nullptr : std::get_if<ElfLibrary>(&known->second);
        if (library == nullptr)
            return false;
        files.push_back({entry.name, false, status.st_dev, status.st_ino, *library});
        return true;
    }

    const std::variant<ElfLibrary, NotALibrary> &library_of(int fd, const Inode &inode,
                                                            const std::string &what)
    {
        const auto [entry, is_new] =
            known_.try_emplace({inode.device, inode.number}, NotALibrary{"it cannot be read"});
        if (is_new)
            entry->second = inode.is(Kind::File)
                                ? read_elf_library(container_.proc().reopen(fd, O_RDONLY, what).get())
                                : NotALibrary{"it is no plain file"};
        return entry->second;
    }

    const EnteredContainer &container_;
    Warnings &warnings_;
    std::map<std::pair<dev_t, ino_t>, std::variant<ElfLibrary, NotALibrary>> known_;
};

UniqueFd open_folder(const EnteredContainer &container, const std::string &path)
{
    auto folder = container.root().find(path);
    if (!folder)
        throw Error(ExitCode::NotAvailable, "no folder " + in_container(path));
    if (!Inode::of(folder->get(), quote(path)).is(Kind::Directory))
        throw Error(ExitCode::NotAvailable, in_container(path) + " is no folder");
    return std::move(*folder);
}

/** A folder below another one; nothing if there is none of that name, or it is something else. */
std::optional<UniqueFd> subfolder(int folder, const std::string &name, const std::string &path)
{
    auto found = find_path(folder, name, O_PATH | O_NOFOLLOW, Walk::Beneath, in_container(path));
    if (!found || !Inode::of(found->get(), quote(path)).is(Kind::Directory))
        return std::nullopt;
    return found;
}

/** Adds the variants for newer processors: glibc looks below FOLDER/glibc-hwcaps/NAME. */
void add_hwcaps(int folder, const std::string &path, Reader &reader, std::vector<AddedLibrary> &libraries,
                Notes &notes)
{
    const std::string parent = path + "/" + hwcaps_name;
    const auto hwcaps = subfolder(folder, hwcaps_name, parent);
    if (!hwcaps)
        return;
    const auto is_wanted = [](std::string_view name) { return !name.starts_with('.'); };
    for (const auto &[name, type] :
         list_folder(hwcaps->get(), {in_container(parent), is_wanted, max_hwcaps})) {
        std::string below = parent;
        (below += '/') += name;
        const auto variant = subfolder(hwcaps->get(), name, below);
        if (!variant)
            continue;
        for (AddedLibrary &library : choose_libraries(path, name, reader.read(variant->get(), below), notes))
            libraries.push_back(std::move(library));
    }
}

} // namespace

std::vector<AddedLibrary> read_injected_folder(const EnteredContainer &container, const std::string &path,
                                               Notes &notes)
{
    const UniqueFd folder = open_folder(container, path);
    Warnings warnings(notes);
    Reader reader(container, warnings);
    std::vector<AddedLibrary> libraries = choose_libraries(path, "", reader.read(folder.get(), path), notes);
    add_hwcaps(folder.get(), path, reader, libraries, notes);
    warnings.finish(path);
    return libraries;
}

} // namespace ogh::ldcache_update
