// SPDX-License-Identifier: Apache-2.0
#include "floor.h"
#include "floor_cgroup.h"

#include "device_cgroup.h"

#include <stddef.h>

#define MAX_INSTRUCTIONS 4096
#define BLOCK 7 // instructions for a device by itself

// In .bss, so that only the pages in use count as memory.
static struct bpf_insn program[MAX_INSTRUCTIONS];

// Version 1: the list is read, and each rule written.
static void write_rules(int cgroup, const struct device *devices, int count)
{
    char rule[64];
    read_file(cgroup, "devices.list");
    for (int i = 0; i < count; i++) {
        int size = snprintf(rule, sizeof rule, "c %u:%u rw", devices[i].major, devices[i].minor);
        int fd = must(openat(cgroup, "devices.allow", O_WRONLY | O_CLOEXEC), "devices.allow");
        write_all(fd, rule, (size_t)size);
        close(fd);
    }
}

static unsigned query_program(int cgroup, unsigned flags)
{
    unsigned ids[64];
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.query.target_fd = (unsigned)cgroup;
    attr.query.attach_type = BPF_CGROUP_DEVICE;
    attr.query.query_flags = flags;
    attr.query.prog_ids = (unsigned long)ids;
    attr.query.prog_cnt = sizeof ids / sizeof *ids;
    bpf(BPF_PROG_QUERY, &attr, "BPF_PROG_QUERY");
    if (attr.query.prog_cnt != 1)
        errx(1, "%u programs are attached", attr.query.prog_cnt);
    return ids[0];
}

// Asks for its length, and then for its instructions, which are put behind the first `before`. Gives how many.
static unsigned read_program(int fd, unsigned before)
{
    struct bpf_prog_info info;
    unsigned size = 0;
    for (int round = 0; round < 2; round++) {
        union bpf_attr attr;
        memset(&attr, 0, sizeof attr);
        memset(&info, 0, sizeof info);
        info.xlated_prog_insns = round ? (unsigned long)(program + before) : 0;
        info.xlated_prog_len = size;
        attr.info.bpf_fd = (unsigned)fd;
        attr.info.info_len = sizeof info;
        attr.info.info = (unsigned long)&info;
        bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, "BPF_OBJ_GET_INFO_BY_FD");
        size = info.xlated_prog_len;
        if (size > sizeof program - before * sizeof *program)
            errx(1, "the device program is too long");
    }
    return size / sizeof *program;
}

static struct bpf_insn instruction(int code, int to, int from, int offset, int value)
{
    struct bpf_insn made = {.off = (short)offset, .imm = value};
    made.code = (unsigned char)code;
    made.dst_reg = to & 0xf;
    made.src_reg = from & 0xf;
    return made;
}

// Those of one driver lie side by side. Gives how many they are: their program is BLOCK - 1 instructions longer.
static int add_group(struct bpf_insn *to, const struct device *devices, int count)
{
    const int unequal = BPF_JMP32 | BPF_JNE | BPF_K, equal = BPF_JMP32 | BPF_JEQ | BPF_K;
    const unsigned access = (BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE) << 16;
    int size = 1;
    while (size < count && devices[size].major == devices[0].major)
        size++;
    *to++ = instruction(BPF_ALU | BPF_MOV | BPF_X, BPF_REG_5, BPF_REG_2, 0, 0);
    *to++ = instruction(BPF_ALU | BPF_AND | BPF_K, BPF_REG_5, 0, 0, (int)~access);
    *to++ = instruction(unequal, BPF_REG_5, 0, size + 3, BPF_DEVCG_DEV_CHAR);
    *to++ = instruction(unequal, BPF_REG_3, 0, size + 2, (int)devices[0].major);
    for (int i = 0; i < size - 1; i++)
        *to++ = instruction(equal, BPF_REG_4, 0, size - 1 - i, (int)devices[i].minor);
    *to++ = instruction(unequal, BPF_REG_4, 0, 2, (int)devices[size - 1].minor);
    *to++ = instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1);
    *to++ = instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    return size;
}

// Version 2: the program is read back, and replaced by one with the rules in front.
static void replace_program(int cgroup, const struct device *devices, int count)
{
    const int load = BPF_LDX | BPF_MEM | BPF_W;
    unsigned before = 3;
    union bpf_attr attr;
    program[0] = instruction(load, BPF_REG_2, BPF_REG_1, offsetof(struct bpf_cgroup_dev_ctx, access_type), 0);
    program[1] = instruction(load, BPF_REG_3, BPF_REG_1, offsetof(struct bpf_cgroup_dev_ctx, major), 0);
    program[2] = instruction(load, BPF_REG_4, BPF_REG_1, offsetof(struct bpf_cgroup_dev_ctx, minor), 0);
    for (int size, i = 0; i < count; i += size) {
        size = add_group(program + before, &devices[i], count - i);
        before += (unsigned)size + BLOCK - 1;
    }
    memset(&attr, 0, sizeof attr);
    attr.prog_id = query_program(cgroup, 0);
    int old = bpf(BPF_PROG_GET_FD_BY_ID, &attr, "BPF_PROG_GET_FD_BY_ID");
    int new = load_device_program(program, before + read_program(old, before));
    // Whether there is another one above, which would have to allow them too.
    query_program(cgroup, 0);
    query_program(cgroup, BPF_F_QUERY_EFFECTIVE);
    memset(&attr, 0, sizeof attr);
    attr.target_fd = (unsigned)cgroup;
    attr.attach_bpf_fd = (unsigned)new;
    attr.attach_type = BPF_CGROUP_DEVICE;
    attr.attach_flags = BPF_F_ALLOW_MULTI | BPF_F_REPLACE;
    attr.replace_bpf_fd = (unsigned)old;
    bpf(BPF_PROG_ATTACH, &attr, "BPF_PROG_ATTACH");
    close(new);
    close(old);
}

void allow_devices(int cgroup, const struct device *devices, int count)
{
    if (faccessat(cgroup, "devices.allow", F_OK, 0) == 0)
        write_rules(cgroup, devices, count);
    else
        replace_program(cgroup, devices, count);
}
