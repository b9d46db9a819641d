// SPDX-License-Identifier: Apache-2.0
//
// Device cgroups as a runtime leaves them: everything is denied but the few devices that each container may use.

#pragma once

#include <sys/types.h>
#include <linux/bpf.h>

// A call of bpf(2); gives what it gives, or ends the process with a message.
int bpf(enum bpf_cmd command, union bpf_attr *attr, const char *what);

// Loads a program that decides about devices.
int load_device_program(const struct bpf_insn *instructions, unsigned count);

// Makes the cgroup, of version 1 or 2 as its parent is, and puts the process into it.
void make_device_cgroup(const char *directory, pid_t pid);

// Once no process is in it.
void remove_device_cgroup(const char *directory);
