// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "device_cgroup.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANY (-1)
#define MAX_INSTRUCTIONS 256

struct rule {
    char type; // 'c' or 'b'
    int major, minor;
    unsigned access; // BPF_DEVCG_ACC_*
};

// What runc allows every container.
static const struct rule rules[] = {
    {'c', ANY, ANY, 1}, {'b', ANY, ANY, 1}, {'c', 1, 3, 7}, {'c', 1, 8, 7}, {'c', 1, 7, 7}, {'c', 5, 0, 7},
    {'c', 1, 5, 7}, {'c', 1, 9, 7}, {'c', 136, ANY, 7}, {'c', 5, 2, 7}, {'c', 10, 200, 7},
};

struct program {
    struct bpf_insn instructions[MAX_INSTRUCTIONS];
    unsigned count;
};

static int check(long result, const char *what)
{
    if (result < 0)
        err(1, "%s", what);
    return (int)result;
}

int bpf(enum bpf_cmd command, union bpf_attr *attr, const char *what)
{
    return check(syscall(SYS_bpf, command, attr, sizeof *attr), what);
}

int load_device_program(const struct bpf_insn *instructions, unsigned count)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attr.expected_attach_type = BPF_CGROUP_DEVICE;
    attr.insns = (unsigned long)instructions;
    attr.insn_cnt = count;
    attr.license = (unsigned long)"Apache-2.0";
    return bpf(BPF_PROG_LOAD, &attr, "loading a device program");
}

static void add(struct program *to, int code, int dst, int src, int off, int imm)
{
    struct bpf_insn made = {.off = (short)off, .imm = imm};
    made.code = (unsigned char)code;
    made.dst_reg = dst & 0xf;
    made.src_reg = src & 0xf;
    if (to->count == MAX_INSTRUCTIONS)
        errx(1, "the device program is too long");
    to->instructions[to->count++] = made;
}

// R2 is the type, R3 the access, R4 and R5 the numbers. What does not fit jumps over the rest of the block.
static void add_block(struct program *to, const struct rule *rule)
{
    const unsigned start = to->count;
    const int jump = BPF_JMP | BPF_JNE | BPF_K;
    add(to, jump, BPF_REG_2, 0, 0, rule->type == 'c' ? BPF_DEVCG_DEV_CHAR : BPF_DEVCG_DEV_BLOCK);
    if (rule->access != 7) {
        add(to, BPF_ALU | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_3, 0, 0);
        add(to, BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, 0, 0, (int)rule->access);
        add(to, BPF_JMP | BPF_JNE | BPF_X, BPF_REG_1, BPF_REG_3, 0, 0);
    }
    if (rule->major != ANY)
        add(to, jump, BPF_REG_4, 0, 0, rule->major);
    if (rule->minor != ANY)
        add(to, jump, BPF_REG_5, 0, 0, rule->minor);
    add(to, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1);
    add(to, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    for (unsigned at = start; at < to->count; at++)
        if ((to->instructions[at].code & 0xf7) == jump)
            to->instructions[at].off = (short)(to->count - at - 1);
}

static void make_program(struct program *to)
{
    const int load = BPF_LDX | BPF_MEM | BPF_W;
    add(to, load, BPF_REG_2, BPF_REG_1, offsetof(struct bpf_cgroup_dev_ctx, access_type), 0);
    add(to, BPF_ALU | BPF_AND | BPF_K, BPF_REG_2, 0, 0, 0xffff);
    add(to, load, BPF_REG_3, BPF_REG_1, offsetof(struct bpf_cgroup_dev_ctx, access_type), 0);
    add(to, BPF_ALU | BPF_RSH | BPF_K, BPF_REG_3, 0, 0, 16);
    add(to, load, BPF_REG_4, BPF_REG_1, offsetof(struct bpf_cgroup_dev_ctx, major), 0);
    add(to, load, BPF_REG_5, BPF_REG_1, offsetof(struct bpf_cgroup_dev_ctx, minor), 0);
    for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++)
        add_block(to, &rules[i]);
    add(to, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
    add(to, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static void attach_program(int cgroup)
{
    struct program program = {.count = 0};
    union bpf_attr attr;
    make_program(&program);
    memset(&attr, 0, sizeof attr);
    attr.target_fd = (unsigned)cgroup;
    attr.attach_bpf_fd = (unsigned)load_device_program(program.instructions, program.count);
    attr.attach_type = BPF_CGROUP_DEVICE;
    attr.attach_flags = BPF_F_ALLOW_MULTI;
    bpf(BPF_PROG_ATTACH, &attr, "attaching a device program");
    close((int)attr.attach_bpf_fd);
}

static void write_file(int cgroup, const char *name, const char *text)
{
    int fd = check(openat(cgroup, name, O_WRONLY | O_CLOEXEC), name);
    check(write(fd, text, strlen(text)), name);
    close(fd);
}

static const char *number_text(char *to, size_t size, int number)
{
    snprintf(to, size, number == ANY ? "*" : "%d", number);
    return to;
}

static void write_rules(int cgroup)
{
    char text[64], major[16], minor[16];
    write_file(cgroup, "devices.deny", "a");
    for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++) {
        snprintf(text, sizeof text, "%c %s:%s %s", rules[i].type, number_text(major, sizeof major, rules[i].major),
                 number_text(minor, sizeof minor, rules[i].minor), rules[i].access == 7 ? "rwm" : "m");
        write_file(cgroup, "devices.allow", text);
    }
}

void make_device_cgroup(const char *directory, pid_t pid)
{
    char text[16];
    check(mkdir(directory, 0755), directory);
    int cgroup = check(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), directory);
    if (faccessat(cgroup, "devices.deny", F_OK, 0) == 0)
        write_rules(cgroup);
    else
        attach_program(cgroup);
    snprintf(text, sizeof text, "%d", pid);
    write_file(cgroup, "cgroup.procs", text);
    close(cgroup);
}

void remove_device_cgroup(const char *directory)
{
    check(rmdir(directory), directory);
}
