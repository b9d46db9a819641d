// SPDX-License-Identifier: Apache-2.0
#include "cdi-devices/plan/plan.h"

#include <libmount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/dotted_version.h"
#include "base/error.h"
#include "base/letters.h"
#include "base/number.h"
#include "base/text.h"
#include "cdi-devices/plan/target_path.h"
#include "edits/inner_path.h"
#include "libraries/loader_plan.h"
#include "nvidia/driver_params.h"

namespace ogh::cdi_devices {

namespace {

Error wrong(const cdi::DeviceNode &node, const std::string &why)
{
    return {ErrorKind::BrokenHost, "the specification's device node " + quote(node.path) + " " + why};
}

mode_t type_of(const std::string &letter)
{
    if (letter == "b")
        return S_IFBLK;
    return letter == "p" ? S_IFIFO : S_IFCHR; // u is another word for c
}

std::string letter_of(mode_t mode)
{
    return S_ISBLK(mode) ? "b" : S_ISCHR(mode) ? "c" : S_ISFIFO(mode) ? "p" : "";
}

/** Whether it says all that the host's node could tell. */
bool is_whole(const cdi::DeviceNode &node)
{
    return !node.type.empty() && (node.major != 0 || node.type == "p");
}

void check_host(const cdi::DeviceNode &node, const HostFile &host)
{
    const std::string what = quote(host_path_of(node));
    if (host.mode == 0)
        throw wrong(node,
                    "is not on this host: there is no " + what +
                        "; the specification may be older than the driver, or the driver not be loaded yet");
    const std::string letter = letter_of(host.mode);
    if (letter.empty())
        throw wrong(node, "is none on this host: " + what +
                              (S_ISLNK(host.mode) ? " is a symlink" : " is no device"));
    if (!node.type.empty() && node.type != letter)
        throw wrong(node,
                    "has the type " + quote(node.type) + ", and " + what + " of this host " + quote(letter));
}

unsigned number_within(std::int64_t number, unsigned most, const cdi::DeviceNode &node)
{
    if (number < 0 || number > most)
        throw wrong(node, "has the number " + std::to_string(number) + ", which no device has");
    return static_cast<unsigned>(number);
}

unsigned access_of(const std::string &permissions)
{
    if (permissions.empty())
        return access_read | access_write | access_mknod;
    if (permissions == "none")
        return 0;
    const auto has = [&](char letter) { return permissions.find(letter) != std::string::npos; };
    return (has('r') ? access_read : 0) | (has('w') ? access_write : 0) | (has('m') ? access_mknod : 0);
}

mode_t mode_of(const cdi::DeviceNode &node, const HostFile &host)
{
    constexpr mode_t permissions = 0777; // a node needs no more
    if (node.file_mode)
        return *node.file_mode & permissions;
    return host.mode != 0 ? host.mode & permissions : NodeEdit().mode;
}

/**
 * A device node as the reference implementation makes it: numbers and permissions that the specification does not say are
 * those of the host's node, and it belongs to the container's user. Pure.
 * @param host what the host has at host_path_of(node)
 * @throws Error: BrokenHost if the host has none, or another one; Policy as node_target()
 */
NodeEdit plan_node(const cdi::DeviceNode &node, const HostFile &host, const NodeOwner &user)
{
    if (!is_whole(node))
        check_host(node, host);
    NodeEdit edit;
    edit.container_path = node_target(node.path);
    edit.host_path = host.path;
    edit.type = node.type.empty() ? host.mode & S_IFMT : type_of(node.type);
    const bool is_fifo = S_ISFIFO(edit.type);
    if (!is_fifo) {
        const bool of_host = node.major == 0;
        edit.major = of_host ? major(host.device) : number_within(node.major, max_major, node);
        edit.minor = of_host ? minor(host.device) : number_within(node.minor, max_minor, node);
    }
    edit.mode = mode_of(node, host);
    edit.access = is_fifo ? 0 : access_of(node.permissions);
    edit.owner = {.uid = node.uid.value_or(user.uid), .gid = node.gid.value_or(user.gid)};
    return edit;
}

constexpr unsigned long read_only = MS_RDONLY; // <sys/mount.h> has these as an enumeration
constexpr unsigned long recursive = MS_REC;

/** What an option may say, as flags of mount(2). Each mount is nosuid, nodev and private, and relatime if nothing else is said. */
constexpr unsigned long known_flags = read_only | recursive | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME |
                                      MS_BIND | MS_NOSUID | MS_NODEV | MS_RELATIME | MS_PRIVATE | MS_SLAVE |
                                      MS_SHARED;

Error wrong(const cdi::Mount &mount, ErrorKind kind, const std::string &why)
{
    return {kind, "the specification's mount of " + quote(mount.host_path) + " at " +
                      quote(mount.container_path) + " " + why};
}

/** What a library's name carries: "555.42.06" of libcuda.so.555.42.06; "" if it carries none. */
std::string version_in(const std::string &path)
{
    constexpr std::string_view before = ".so.";
    const size_t at = path.rfind(before);
    const std::string version = at == std::string::npos ? "" : path.substr(at + before.size());
    return is_driver_version(version) ? version : "";
}

Error missing(const cdi::Mount &mount, const std::string &driver_version)
{
    const std::string version = version_in(mount.host_path);
    if (version.empty() || driver_version.empty() || version == driver_version)
        return wrong(
            mount, ErrorKind::BrokenHost,
            "has nothing to mount: this host lacks it; the specification may be older than the driver, so "
            "have its vendor's tool regenerate it (for NVIDIA: nvidia-ctk cdi generate)");
    return wrong(mount, ErrorKind::BrokenHost,
                 "is for version " + version + " of the driver, and " + driver_version +
                     " is loaded: the specification is stale; regenerate it by 'nvidia-ctk cdi generate "
                     "--output=FILE', FILE being the specification's");
}

Kind kind_of(const cdi::Mount &mount, const HostFile &host, const std::string &driver_version)
{
    if (S_ISDIR(host.mode))
        return Kind::Directory;
    if (S_ISREG(host.mode))
        return Kind::File;
    if (S_ISSOCK(host.mode))
        return Kind::Socket;
    if (host.mode == 0)
        throw missing(mount, driver_version);
    throw wrong(mount, ErrorKind::Denied, "is neither of a directory nor of a file or a socket");
}

/** In their order: of two that contradict each other the later is in effect. @param flags without any options */
unsigned long flags_of(const cdi::Mount &mount, unsigned long flags)
{
    const libmnt_optmap *const options = mnt_get_builtin_optmap(MNT_LINUX_MAP);
    for (const std::string &word : mount.options) {
        unsigned long set = 0;
        unsigned long left = ~0UL; // by those that it clears
        // Neither a list of them nor one with a value is an option of a bind mount.
        if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos) {
            mnt_optstr_get_flags(word.c_str(), &set, options);
            mnt_optstr_get_flags(word.c_str(), &left, options);
        }
        const bool is_known = set != 0 || left == ~read_only || word == "defaults";
        if (!is_known || (set & ~known_flags) != 0)
            throw wrong(mount, ErrorKind::Denied,
                        "has the option " + quote(word) + ", which is not known here");
        // A propagation is recursive by itself.
        if ((set & MS_BIND) != 0)
            left &= ~recursive;
        else
            set &= ~recursive;
        flags = (flags & left) | set;
    }
    return flags;
}

/** Variables that only keep the vendor's own tools from doing the same: without them nothing is missing. */
constexpr auto needless = std::to_array<std::string_view>({"NVIDIA_VISIBLE_DEVICES=void"});
constexpr std::string_view vendors_own = "NVIDIA_CTK_LIBCUDA_DIR=";

bool is_needless(const std::string &variable)
{
    return contains(needless, variable) || variable.starts_with(vendors_own);
}

template<typename List, typename Text>
void add_missing(std::string &missing, const char *what, const List &list, const Text &text)
{
    std::string items;
    for (const auto &item : list)
        items += (items.empty() ? "" : ", ") + text(item);
    if (!items.empty())
        missing += (missing.empty() ? "" : "; ") + std::string(what) + " " + items;
}

/** One warning of what only who writes config.json could do. */
void note_missing(const PlanInputs &inputs, Notes &notes)
{
    const cdi::ContainerEdits &edits = inputs.edits;
    std::vector<std::string> variables;
    std::copy_if(edits.env.begin(), edits.env.end(), std::back_inserter(variables),
                 [&](const std::string &variable) {
                     return !is_needless(variable) && !contains(inputs.environment, variable);
                 });
    std::vector<std::uint32_t> groups = edits.groups;
    std::erase(groups, 0U);
    std::string missing;
    add_missing(missing, "the environment", variables, [](const std::string &text) { return quote(text); });
    add_missing(missing, "the groups", groups, [](std::uint32_t group) { return std::to_string(group); });
    if (!variables.empty() && inputs.require_env)
        throw Error(ErrorKind::Denied,
                    "the container lacks what the specification says of the environment, and a "
                    "hook cannot give it (--require-env): " +
                        quote_list(variables) + "; start it with these");
    if (!missing.empty())
        notes.push_back({LogLevel::Warning, "a hook cannot give a container what the specification says of " +
                                                missing + "; start it with them if they are needed"});
}

void refuse_impossible(const cdi::ContainerEdits &edits)
{
    if (edits.intel_rdt || !edits.net_devices.empty())
        throw Error(ErrorKind::Denied, std::string("a specification has ") +
                                           (edits.intel_rdt ? "'intelRdt'" : "'netDevices'") +
                                           ", which only a runtime can do");
}

constexpr std::string_view node_directory = "/dev/";

bool has_node_below(const std::string &directory, const std::vector<NodeEdit> &nodes)
{
    return std::any_of(nodes.begin(), nodes.end(), [&](const NodeEdit &node) {
        return node.container_path.starts_with(directory + "/");
    });
}

/**
 * Gives nodes the permissions that `chmod` is asked for. A directory of nodes is made for everybody, which is all that
 * specifications ask for it.
 * @throws Error (Denied) for any other path
 */
void change_modes(const std::vector<ModeChange> &changes, std::vector<NodeEdit> &nodes)
{
    constexpr mode_t directory_mode = 0755;
    for (const auto &[path, mode] : changes) {
        bool is_node = false;
        for (NodeEdit &node : nodes) {
            if (node.container_path != path)
                continue;
            node.mode = mode;
            is_node = true;
        }
        if (!is_node && !(mode == directory_mode && has_node_below(path, nodes)))
            throw Error(ErrorKind::Denied,
                        "a specification changes the permissions of " + quote(path) +
                            " in the container, which is none of its device nodes; that is "
                            "not done");
    }
}

/** What depends on the image: files of its loaders, and the profile for EGL. */
void plan_image(const PlanInputs &inputs, Edits &planned, Notes &notes)
{
    const VendorActions &actions = inputs.actions;
    const Image &image = inputs.image;
    LoaderImage loader = image.loader;
    if (!image.compat.empty())
        loader.directories.insert(loader.directories.end(), image.compat_directories.begin(),
                                  image.compat_directories.end());
    loader.directories.insert(loader.directories.end(), actions.library_directories.begin(),
                              actions.library_directories.end());
    loader.libraries = added_libraries(actions.library_directories, inputs.files.libraries, planned.links,
                                       image.compat, notes);
    loader.has_all_libraries = false;
    if (!loader.directories.empty())
        planned.files = plan_loader_files(loader, inputs.is_read_only, notes).files;
    if (!actions.limits_egl)
        return;
    if (auto file = plan_egl_profile(planned.nodes, image.gpus, image.egl_profile, notes))
        planned.files.push_back(std::move(*file));
}

/** The name in the directory that a link leads to; "" if it leads out of it. */
std::string name_behind(const LinkEdit &link, const std::string &directory)
{
    std::string target = link.target;
    if (target.starts_with(directory + "/"))
        target.erase(0, directory.size() + 1);
    return target.find('/') == std::string::npos ? target : "";
}

/** Adds the links, which may lead to each other. */
void add_links(const std::string &directory, const std::vector<LinkEdit> &links,
               std::vector<FoundFile> &files)
{
    for (bool has_more = true; has_more;) {
        has_more = false;
        for (const LinkEdit &link : links) {
            const InnerPath path = InnerPath::parse(link.container_path);
            const auto has_name = [&](const std::string &name) {
                return std::find_if(files.begin(), files.end(),
                                    [&](const FoundFile &file) { return file.name == name; });
            };
            if (path.parent != directory || !is_library_name(path.name) || has_name(path.name) != files.end())
                continue;
            const auto file = has_name(name_behind(link, directory));
            if (file == files.end())
                continue;
            FoundFile alias = *file;
            alias.name = path.name;
            alias.is_link = true;
            files.push_back(std::move(alias));
            has_more = true;
        }
    }
}

/**
 * A mount, by the words of its options. Pure.
 * @param host what the host has at its host path
 * @param driver_version of NVIDIA's driver; "" if it is not known. A file that is gone may be that of another one
 * @throws Error: BrokenHost if the host has not what is mounted; Denied for a type or an option that is not known, and as
 *         mount_target()
 */
MountEdit plan_mount(const cdi::Mount &mount, const HostFile &host, Writable writable,
                     const std::string &driver_version)
{
    if (!mount.type.empty() && mount.type != "bind" && mount.type != "none")
        throw wrong(mount, ErrorKind::Denied,
                    "has the type " + quote(mount.type) + ": only what the host has is mounted (type bind)");
    const unsigned long flags = flags_of(mount, writable == Writable::Spec ? 0UL : read_only);
    MountEdit edit;
    edit.container_path = mount_target(mount.container_path);
    edit.host_path = host.path;
    edit.kind = kind_of(mount, host, driver_version);
    edit.read_only = writable == Writable::Never || (flags & read_only) != 0;
    edit.recursive = (flags & recursive) != 0;
    edit.attributes = ((flags & MS_NOEXEC) != 0 ? MOUNT_ATTR_NOEXEC : 0UL) |
                      ((flags & MS_NOATIME) != 0 ? MOUNT_ATTR_NOATIME : 0UL) |
                      ((flags & MS_NODIRATIME) != 0 ? MOUNT_ATTR_NODIRATIME : 0UL);
    return edit;
}

} // namespace

