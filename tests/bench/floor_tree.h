// SPDX-License-Identifier: Apache-2.0
//
// For floors of hooks that put a tree of their own into a container: the system calls, in the order of the hook.

#pragma once

// Gives a detached one with our name in the mount table.
int make_tmpfs(unsigned attributes);

// Reads what there is to be. One a line, with tabs in between:
//
//   m PATH HOST-PATH   a file or directory of the host, read-only; PATH is below the tree, as it is next
//   w PATH HOST-PATH   the same, writable
//   f PATH TEXT        a new file; `|` stands for the end of a line
//   l PATH TARGET      a symlink
//   o PATH TARGET      a symlink in the image, below its root
void read_tree_list(const char *path);

// Before the container is entered: moves this process to a mount namespace of its own. /proc is covered then.
void put_tree_together(void);

// In the container: adds files and links, and mounts it at this path, which is below the root and not there yet.
void attach_tree(int root, const char *path);

// The symlinks in the image, where there is nothing of their names.
void link_to_tree(int root);
