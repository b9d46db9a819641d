// SPDX-License-Identifier: Apache-2.0
#include "apply.h"

#include <vector>

#include "error.h"
#include "text.h"

namespace ogh {

namespace {

/** Whether an earlier run has put the same source there, with the same attributes. */
bool is_mounted_already(const Place &place, const Source &source)
{
    if (!place.existed || !place.inode.mount_root || !place.inode.same_file(source.inode))
        return false;
    return source.tree.looks_like(place.fd.get(), quote(source.edit.container_path));
}

/** The trees that this run has attached; detached again, last first, unless they are kept. */
class Attached final {
public:
    Attached() = default;
    Attached(const Attached &) = delete;
    Attached &operator=(const Attached &) = delete;
    ~Attached()
    {
        for (auto tree = trees_.rbegin(); tree != trees_.rend(); ++tree)
            (*tree)->detach();
    }

    void add(const MountTree &tree) { trees_.push_back(&tree); }
    void keep() { trees_.clear(); }

private:
    std::vector<const MountTree *> trees_;
};

/** Puts `tree`, whose root is `inode`, on `place`, which was found at `path`. */
void put(const MountTree &tree, const Inode &inode, const Place &place, const InnerPath &path,
         const Places &places, Attached &attached)
{
    const std::string what = quote(path.full());
    tree.attach(place.fd.get(), what);
    attached.add(tree);
    // Somebody who renames in a shared volume meanwhile cannot lead the mount out of the container, but the
    // container might not see it where it was promised.
    if (!places.look(path).same_file(inode))
        throw Error(ExitCode::Failure, what + " in the container changed while it was mounted");
}

void attach(const Source &source, Places &places, Attached &attached, Notes &notes)
{
    const InnerPath path = InnerPath::parse(source.edit.container_path);
    const std::string what = quote(source.edit.container_path);
    const Place place = places.mount_target(path, source.edit.kind);
    if (is_mounted_already(place, source)) {
        notes.push_back({LogLevel::Debug, what + " is mounted already"});
        return;
    }
    put(source.tree, source.inode, place, path, places, attached);
    notes.push_back({LogLevel::Info, "mounted " + quote(source.edit.host_path) + " at " + what +
                                         (source.edit.read_only ? ", read-only" : ", writable")});
}

void mount_over(const FileEdit &edit, const BlankFile &file, Places &places, Attached &attached, Notes &notes)
{
    const InnerPath path = InnerPath::parse(edit.container_path);
    const std::string what = quote(edit.container_path);
    const Place place = places.mount_target(path, Kind::File);
    file.fill(edit.content, what);
    put(file.tree(), file.inode(), place, path, places, attached);
    notes.push_back({LogLevel::Info, "mounted a file of our own over " + what});
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

} // namespace

Notes apply(const Edits &edits, EnteredContainer &container)
{
    Notes notes = container.notes();
    Places &places = container.places();
    const auto mounted = files_of(edits, FileEdit::How::MountOver);
    const auto replaced = files_of(edits, FileEdit::How::Replace);
    const auto blanks =
        mounted.empty() ? std::vector<BlankFile>() : container.make_blank_files(mounted.size());
    Attached attached; // goes first: a placeholder cannot be removed while it is a mount point
    for (const Source &source : container.sources())
        attach(source, places, attached, notes);
    for (size_t i = 0; i < mounted.size(); ++i)
        mount_over(*mounted[i], blanks.at(i), places, attached, notes);
    for (const FileEdit *file : replaced)
        places.write(InnerPath::parse(file->container_path), file->content);
    places.replace();
    attached.keep();
    places.keep();
    for (const FileEdit *file : replaced)
        notes.push_back({LogLevel::Info, "wrote " + quote(file->container_path)});
    return notes;
}

Notes apply(const Edits &edits, const Container &container)
{
    if (edits.mounts.empty() && edits.files.empty())
        return {};
    EnteredContainer entered(container, edits.mounts);
    return apply(edits, entered);
}

} // namespace ogh
