// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/contains.h"
#include "base/error.h"
#include "base/path_names.h"
#include "base/text.h"
#include "commands/command.h"
#include "install/root_files.h"
#include "install/written_file.h"
#include "registration/hooks.h"

namespace ogh::admin {

namespace {

constexpr const char *shipped_folder = "/usr/share/containers/oci/hooks.d";
constexpr const char *share = "/usr/local/share/oci-gpu-hooks";
constexpr const char *list_path =
    "/usr/local/share/oci-gpu-hooks/installed"; ///< of what came out of the archive

// Nobody else has files in these.
constexpr std::array<std::string_view, 2> own_folders = {"/usr/local/share/oci-gpu-hooks/",
                                                         "/usr/local/share/doc/oci-gpu-hooks/"};
constexpr std::array<std::string_view, 11> single_files = {
    "/usr/local/bin/oci-gpu-hooks",
    "/usr/local/lib/systemd/system/oci-gpu-hooks-check.service",
    "/usr/local/lib/systemd/system/oci-gpu-hooks-check.timer",
    "/usr/local/lib/udev/rules.d/90-oci-gpu-hooks-check.rules",
    "/usr/local/libexec/oci/hooks.d/nvidia-devices-nvml",
    "/usr/local/share/bash-completion/completions/oci-gpu-hooks",
    "/usr/local/share/zsh/site-functions/_oci-gpu-hooks",
    "/usr/local/share/fish/vendor_completions.d/oci-gpu-hooks.fish",
    "/usr/local/share/man/man1/oci-gpu-hooks.1",
    "/usr/local/share/man/man7/oci-gpu-hooks.7",
    "/usr/local/share/man/man7/oci-gpu-hooks-leases.7",
};

bool is_clean(std::string_view path)
{
    if (!path.starts_with('/') || path.find_first_of(std::string_view("\n\0", 2)) != std::string_view::npos)
        return false;
    const std::vector<std::string> names = split_list(path.substr(1), '/');
    return std::none_of(names.begin(), names.end(),
                        [](const std::string &name) { return name.empty() || name == "." || name == ".."; });
}

bool is_of_hook(std::string_view path, const OurHook &hook)
{
    const std::string name(hook.name);
    return path == "/usr/local/libexec/oci/hooks.d/" + name ||
           path == "/usr/local/share/man/man8/" + name + ".8" || file_name_of(std::string(path)) == hook.file;
}

/**
 * Whether an archive of this package has a file of this name, or had: an absolute path without `.` and `..`. The list may
 * be of somebody's making, and has everything of its root removed that it names.
 */
bool is_archive_name(std::string_view path)
{
    if (!is_clean(path))
        return false;
    const auto hooks = our_hooks();
    return std::any_of(own_folders.begin(), own_folders.end(),
                       [&](std::string_view folder) { return path.starts_with(folder); }) ||
           contains(single_files, path) || std::any_of(hooks.begin(), hooks.end(), [&](const OurHook &hook) {
               return is_of_hook(path, hook);
           });
}

/** The files that came out of an archive, by the list in the root that they were put into: a hash and a path in a line. */
struct ArchiveList : Manifest {
    std::vector<std::string> others; ///< lines that are not as they may be

    explicit ArchiveList(const std::string &text)
    {
        for (const std::string &line : split_list(text, '\n')) {
            const size_t blank = line.find(' ');
            const std::string name = blank == std::string::npos ? "" : line.substr(blank + 1);
            if (is_archive_name(name))
                files.push_back({name, line.substr(0, blank), {}, "", {}});
            else if (!line.empty())
                others.push_back(line);
        }
    }

    /** Those that put hooks in force come first: an engine does without a hook whose executable is missing. */
    void sort_for_removal()
    {
        std::stable_partition(files.begin(), files.end(),
                              [](const InstalledFile &file) { return file.path.ends_with(".json"); });
    }
};

/** Below a folder of the unpacked archive, which is root's own, sorted; as they are named in a root. */
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
        : archive_(RootFiles::of_image(archive)), root_(root), before_(root.look(list_path).text)
    {
    }

    void put(const std::string &file, const std::string &target)
    {
        const std::string text = archive_.look(file).text;
        const bool is_program =
            file.starts_with("/usr/local/bin/") || file.starts_with("/usr/local/libexec/");
        root_.write(target, text, is_program ? executable_mode : file_mode);
        after_.files.push_back({target, sha256_of(text), {}, "", {}});
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
        std::string text;
        for (const InstalledFile &file : after_.files)
            text += file.hash + " " + file.path + "\n";
        root_.write(list_path, text);
        root_.keep();
    }

private:
    RootFiles archive_;
    RootFiles &root_;
    ArchiveList before_;
    Manifest after_;
};

std::string in_root(const std::string &root_path, const std::string &target)
{
    return quote((root_path == "/" ? "" : root_path) + target);
}

void unpack_into(const std::string &archive, const std::string &root_path, const std::string &hooks_folder)
{
    RootFiles root = RootFiles::of_image(root_path);
    Unpacking unpacking(archive, root);
    for (const std::string &file : files_below(archive, "/usr/local"))
        unpacking.put(file, file);
    // The files that put hooks in force are the last: an engine that finds one finds its executable too.
    for (const std::string &file : files_below(archive, shipped_folder)) {
        const std::string target = hooks_folder + "/" + file_name_of(file);
        const std::string copy = std::string(share) + "/hooks.d/" + file_name_of(file);
        if (!unpacking.put_unless_changed(file, target))
            print(in_root(root_path, target) +
                  " was changed, and stays as it is; the file of this version: " + in_root(root_path, copy) +
                  "\n");
        unpacking.put(file, copy);
    }
    unpacking.finish();
    print("installed in " + quote(root_path) + "; next: oci-gpu-hooks doctor\n");
}

void take_away_from(const std::string &root_path)
{
    RootFiles root = RootFiles::of_image(root_path);
    const PresentFile list_file = root.look(list_path);
    if (!list_file.is_plain)
        throw Error(ErrorKind::Failure,
                    "there is no " + in_root(root_path, list_path) + ": nothing was installed by ./install");
    ArchiveList list(list_file.text);
    for (const std::string &other : list.others)
        print("a line of the list is none of this package's, and left: " + quote(other) + "\n");
    list.sort_for_removal();
    for (const InstalledFile &file : list.files) {
        const PresentFile present = root.look(file.path);
        if (!present.exists)
            continue;
        if (is_as_written(file, present)) {
            root.remove(file.path);
            continue;
        }
        root.move(file.path, std::string(share) + "/kept");
        print(in_root(root_path, file.path) + " was changed; it is in " +
              in_root(root_path, std::string(share) + "/kept") + " now\n");
    }
    root.remove(list_path);
    root.keep();
    list.files.push_back({list_path, "", {}, "", {}});
    for (const InstalledFile &file : list.files)
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
                    "Installs oci-gpu-hooks, or another version of it over an earlier one. A hook "
                    "configuration file that "
                    "somebody has changed stays as it is.",
                    page);
    cli.add(root_option, root);
    cli.add(
        {"--hooks-dir", "DIR",
         "Where the hook configuration files go, which put the hooks into effect (default: "
         "/usr/share/containers/oci/hooks.d); for a worker of Concourse a directory with nothing else in it"},
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
    unpack_into(from, root, hooks_folder);
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
    take_away_from(root);
    return EXIT_SUCCESS;
}

} // namespace ogh::admin
