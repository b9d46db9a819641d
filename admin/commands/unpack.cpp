// SPDX-License-Identifier: Apache-2.0
#include "commands/unpack.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "commands/command.h"
#include "install/archive_files.h"
#include "install/manifest.h"
#include "install/root_files.h"
#include "registration/hooks.h"

namespace ogh::admin {

namespace {

constexpr const char *shipped_folder = "/usr/share/containers/oci/hooks.d";
constexpr const char *share = "/usr/local/share/oci-gpu-hooks";
constexpr mode_t executable_mode = 0755;
constexpr mode_t file_mode = 0644;

/** The unpacked archive, which is root's own. */
struct Archive {
    std::string folder;
    RootFiles files;

    explicit Archive(const std::string &path) : folder(path), files(path) {}

    /** Below a folder of it, sorted; as they are named in a root. */
    [[nodiscard]] std::vector<std::string> below(const std::string &path) const
    {
        std::vector<std::string> found;
        for (const auto &entry : std::filesystem::recursive_directory_iterator(folder + path))
            if (entry.is_regular_file())
                found.push_back(entry.path().string().substr(folder.size()));
        std::sort(found.begin(), found.end());
        return found;
    }
};

/** Puts the files of an archive into a root. */
class Unpacking final {
public:
    Unpacking(const Archive &archive, const RootFiles &root)
        : archive_(archive), root_(root), before_(ArchiveList::parse(root.look(archive_list).text))
    {
    }

    void put(const std::string &file, const std::string &target)
    {
        const std::string text = archive_.files.look(file).text;
        const bool is_program =
            file.starts_with("/usr/local/bin/") || file.starts_with("/usr/local/libexec/");
        root_.put(target, text, is_program ? executable_mode : file_mode);
        after_.files.push_back({sha256_of(text), target});
    }

    /** @return false if somebody has changed it, or made it: then it is as it was */
    bool put_unless_changed(const std::string &file, const std::string &target)
    {
        const PresentFile present = root_.look(target);
        const ArchiveFile *const known = before_.find(target);
        const bool is_known = known != nullptr && present.is_plain && known->hash == sha256_of(present.text);
        if (!present.exists || is_known ||
            (present.is_plain && present.text == archive_.files.look(file).text)) {
            put(file, target);
            return true;
        }
        if (known != nullptr)
            after_.files.push_back(*known);
        return false;
    }

    /** What an earlier version had and this one has not, unless somebody has changed it. */
    void remove_old()
    {
        sort_for_removal(before_.files);
        for (const ArchiveFile &file : before_.files) {
            if (after_.find(file.path) != nullptr)
                continue;
            const PresentFile present = root_.look(file.path);
            if (present.is_plain && sha256_of(present.text) == file.hash)
                root_.remove(file.path);
        }
    }

    void store_list() const { root_.put(archive_list, after_.to_text(), file_mode); }

private:
    const Archive &archive_;
    const RootFiles &root_;
    ArchiveList before_;
    ArchiveList after_;
};

std::string in_root(const std::string &root_path, const std::string &target)
{
    return quote((root_path == "/" ? "" : root_path) + target);
}

void unpack_into(const Archive &archive, const std::string &root_path, const std::string &hooks_folder)
{
    const RootFiles root(root_path);
    Unpacking unpacking(archive, root);
    for (const std::string &file : archive.below("/usr/local"))
        unpacking.put(file, file);
    // The files that put hooks in force are the last: an engine that finds one finds its executable too.
    for (const std::string &file : archive.below(shipped_folder)) {
        const std::string target = hooks_folder + "/" + file_name_of(file);
        const std::string copy = std::string(share) + "/hooks.d/" + file_name_of(file);
        if (!unpacking.put_unless_changed(file, target))
            print(in_root(root_path, target) +
                  " was changed, and stays as it is; the file of this version: " + in_root(root_path, copy) +
                  "\n");
        unpacking.put(file, copy);
    }
    unpacking.remove_old();
    unpacking.store_list();
    print("installed in " + quote(root_path) + "; next: oci-gpu-hooks doctor\n");
}

void take_away_from(const std::string &root_path)
{
    const RootFiles root(root_path);
    const PresentFile list_file = root.look(archive_list);
    if (!list_file.is_plain)
        throw Error(ErrorKind::Failure, "there is no " + in_root(root_path, archive_list) +
                                            ": nothing was installed by ./install");
    ArchiveList list = ArchiveList::parse(list_file.text);
    for (const std::string &other : list.others)
        print("a line of the list is none of this package's, and left: " + quote(other) + "\n");
    sort_for_removal(list.files);
    for (const ArchiveFile &file : list.files) {
        const PresentFile present = root.look(file.path);
        if (!present.exists)
            continue;
        if (present.is_plain && sha256_of(present.text) == file.hash) {
            root.remove(file.path);
            continue;
        }
        root.move(file.path, std::string(share) + "/kept");
        print(in_root(root_path, file.path) + " was changed; it is in " +
              in_root(root_path, std::string(share) + "/kept") + " now\n");
    }
    root.remove(archive_list);
    list.files.push_back({"", archive_list});
    for (const ArchiveFile &file : list.files)
        root.remove_empty_folders(file.path);
    print("removed from " + quote(root_path) + "\n");
}

/** @throws Error (Usage) */
void require_absolute(const char *option, std::string &path)
{
    if (!path.starts_with('/'))
        throw Error(ErrorKind::Usage, std::string(option) + " needs an absolute path, not " + quote(path));
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
}

constexpr CommandLine::Option root_option = {"--root", "DIR",
                                             "The root filesystem, such as that of an image (default: /)"};

} // namespace

int unpack(int argc, const char *const *argv)
{
    std::string from;
    std::string root = "/";
    std::string hooks_folder = shipped_folder;
    CommandLine cli("./install",
                    "Installs oci-gpu-hooks, or another version of it over an earlier one. A JSON file that "
                    "somebody has changed stays as it is.",
                    page);
    cli.add(root_option, root);
    cli.add(
        {"--hooks-dir", "DIR",
         "Where the JSON files go that put the hooks in force (default: "
         "/usr/share/containers/oci/hooks.d); for a worker of Concourse a folder with nothing else in it"},
        hooks_folder);
    cli.add({"--from", "DIR", "The unpacked archive: this script names it"}, from);
    if (const auto text = cli.parse(argc, argv)) {
        print(*text);
        return EXIT_SUCCESS;
    }
    require_absolute("--from", from);
    require_absolute("--root", root);
    require_absolute("--hooks-dir", hooks_folder);
    if (!is_archive_name(hooks_folder + "/" + std::string(our_hooks().front().file)))
        throw Error(ErrorKind::Usage,
                    "--hooks-dir needs a path without '.' and '..', not " + quote(hooks_folder));
    ::umask(S_IWGRP | S_IWOTH);
    unpack_into(Archive(from), root, hooks_folder);
    return EXIT_SUCCESS;
}

int take_away(int argc, const char *const *argv)
{
    std::string root = "/";
    CommandLine cli(
        "./uninstall",
        "Removes what ./install has installed. A file that somebody has changed is moved out of force, "
        "to /usr/local/share/oci-gpu-hooks/kept. Containers that run keep what they have.",
        page);
    cli.add(root_option, root);
    if (const auto text = cli.parse(argc, argv)) {
        print(*text);
        return EXIT_SUCCESS;
    }
    require_absolute("--root", root);
    ::umask(S_IWGRP | S_IWOTH);
    take_away_from(root);
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
