// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/plan/driver_tree.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/number.h"
#include "base/path_names.h"
#include "base/text.h"
#include "kernel/tmpfs.h"
#include "nvidia-devices/driver/named_libraries.h"
#include "nvidia/driver_params.h"

namespace ogh::nvidia_devices {

namespace {

/** In front of each capability that `all` was not to bring. */
constexpr char withheld_mark = '-';

constexpr const char *allocator_soname = "libnvidia-allocator.so.1";
constexpr const char *vendor_library = "libGLX_nvidia.so.0";
constexpr const char *indirect_name =
    "libGLX_indirect.so.0"; // by which libglvnd asks for any vendor's library

std::string in_tree(const std::string &path)
{
    return std::string(tree_directory) + "/" + path;
}

const char *library_directory(const DriverLibrary &library)
{
    return library.is_32 ? "lib" : "lib64";
}

/** "libcuda.so" of "libcuda.so.555.42.07", for the linker and for programs that load it by that name. */
std::string development_name(const std::string &file)
{
    constexpr std::string_view ending = ".so";
    const size_t end = file.find(".so.");
    return end == std::string::npos ? file : file.substr(0, end + ending.size());
}

/** The links beside the libraries; the first that takes a name has it. */
class LibraryLinks final {
public:
    void add(const std::string &directory, const std::string &name, const std::string &target)
    {
        if (!name.empty() && name != target)
            links_.try_emplace(directory + "/" + name, target);
    }

    void add_library(const DriverLibrary &library)
    {
        const std::string directory = library_directory(library);
        add(directory, library.soname, library.file);
        add(directory, development_name(library.file),
            library.soname.empty() ? library.file : library.soname);
        if (library.soname == vendor_library)
            add(directory, indirect_name, library.file);
    }

