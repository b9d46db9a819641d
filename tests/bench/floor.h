// SPDX-License-Identifier: Apache-2.0
//
// What the floors of the benchmarks have in common: the system calls of any hook, in the same order, and next to
// nothing in between. They parse nothing and compare nothing; what a hook learns from its input comes from the
// command line. The only thing looked at is whether a call failed, because a floor that skips its work measures
// nothing.

#pragma once

#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/openat2.h>

#define DIRENTS_SIZE 32768 // what readdir(3) asks for at once

struct dirent64_raw {
    unsigned long ino;
    long off;
    unsigned short reclen;
    unsigned char type;
    char name[];
};

// Ends the process with a message unless `result` is 0 or more; gives it.
int must(long result, const char *what);

int openat2(int at, const char *path, unsigned long flags, unsigned long resolve);

// Gives the number of bytes, of which the last piece lies at the beginning of `scratch`.
size_t read_to_end(int fd);
extern char scratch[1 << 20];

void read_file(int at, const char *path);

// As a hook asks what a descriptor is.
void look_at(int fd, struct statx *found);

// Writes all, and ends the process if it cannot.
void write_all(int fd, const char *bytes, size_t size);

// The start of a hook: a clean process, no more capabilities than it needs, the state, and config.json.
// `more` are capabilities that not every hook needs, as bits.
void begin(const char *bundle, unsigned more);

// Looks at the container's init process; gives a pidfd.
int hold(pid_t pid);

// Into the init's mount namespace.
void enter(int pidfd, const char *rootfs, unsigned more);
