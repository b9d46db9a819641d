// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "commands/command.h"
#include "install/archive_list.h"
#include "install/kept_files.h"
#include "install/root_files.h"
#include "install/written_file.h"
#include "registration/hooks.h"

namespace ogh::admin {

namespace {

constexpr const char *shipped_directory = "/usr/share/containers/oci/hooks.d";

/** Below a directory of the unpacked archive, which is root's own, sorted; as they are named in a root. */
std::vector<std::string> files_below(const std::string &archive, const std::string &path)
{
    std::vector<std::string> found;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(archive + path))
        if (entry.is_regular_file())
            found.push_back(entry.path().string().substr(archive.size()));
    std::sort(found.begin(), found.end());
    return found;
}

/** Puts the files of an archive into a root. */
class Unpacking final {
public:
    Unpacking(const std::string &archive, RootFiles &root)
        : archive_(RootFiles::of_image(archive)), root_(root), before_(root.look(archive_list_path).text)
    {
        after_.directories = before_.directories;
    }

    void put(const std::string &file, const std::string &target)
    {
        const PresentFile packed = archive_.look(file);
        note_directories(target);
        root_.write(target, packed.text, (packed.mode & S_IXUSR) != 0 ? executable_mode : file_mode);
        after_.files.push_back({target, sha256_of(packed.text), {}, "", {}});
    }

    /** @return false if somebody has changed it, or made it: then it is as it was */
    bool put_unless_changed(const std::string &file, const std::string &target)
    {
        const PresentFile present = root_.look(target);
        const InstalledFile *const known = before_.find(target);
        if (!present.exists || (known != nullptr && is_as_written(*known, present)) ||
            (present.is_plain && present.text == archive_.look(file).text)) {
            put(file, target);
            return true;
        }
        if (known != nullptr)
            after_.files.push_back(*known);
        return false;
    }

    /** Removes what an earlier version had and this one has not, unless somebody has changed it, and writes the list. */
    void finish()
    {
        before_.sort_for_removal();
        for (const InstalledFile &file : before_.files)
            if (after_.find(file.path) == nullptr && is_as_written(file, root_.look(file.path)))
                root_.remove(file.path);
        root_.write(archive_list_path, after_.lines());
        root_.keep();
    }

private:
    /** Those on the way that are not there yet, so that they go with the last file, and no others. */
    void note_directories(const std::string &target)
    {
        for (std::string directory = directory_of(target); directory != "/" && !root_.look(directory).exists;
             directory = directory_of(directory))
            after_.directories.push_back(directory);
    }

