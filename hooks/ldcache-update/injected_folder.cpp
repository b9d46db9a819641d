// SPDX-License-Identifier: Apache-2.0
#include "injected_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>

#include "elf_library.h"
#include "error.h"
#include "openat2.h"
#include "text.h"

namespace ogh::ldcache_update {

namespace {

constexpr size_t max_files = 16384;
constexpr size_t max_hwcaps = 64;
constexpr size_t max_warnings = 10; // an image may hold any number of files that deserve one
constexpr const char *hwcaps_name = "glibc-hwcaps";

struct CloseDirectory {
    void operator()(DIR *directory) const { ::closedir(directory); }
};

/** The names in an open folder for which `wanted` holds, sorted. @throws Error if there are more than `limit` */
template<typename Wanted>
std::vector<std::string> names_in(int folder, const std::string &what, size_t limit, const Wanted &wanted)
{
    UniqueFd fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDirectory> directory(fd.valid() ? ::fdopendir(fd.get()) : nullptr);
    if (directory == nullptr)
        throw SystemError(errno, "cannot list " + what);
    [[maybe_unused]] const int closed_with_directory = fd.release();
    std::vector<std::string> names;
    errno = 0;
    while (const dirent *entry = ::readdir(directory.get())) {
        if (!wanted(std::string_view(entry->d_name)))
            continue;
        if (names.size() == limit)
            throw Error(ExitCode::Failure,
                        what + " has more than " + std::to_string(limit) + " entries to read");
        names.emplace_back(entry->d_name);
    }
    if (errno != 0)
        throw SystemError(errno, "cannot list " + what);
    std::sort(names.begin(), names.end());
    return names;
}

/** Warnings about single files, of which only the first are written. */
class Warnings final {
public:
    explicit Warnings(Notes &notes) : notes_(notes) {}
    Warnings(const Warnings &) = delete;
    Warnings &operator=(const Warnings &) = delete;
    ~Warnings() = default;

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
        for (const std::string &name :
             names_in(folder, quote(path) + " in the container", max_files, is_library_name)) {
            if (auto file = look_at(folder, path, name))
                files.push_back(std::move(*file));
        }
        return files;
    }

private:
    /** @return nothing for what is no library; a folder or a dangling symlink is not worth a warning */
    std::optional<FoundFile> look_at(int folder, const std::string &path, const std::string &name)
    {
        const std::string full = path + "/" + name;
        const std::string what = quote(full) + " in the container";
        UniqueFd fd;
        try {
            fd = open_path(folder, name, O_PATH | O_NOFOLLOW, Walk::Beneath, what);
            Inode inode = Inode::of(fd.get(), what);
            const bool is_link = S_ISLNK(inode.mode);
            if (is_link) {
                auto target = container_.root().find(full);
                if (!target)
                    return std::nullopt;
                fd = std::move(*target);
                inode = Inode::of(fd.get(), what);
            }
            if (inode.is(Kind::Directory))
                return std::nullopt;
            const auto &library = library_of(fd.get(), inode, what);
            if (const auto *problem = std::get_if<NotALibrary>(&library)) {
                warnings_.left_out(full, problem->why);
                return std::nullopt;
            }
            return FoundFile{name, is_link, inode.device, inode.number, std::get<ElfLibrary>(library)};
        } catch (const SystemError &error) {
            warnings_.left_out(full, error.what());
            return std::nullopt;
        }
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
        throw Error(ExitCode::NotAvailable, "no folder " + quote(path) + " in the container");
    if (!Inode::of(folder->get(), quote(path)).is(Kind::Directory))
        throw Error(ExitCode::NotAvailable, quote(path) + " in the container is no folder");
    return std::move(*folder);
}

/** The names of the variants for newer processors; glibc looks below FOLDER/glibc-hwcaps/NAME. */
std::vector<std::string> hwcaps_of(int folder, const std::string &path, UniqueFd &hwcaps)
{
    auto found = find_path(folder, hwcaps_name, O_PATH | O_NOFOLLOW, Walk::Beneath, quote(path));
    if (!found || !Inode::of(found->get(), quote(path)).is(Kind::Directory))
        return {};
    hwcaps = std::move(*found);
    return names_in(hwcaps.get(), quote(path + "/" + hwcaps_name) + " in the container", max_hwcaps,
                    [](std::string_view name) { return !name.starts_with('.'); });
}

void add(std::vector<AddedLibrary> &libraries, std::vector<AddedLibrary> more)
{
    libraries.insert(libraries.end(), std::make_move_iterator(more.begin()),
                     std::make_move_iterator(more.end()));
}

} // namespace

std::vector<AddedLibrary> read_injected_folder(const EnteredContainer &container, const std::string &path,
                                               Notes &notes)
{
    const UniqueFd folder = open_folder(container, path);
    Warnings warnings(notes);
    Reader reader(container, warnings);
    std::vector<AddedLibrary> libraries = choose_libraries(path, "", reader.read(folder.get(), path), notes);
    UniqueFd hwcaps;
    for (const std::string &name : hwcaps_of(folder.get(), path, hwcaps)) {
        const std::string below = path + "/" + hwcaps_name + "/" + name;
        const auto subfolder =
            find_path(hwcaps.get(), name, O_PATH | O_NOFOLLOW, Walk::Beneath, quote(below));
        if (subfolder && Inode::of(subfolder->get(), quote(below)).is(Kind::Directory))
            add(libraries, choose_libraries(path, name, reader.read(subfolder->get(), below), notes));
    }
    warnings.finish(path);
    return libraries;
}

} // namespace ogh::ldcache_update
