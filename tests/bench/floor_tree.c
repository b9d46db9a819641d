// SPDX-License-Identifier: Apache-2.0
#include "floor.h"
#include "floor_tree.h"

#include <sys/mount.h>

#define IN_ROOT (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
#define MAX_ENTRIES 1024
#define MAX_DIRECTORIES 64

struct entry {
    char kind;
    char *path, *value;
};

struct directory {
    char path[256];
    int fd;
};

// A directory and those above it are made once, and kept open.
struct directories {
    int top, count;
    unsigned long resolve;
    struct directory known[MAX_DIRECTORIES];
};

// In .bss, so that only the pages in use count as memory.
static struct entry entries[MAX_ENTRIES];
static int entry_count;
static char list[1 << 18];
static struct directories in_tree = {.resolve = BENEATH}, in_image = {.resolve = IN_ROOT};
static int tree;

int make_tmpfs(unsigned attributes)
{
    int context = must(fsopen("tmpfs", FSOPEN_CLOEXEC), "fsopen");
    must(fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0), "fsconfig");
    must(fsconfig(context, FSCONFIG_SET_STRING, "source", "oci-gpu-hooks", 0), "fsconfig");
    must(fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0), "fsconfig");
    int top = must(fsmount(context, FSMOUNT_CLOEXEC, attributes), "fsmount");
    close(context);
    return top;
}

void read_tree_list(const char *path)
{
    int fd = must(open(path, O_RDONLY | O_CLOEXEC), path);
    must(read(fd, list, sizeof list - 1), path);
    close(fd);
    for (char *next = list, *line; (line = strsep(&next, "\n")) && *line;) {
        if (entry_count == MAX_ENTRIES)
            errx(1, "%s: too long", path);
        struct entry *entry = &entries[entry_count++];
        entry->kind = *strsep(&line, "\t");
        entry->path = strsep(&line, "\t");
        entry->value = line;
    }
}

static int directory_at(struct directories *directories, const char *path, size_t size)
{
    if (size == 0)
        return directories->top;
    for (int i = 0; i < directories->count; i++)
        if (strlen(directories->known[i].path) == size && memcmp(directories->known[i].path, path, size) == 0)
            return directories->known[i].fd;
    if (directories->count == MAX_DIRECTORIES)
        errx(1, "too many directories");
    struct directory *made = &directories->known[directories->count++];
    snprintf(made->path, sizeof made->path, "%.*s", (int)size, path);
    made->fd = openat2(directories->top, made->path, O_PATH | O_DIRECTORY, directories->resolve);
    if (made->fd >= 0)
        return made->fd;
    const char *slash = memrchr(path, '/', size);
    int above = directory_at(directories, path, slash ? (size_t)(slash - path) : 0);
    const char *name = slash ? made->path + (slash - path) + 1 : made->path;
    must(mkdirat(above, name, 0755), made->path);
    made->fd = must(openat2(above, name, O_PATH | O_DIRECTORY, BENEATH), made->path);
    return made->fd;
}

// The directory that it is in, and its name there.
static int parent_of(struct directories *directories, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    return directory_at(directories, path, slash ? (size_t)(slash - path) : 0);
}

static void mount_source(const struct entry *entry)
{
    const unsigned flags = AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
    struct statx found;
    const char *name;
    int source = must(openat2(AT_FDCWD, entry->value, O_PATH, RESOLVE_NO_SYMLINKS), entry->value);
    look_at(source, &found);
    const int is_directory = S_ISDIR(found.stx_mode);
    int parent = parent_of(&in_tree, entry->path, &name);
    must(is_directory ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0444, 0), entry->path);
    int copy = must(open_tree(source, "", flags | (is_directory ? AT_RECURSIVE : 0)), "open_tree");
    must(move_mount(copy, "", parent, name, MOVE_MOUNT_F_EMPTY_PATH), "move_mount");
    close(copy);
    close(source);
}

static void make_private_place(void)
{
    struct mount_attr private = {.propagation = MS_PRIVATE};
    must(unshare(CLONE_NEWNS), "unshare");
    must(mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof private), "mount_setattr");
    in_tree.top = make_tmpfs(0);
    must(move_mount(in_tree.top, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH), "move_mount");
}

static void write_text(const struct entry *entry)
{
    const char *name;
    int parent = parent_of(&in_tree, entry->path, &name);
    for (char *at = entry->value; *at; at++)
        if (*at == '|')
            *at = '\n';
    int fd = must(openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444), entry->path);
    write_all(fd, entry->value, strlen(entry->value));
    close(fd);
}

// What is attached somewhere can be mounted on; what is carried in is a copy of it.
void put_tree_together(void)
{
    struct mount_attr locked = {
        .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        .propagation = MS_PRIVATE,
    };
    struct mount_attr unlocked = {.attr_set = MOUNT_ATTR_NOEXEC, .attr_clr = MOUNT_ATTR_RDONLY};
    const unsigned flags = AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
    const char *name;
    make_private_place();
    for (int i = 0; i < entry_count; i++)
        if (entries[i].kind == 'm' || entries[i].kind == 'w')
            mount_source(&entries[i]);
        else if (entries[i].kind == 'f')
            write_text(&entries[i]);
        else if (entries[i].kind == 'l') {
            int parent = parent_of(&in_tree, entries[i].path, &name);
            must(symlinkat(entries[i].value, parent, name), entries[i].path);
        }
    must(mount_setattr(in_tree.top, "", AT_EMPTY_PATH | AT_RECURSIVE, &locked, sizeof locked), "mount_setattr");
    for (int i = 0; i < entry_count; i++)
        if (entries[i].kind == 'w') {
            int parent = parent_of(&in_tree, entries[i].path, &name);
            must(mount_setattr(parent, name, AT_SYMLINK_NOFOLLOW, &unlocked, sizeof unlocked), "mount_setattr");
        }
    tree = must(open_tree(in_tree.top, "", flags | AT_RECURSIVE), "open_tree");
}

void attach_tree(int root, const char *path)
{
    struct statx found;
    const char *name;
    in_image.top = root;
    int parent = parent_of(&in_image, path, &name);
    must(mkdirat(parent, name, 0755), path);
    int place = must(openat2(parent, name, O_PATH | O_DIRECTORY, BENEATH), path);
    look_at(place, &found);
    must(move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH), "move_mount");
    int seen = must(openat2(root, path, O_PATH, IN_ROOT), path);
    look_at(seen, &found);
    close(seen);
    close(place);
}

void link_to_tree(int root)
{
    const char *name;
    in_image.top = root;
    for (int i = 0; i < entry_count; i++)
        if (entries[i].kind == 'o') {
            int parent = parent_of(&in_image, entries[i].path, &name);
            must(symlinkat(entries[i].value, parent, name), entries[i].path);
        }
}