std::vector<NodeEdit> plan_nodes(const cdi::ContainerEdits &edits, const HostFiles &host,
                                 const NodeOwner &user)
{
    std::vector<NodeEdit> nodes;
    for (const cdi::DeviceNode &node : edits.nodes)
        if (const auto found = host.nodes.find(host_path_of(node)); found != host.nodes.end())
            nodes.push_back(plan_node(node, found->second, user));
    // A mount of a device node, such as Intel's of the links in /dev/dri/by-path, is another name for it, without a rule of
    // the device cgroup, which a mount brings none of. Every mount of this collection is nodev.
    for (const cdi::Mount &mount : edits.mounts)
        if (const auto found = host.mounts.find(mount.host_path);
            found != host.mounts.end() && is_device(found->second))
            nodes.push_back(
                plan_node({.path = mount.container_path, .permissions = "none"}, found->second, user));
    return nodes;
}

DeviceNodes nodes_of(const FoundDevice &found, const HostFiles &host)
{
    const NodeOwner anybody{};
    return {plan_nodes(found.device->edits, host, anybody),
            plan_nodes(found.file->spec.edits, host, anybody)};
}

std::optional<FileEdit> plan_egl_profile(const std::vector<NodeEdit> &nodes,
                                         const std::set<unsigned> &earlier, const LoaderFile &file,
                                         Notes &notes)
{
    std::set<unsigned> minors;
    for (const NodeEdit &node : nodes)
        if (const std::string_view path = node.container_path;
            path.starts_with(node_directory) && is_gpu_node(path.substr(node_directory.size())))
            minors.insert(node.minor);
    if (minors.empty())
        return std::nullopt;
    minors.insert(earlier.begin(), earlier.end());
    const std::string content = egl_profile(minors);
    if (file.state == LoaderFile::State::Plain && file.content == content)
        return std::nullopt;
    if (file.why_not_replace.empty())
        return FileEdit{egl_profile_path, content};
    notes.push_back(
        {LogLevel::Warning, quote(egl_profile_path) +
                                " is not written, so that programs with EGL may look for GPUs that "
                                "this container does not have: " +
                                file.why_not_replace});
    return std::nullopt;
}