    RootFiles archive_;
    RootFiles &root_;
    ArchiveList before_;
    ArchiveList after_;
};

std::string in_root(const std::string &root_path, const std::string &target)
{
    return quote((root_path == "/" ? "" : root_path) + target);
}

void unpack_into(const std::string &archive, const std::string &root_path, const std::string &hooks_directory)
{
    RootFiles root = RootFiles::of_image(root_path);
    Unpacking unpacking(archive, root);
    for (const std::string &file : files_below(archive, "/usr/local"))
        unpacking.put(file, file);
    // What was kept when an earlier one was removed: it comes before the archive's own files, which are without a policy.
    const KeptFiles kept = put_back(root);
    for (const std::string &line : kept.said)
        print(line + "\n");
    // The files that put hooks in effect are the last: an engine that finds one finds its executable too.
    for (const std::string &file : files_below(archive, shipped_directory)) {
        const std::string target = hooks_directory + "/" + file_name_of(file);
        const std::string copy = std::string(archive_share) + "/hooks.d/" + file_name_of(file);
        if (!unpacking.put_unless_changed(file, target))
            print(in_root(root_path, target) +
                  " was changed, and stays as it is; the file of this version: " + in_root(root_path, copy) +
                  "\n");
        unpacking.put(file, copy);
    }
    unpacking.finish();
    kept.remove_empty_directories(root);
    print("installed in " + quote(root_path) + "; next: oci-gpu-hooks doctor\n");
}

/** What somebody has changed is moved out of the way. */
void remove_or_keep(RootFiles &root, const InstalledFile &file, const std::string &root_path)
{
    const PresentFile present = root.look(file.path);
    if (!present.exists)
        return;
    if (is_as_written(file, present)) {
        root.remove(file.path);
        return;
    }
    const std::string kept = std::string(archive_share) + "/kept";
    root.move(file.path, kept);
    print(in_root(root_path, file.path) + " was changed; it is in " + in_root(root_path, kept) + " now\n");
}

void take_away_from(const std::string &root_path)
{
    RootFiles root = RootFiles::of_image(root_path);
    const PresentFile list_file = root.look(archive_list_path);
    if (!list_file.is_plain)
        throw Error(ErrorKind::Failure, "there is no " + in_root(root_path, archive_list_path) +
                                            ": nothing was installed by ./install");
    ArchiveList list(list_file.text);
    for (const std::string &other : list.others)
        print("a line of the list is none of this package's, and left: " + quote(other) + "\n");
    list.sort_for_removal();
    const auto first_other =
        std::find_if(list.files.begin(), list.files.end(),
                     [](const InstalledFile &file) { return !file.path.ends_with(".json"); });
    for (auto file = list.files.begin(); file != first_other; ++file)
        if (is_as_written(*file, root.look(file->path)))
            root.remove(file->path);
    for (const std::string &line : take_out_of_effect(std::make_shared<Sysroot>(root_path), root))
        print(line + "\n");
    for (const InstalledFile &file : list.files)
        remove_or_keep(root, file, root_path);
    root.remove(archive_list_path);
    root.keep();
    root.remove_empty_directories(archive_list_path, archive_share);
    // The deepest first.
    std::sort(list.directories.begin(), list.directories.end(),
              [](const std::string &one, const std::string &other) { return one.size() > other.size(); });
    for (const std::string &directory : list.directories)
        root.remove_empty_directories(directory + "/", directory);
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
    std::string hooks_directory = shipped_directory;
    CommandLine cli("./install",
                    "Installs oci-gpu-hooks, or another version of it over an earlier one. A hook "
                    "configuration file that "
                    "somebody has changed stays as it is.",
                    page);
    cli.add(root_option, root);
    cli.add(
        {"--hooks-dir", "DIR",
         "Where the hook configuration files go, which put the hooks into effect (default: "
         "/usr/share/containers/oci/hooks.d); for a worker of Concourse a directory with nothing else in it"},
        hooks_directory);
    cli.add({"--from", "DIR", "The unpacked archive: this script names it"}, from);
    if (const auto text = cli.parse(argc, argv)) {
        print(*text);
        return EXIT_SUCCESS;
    }
    require_absolute("--from", from);
    require_absolute("--root", root);
    require_absolute("--hooks-dir", hooks_directory);
    if (!is_archive_name(hooks_directory + "/" + std::string(our_hooks().front().file)))
        throw Error(ErrorKind::Usage,
                    "--hooks-dir needs a path without '.' and '..', not " + quote(hooks_directory));
    unpack_into(from, root, hooks_directory);
    return EXIT_SUCCESS;
}

int take_away(int argc, const char *const *argv)
{
    std::string root = "/";
    CommandLine cli("./uninstall",
                    "Removes what ./install has installed, and moves what calls the hooks, and what "
                    "'oci-gpu-hooks install' has "
                    "written, to /var/lib/oci-gpu-hooks/disabled: ./install puts it back. Another file that "
                    "somebody has changed is "
                    "moved to /usr/local/share/oci-gpu-hooks/kept. Containers that run keep what they have.",
                    page);
    cli.add(root_option, root);
    if (const auto text = cli.parse(argc, argv)) {
        print(*text);
        return EXIT_SUCCESS;
    }
    require_absolute("--root", root);
    take_away_from(root);
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
