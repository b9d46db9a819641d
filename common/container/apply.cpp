// SPDX-License-Identifier: Apache-2.0
#include "container/apply.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "container/attached.h"
#include "container/device_node.h"
#include "container/entered_container.h"
#include "container/proc_overlay.h"
#include "edits/inner_path.h"

namespace ogh {

namespace {

/** Whether an earlier run has put the same source there, with the same attributes. */
bool is_mounted_already(const Place &place, const MountSource &source)
{
    if (!place.existed || !place.inode.mount_root || !place.inode.same_file(source.inode))
        return false;
    return source.tree.looks_like(place.fd.get(), quote(source.edit.container_path));
}

void attach(const MountSource &source, Places &places, Attached &attached, Notes &notes)
{
    const InnerPath path = InnerPath::parse(source.edit.container_path);
    const std::string what = quote(source.edit.container_path);
    const Place place = places.mount_target(path, source.edit.kind);
    if (is_mounted_already(place, source)) {
        notes.push_back({LogLevel::Debug, what + " is mounted already"});
        return;
    }
    attached.put(source.tree, source.inode, place, path, places);
    notes.push_back({LogLevel::Info, "mounted " + quote(source.edit.host_path) + " at " + what +
                                         (source.edit.read_only ? ", read-only" : ", writable")});
}

void mount_over(const FileEdit &edit, const OverlayFile &file, Places &places, Attached &attached,
                Notes &notes)
{
    const InnerPath path = InnerPath::parse(edit.container_path);
    const std::string what = quote(edit.container_path);
    const Place place = places.mount_target(path, Kind::File);
    file.fill(edit.content, what);
    attached.put(file.tree(), file.inode(), place, path, places);
    notes.push_back({LogLevel::Info, "mounted a file of our own over " + what});
}

/** A node that not everybody may open is a trap: some libraries give up at the first EACCES. */
bool is_for_everyone(const Inode &inode, const NodeEdit &node)
{
    return inode.is_node(number_of(node)) && (inode.mode & node.mode) == node.mode;
}

/** Makes the node in the container's /dev. @return whether there was something to do */
bool make_node(const NodeEdit &node, Places &places)
{
    const auto make = [&](int folder, const std::string &name) {
        return make_device_node(folder, name, node);
    };
    const auto is_right = [&](int, const Inode &inode) { return is_for_everyone(inode, node); };
    return places.make_entry(InnerPath::parse(node.container_path), {make, is_right});
}

/** Mounts the node where none can be made. @return whether there was something to do */
bool mount_node(const NodeEdit &node, const DeviceMount &source, Places &places, Attached &attached)
{
    const InnerPath path = InnerPath::parse(node.container_path);
    const auto place = places.node_target(path, [&](const Inode &inode) {
        return inode.same_file(source.inode) || is_for_everyone(inode, node);
    });
    if (place)
        attached.put(source.tree, source.inode, *place, path, places);
    return place.has_value();
}

Notes put_nodes(const Edits &edits, EnteredContainer &container, Attached &attached)
{
    Notes notes;
    Places &places = container.places();
    if (!edits.nodes.empty() && !places.make_obstacle("/dev").empty())
        notes.push_back({LogLevel::Warning,
                         "the container's /dev is the host's, or shared with it: nothing is made "
                         "there, and the nodes that it has are used"});
    for (size_t i = 0; i < edits.nodes.size(); ++i) {
        const NodeEdit &node = edits.nodes[i];
        const bool done = container.may_make_nodes()
                              ? make_node(node, places)
                              : mount_node(node, container.device_mounts().at(i), places, attached);
        notes.push_back({done ? LogLevel::Info : LogLevel::Debug,
                         quote(node.container_path) + (done ? " is given" : " is there already")});
    }
    return notes;
}

bool leads_to(int link, const Inode &inode, const std::string &target)
{
    std::string found(target.size() + 1, '\0');
    return S_ISLNK(inode.mode) &&
           ::readlinkat(link, "", found.data(), found.size()) == static_cast<ssize_t>(target.size()) &&
           found.starts_with(target);
}

/** An empty file is what others leave behind where they have mounted one. */
bool is_left_behind(const Inode &inode)
{
    return inode.is(Kind::File) && inode.size == 0 && !inode.mount_root;
}

/** @return whether there was something to do */
bool make_link(const LinkEdit &link, Places &places)
{
    const auto make = [&](int folder, const std::string &name) {
        return ::symlinkat(link.target.c_str(), folder, name.c_str()) == 0 ? 0 : errno;
    };
    const auto is_right = [&](int fd, const Inode &inode) {
        return link.only_if_absent ? !is_left_behind(inode) : leads_to(fd, inode, link.target);
    };
    return places.make_entry(InnerPath::parse(link.container_path), {make, is_right});
}

Notes make_links(const std::vector<LinkEdit> &links, Places &places)
{
    Notes notes;
    for (const LinkEdit &link : links) {
        const std::string what = quote(link.container_path);
        try {
            if (!make_link(link, places))
                notes.push_back({LogLevel::Debug, what + " is there already"});
        } catch (const Error &error) {
            if (!link.only_if_absent)
                throw;
            notes.push_back({LogLevel::Warning, "the link " + what + " is left out: " + error.what()});
        }
    }
    return notes;
}

Notes put_tree(const TmpfsEdit &edit, const InjectedTree &own, Places &places, Attached &attached)
{
    const InnerPath path = InnerPath::parse(edit.container_path);
    attached.put(own.tree(), own.inode(), places.mount_target(path, Kind::Directory), path, places);
    return {{LogLevel::Info, "mounted a tree of our own at " + quote(edit.container_path)}};
}

/** The edits of one kind, in their order. */
std::vector<const FileEdit *> files_of(const Edits &edits, FileEdit::How how)
{
    std::vector<const FileEdit *> files;
    for (const FileEdit &file : edits.files) {
        if (file.how == how)
            files.push_back(&file);
    }
    return files;
}

void append(Notes &notes, const Notes &more)
{
    notes.insert(notes.end(), more.begin(), more.end());
}

Notes put_files(const Edits &edits, const std::vector<OverlayFile> &overlays, Places &places,
                Attached &attached)
{
    Notes notes;
    const auto mounted = files_of(edits, FileEdit::How::MountOver);
    for (size_t i = 0; i < mounted.size(); ++i)
        mount_over(*mounted[i], overlays.at(i), places, attached, notes);
    for (const FileEdit *file : files_of(edits, FileEdit::How::Replace)) {
        places.write(*file);
        notes.push_back({LogLevel::Info, "wrote " + quote(file->container_path)});
    }
    places.replace();
    return notes;
}

} // namespace

Notes apply(const Edits &edits, ContainerView &view)
{
    EnteredContainer container(view, edits);
    Notes notes = container.notes();
    Places &places = container.places();
    auto &cgroups = container.device_cgroups();
    if (cgroups)
        append(notes, cgroups->allow(rules_of(edits.nodes)));
    std::vector<mode_t> modes;
    for (const FileEdit *file : files_of(edits, FileEdit::How::MountOver))
        modes.push_back(file->mode);
    const auto overlays = modes.empty() ? std::vector<OverlayFile>() : container.make_overlay_files(modes);
    // It is taken apart before `places`: a placeholder cannot be removed while something is mounted on it.
    Attached attached(container.proc());
    for (const MountSource &source : container.sources())
        attach(source, places, attached, notes);
    append(notes, put_nodes(edits, container, attached));
    if (edits.tree)
        append(notes, put_tree(*edits.tree, container.injected_tree().value(), places, attached));
    append(notes, make_links(edits.links, places));
    if (edits.proc)
        append(notes, overlay_proc(*edits.proc, container, attached));
    append(notes, put_files(edits, overlays, places, attached));
    attached.keep();
    places.keep();
    if (cgroups)
        cgroups->keep();
    return notes;
}

} // namespace ogh