Edits plan(const PlanInputs &inputs, Notes &notes)
{
    const HostFiles &files = inputs.files;
    refuse_impossible(inputs.edits);
    Edits planned;
    planned.links = inputs.actions.links;
    planned.nodes = plan_nodes(inputs.edits, files, inputs.user);
    for (const cdi::Mount &mount : inputs.edits.mounts)
        if (const HostFile &host = files.mounts.at(mount.host_path); !is_device(host))
            planned.mounts.push_back(plan_mount(mount, host, inputs.writable, files.driver_version));
    change_modes(inputs.actions.modes, planned.nodes);
    if (files.driver_proc) {
        planned.proc = plan_driver_proc(*files.driver_proc);
        planned.proc->mounts = files.driver_directories;
    }
    note_missing(inputs, notes);
    if (needs_image(inputs.actions))
        plan_image(inputs, planned, notes);
    return planned;
}

std::vector<AddedLibrary> added_libraries(const std::vector<std::string> &directories,
                                          const DirectoryFiles &files, const std::vector<LinkEdit> &links,
                                          const std::vector<AddedLibrary> &preferred, Notes &notes)
{
    std::vector<AddedLibrary> all = preferred;
    std::set<std::pair<std::string, std::int32_t>> known;
    for (const AddedLibrary &library : all)
        known.emplace(library.name, library.flags);
    for (const std::string &directory : directories) {
        std::vector<FoundFile> found = files.at(directory);
        add_links(directory, links, found);
        std::vector<AddedLibrary> libraries = choose_libraries(directory, "", found, notes);
        add_file_names(directory, found, libraries);
        for (AddedLibrary &library : libraries)
            if (known.emplace(library.name, library.flags).second)
                all.push_back(std::move(library));
    }
    return all;
}

} // namespace ogh::cdi_devices