    [[nodiscard]] std::vector<LinkEdit> take() const
    {
        std::vector<LinkEdit> list;
        list.reserve(links_.size());
        for (const auto &[path, target] : links_)
            list.push_back({in_tree(path), target});
        return list;
    }

private:
    std::map<std::string, std::string> links_;
};

/** Whether the image's libraries for forward compatibility go before the host's. */
bool is_compat_used(const DriverTree &tree, const Image &image)
{
    const Capabilities &capabilities = tree.record.capabilities;
    return image.compat && capabilities.has_any(for_compute) && is_preferred(*image.compat, tree.version);
}

/** By SONAME, the libraries of the image that go before the host's. */
std::map<std::string, std::string> winners(const DriverTree &tree, const Image &image, Notes &notes)
{
    std::map<std::string, std::string> found;
    if (!is_compat_used(tree, image))
        return found;
    const auto is_file_of_host = [&](const std::string &name) {
        const auto &ours = tree.files.libraries;
        return std::any_of(ours.begin(), ours.end(),
                           [&](const DriverLibrary &library) { return library.file == name; });
    };
    for (const CudaCompat::Library &library : image.compat->libraries) {
        if (!is_file_of_host(library.soname))
            found.emplace(library.soname, std::string(cuda_compat_directory) + "/" + library.file);
    }
    notes.push_back({LogLevel::Info, "CUDA forward compatibility: the image's " + image.compat->version +
                                         " is used instead of the host's " + tree.version});
    return found;
}

/** Without those that the image's programs could not load: they would hide libraries of the image that they can. */
std::vector<DriverLibrary> loadable(const std::vector<DriverLibrary> &libraries, const Image &image,
                                    Notes &notes)
{
    std::vector<DriverLibrary> rest;
    for (const DriverLibrary &library : libraries) {
        const std::string lacking = image.glibc ? image.glibc->lacking(library.needed_glibc) : "";
        if (lacking.empty())
            rest.push_back(library);
        else
            notes.push_back({LogLevel::Warning, quote(library.file) + " of the host is left out: it needs " +
                                                    quote(lacking) + ", and the image has glibc " +
                                                    image.glibc->highest.text()});
    }
    return rest;
}

/**
 * The libraries. Where the image's own is preferred, its SONAME is a link to it, and the host's is not there at all: of
 * two in one directory, ldconfig takes a file before a link.
 */
void plan_libraries(const DriverTree &tree, const Image &image, TmpfsEdit &edit, Notes &notes)
{
    LibraryLinks links;
    std::set<std::string> directories;
    const auto winning = winners(tree, image, notes);
    for (const auto &[soname, path] : winning) {
        links.add("lib64", soname, path);
        links.add("lib64", development_name(soname), soname);
    }
    for (const DriverLibrary &library : tree.files.libraries) {
        if (!library.is_32 && winning.contains(library.soname))
            continue;
        const std::string directory = library_directory(library);
        directories.insert(directory);
        edit.mounts.push_back({library.host_path, in_tree(directory + "/" + library.file), Kind::File});
        links.add_library(library);
    }
    edit.links = links.take();
    std::string list;
    for (auto directory = directories.rbegin(); directory != directories.rend(); ++directory) // lib64 first
        list += *directory + "\n";
    edit.files.push_back({directory_list_name, list});
}

bool has_graphics(const DriverTree &tree)
{
    return tree.record.capabilities.has_any(for_graphics);
}

/**
 * Without those that name a library which the container does not get: a loader takes it for a mistake, or for a driver that
 * does not work. @param libraries that it gets
 */
std::vector<DriverFile> usable(const std::vector<DriverFile> &files,
                               const std::vector<DriverLibrary> &libraries, Notes &notes)
{
    std::vector<DriverFile> rest;
    for (const DriverFile &file : files) {
        const auto names = named_libraries(file.text);
        const auto lacking = std::find_if(names.begin(), names.end(), [&](const std::string &name) {
            return find_library(libraries, file_name_of(name)) == nullptr;
        });
        if (lacking == names.end())
            rest.push_back(file);
        else
            notes.push_back({LogLevel::Warning, quote(file.host_path) + " is left out: it names " +
                                                    quote(*lacking) + ", which the container does not get"});
    }
    return rest;
}

/** The library that a path of the host's names, where the container has it. A name alone is looked for there as here. */
std::string in_container(const std::string &name)
{
    return name.find('/') == std::string::npos ? name : in_tree("lib64/" + file_name_of(name));
}

/** The other files. */
void plan_files(const DriverTree &tree, TmpfsEdit &edit)
{
    for (const DriverFile &file : tree.files.files) {
        const auto names = named_libraries(file.text);
        const bool has_path = std::any_of(names.begin(), names.end(), [](const std::string &name) {
            return name.find('/') != std::string::npos;
        });
        if (has_path)
            edit.files.push_back({file.tree_path, with_names(file.text, in_container)});
        else
            edit.mounts.push_back({file.host_path, in_tree(file.tree_path), file.kind, file.read_only});
    }
}

/** The tree alone. */
TmpfsEdit plan_tree(const DriverTree &tree, const Image &image, Notes &notes)
{
    TmpfsEdit edit{tree_directory};
    plan_libraries(tree, image, edit, notes);
    plan_files(tree, edit);
    edit.files.push_back({record_name, to_text(tree.record)});
    if (has_graphics(tree))
        edit.files.push_back(
            {std::string("share/nvidia/") + egl_profile_name, egl_profile(tree.record.minors)});
    return edit;
}

bool is_in_path(const std::string &path, const std::string &directory)
{
    const auto directories = split_list(path, ':');
    return std::any_of(directories.begin(), directories.end(),
                       [&](const std::string &each) { return each == directory || each == directory + "/"; });
}

/** The links in the image's own directories; what the image has there stays. */
void plan_links(const DriverTree &tree, const Image &image, Edits &edits)
{
    const auto add = [&](const std::string &path, const std::string &target) {
        edits.links.push_back({path, in_tree(target), true});
    };
    for (const DriverFile &file : tree.files.files) {
        const bool is_found = file.tree_path.starts_with("bin/") && is_in_path(image.path, in_tree("bin"));
        if (!file.standard_path.empty() && !is_found)
            add(file.standard_path, file.tree_path);
    }
    if (!has_graphics(tree))
        return;
    add(std::string("/etc/nvidia/") + egl_profile_name, std::string("share/nvidia/") + egl_profile_name);
    const auto &libraries = tree.files.libraries;
    const bool has_allocator =
        std::any_of(libraries.begin(), libraries.end(), [](const DriverLibrary &library) {
            return !library.is_32 && library.soname == allocator_soname;
        });
    // Mesa's libgbm takes plugins from one directory alone, by their file names.
    if (has_allocator)
        add(image.library_directory + "/gbm/nvidia-drm_gbm.so", std::string("lib64/") + allocator_soname);
}

void say_own_tools(const DriverTree &tree, const Image &image, Notes &notes)
{
    const bool is_compat = is_compat_used(tree, image);
    for (const OwnTool &tool : image.own_tools) {
        if (tool.version == tree.version || (is_compat && directory_of(tool.path) == cuda_compat_directory))
            continue;
        notes.push_back({LogLevel::Warning,
                         "the image's own " + quote(tool.path) + " is found before the host's: it is " +
                             (tool.version.empty() ? "of a driver whose version is not known"
                                                   : "the driver's of version " + tool.version) +
                             ", and this host has " + tree.version +
                             "; remove from the image what belongs to the driver" +
                             (file_name_of(tool.path).starts_with("lib")
                                  ? ", or " + quote(directory_of(tool.path)) + " from LD_LIBRARY_PATH"
                                  : "")});
    }
}

/** A program that cannot be started is "not found", whatever is there. */
void say_interpreters(const DriverTree &tree, const Image &image, Notes &notes)
{
    for (const std::string &interpreter : image.lacking_interpreters) {
        std::vector<std::string> programs;
        for (const DriverFile &file : tree.files.files)
            if (file.interpreter == interpreter)
                programs.push_back(file_name_of(file.tree_path));
        notes.push_back({LogLevel::Warning, quote_list(programs) +
                                                " of the host cannot be started in this image, " +
                                                "which has no " + quote(interpreter)});
    }
}

/** What is said where no program of the image could load the driver's libraries; "" if some could. */
std::string why_of_no_use(const DriverTree &tree, const Image &image)
{
    if (image.has_only_musl)
        return "the image has musl, and the driver's libraries need glibc: they are not put in";
    const bool has_32 = tree.record.capabilities.has(Capability::Compat32);
    if (!image.is_foreign || (image.has_loader_32 && has_32))
        return "";
    return image.has_loader_32
               ? "the image has 32-bit programs alone: the driver's libraries are not put in; 'compat32', "
                 "beside other capabilities, brings those for them"
               : "the image's programs are for another processor than this host's: the driver's libraries "
                 "are "
                 "not put in";
}

} // namespace

TreeRecord joined(const TreeRecord &one, const TreeRecord &other)
{
    TreeRecord both = one;
    both.capabilities.all = one.capabilities.all || other.capabilities.all;
    both.capabilities.named = one.capabilities.named | other.capabilities.named;
    // What one request was not handed out may be what the other was.
    if (other.capabilities.all)
        both.capabilities.withheld = one.capabilities.all
                                         ? one.capabilities.withheld & other.capabilities.withheld
                                         : other.capabilities.withheld;
    both.minors.insert(other.minors.begin(), other.minors.end());
    return both;
}

std::string to_text(const TreeRecord &record)
{
    std::string minors;
    for (const unsigned minor : record.minors)
        minors += (minors.empty() ? "" : ",") + std::to_string(minor);
    std::string capabilities = to_text(record.capabilities);
    for (const std::string &name : names_of(record.capabilities.withheld))
        (capabilities += withheld_mark) += name;
    return capabilities + "\n" + minors + "\n";
}

std::optional<TreeRecord> parse_tree_record(std::string_view text)
{
    const auto lines = split_list(text, '\n');
    if (lines.size() != 3)
        return std::nullopt;
    try {
        const std::string origin = "tree of an earlier request";
        const size_t mark = lines[0].find(withheld_mark);
        TreeRecord record{parse_capabilities({lines[0].substr(0, mark), origin})};
        if (mark != std::string::npos) {
            std::string withheld = lines[0].substr(mark + 1);
            std::replace(withheld.begin(), withheld.end(), withheld_mark, ',');
            record.capabilities.withheld = parse_capabilities({withheld, origin}).named;
        }
        for (const std::string &word : split_list(lines[1])) {
            if (const auto minor = parse_number(word))
                record.minors.insert(static_cast<unsigned>(*minor));
        }
        return record;
    } catch (const Error &) {
        return std::nullopt; // another version of this hook has written it
    }
}

void plan_driver_tree(const DriverTree &requested, const Image &image, Edits &edits, Notes &notes)
{
    if (!requested.wanted)
        return;
    if (const std::string why = why_of_no_use(requested, image); !why.empty()) {
        notes.push_back({LogLevel::Warning, why});
        return;
    }
    DriverTree tree = requested;
    say_own_tools(tree, image, notes);
    say_interpreters(tree, image, notes);
    tree.files.libraries = loadable(requested.files.libraries, image, notes);
    tree.files.files = usable(requested.files.files, tree.files.libraries, notes);
    if (tree.is_there)
        notes.push_back({LogLevel::Debug, quote(tree_directory) + " is mounted already"});
    else
        edits.tree = plan_tree(tree, image, notes);
    plan_links(tree, image, edits);
}

} // namespace ogh::nvidia_devices
