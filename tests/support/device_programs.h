// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cgroup/device_program.h"

namespace ogh::test {

constexpr int any = -1;

/** A line of a runtime's list; the last that matches decides. */
struct DeviceLine {
    char type = 'a'; ///< c, b, or a for both
    int major = any;
    int minor = any;
    unsigned access = access_mknod | access_read | access_write;
    bool allow = true;
};

using DeviceLines = std::vector<DeviceLine>;

inline bpf_insn insn(int code, int to, int from, int offset, int value)
{
    bpf_insn made{};
    made.code = static_cast<__u8>(code);
    made.dst_reg = static_cast<unsigned>(to) & 0xfU;
    made.src_reg = static_cast<unsigned>(from) & 0xfU;
    made.off = static_cast<__s16>(offset);
    made.imm = value;
    return made;
}

inline bpf_insn load_word(int to, int offset)
{
    return insn(BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_1, offset, 0);
}

inline bpf_insn move_to(int to, int value)
{
    return insn(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

inline bpf_insn end_here()
{
    return insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

inline void add(DeviceProgram &program, const DeviceProgram &more)
{
    program.insert(program.end(), more.begin(), more.end());
}

/** The answer, whatever is asked. */
inline DeviceProgram always(int answer)
{
    return {move_to(BPF_REG_0, answer), end_here()};
}

/** A block that goes to its end unless the line matches; `access` is left of what the block has to compare. */
inline DeviceProgram block_of(const DeviceLine &line, const DeviceProgram &access)
{
    DeviceProgram block;
    if (line.type != 'a')
        block.push_back(insn(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_2, 0, 0,
                             line.type == 'c' ? BPF_DEVCG_DEV_CHAR : BPF_DEVCG_DEV_BLOCK));
    if (line.access != (access_mknod | access_read | access_write))
        add(block, access);
    if (line.major != any)
        block.push_back(insn(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_4, 0, 0, line.major));
    if (line.minor != any)
        block.push_back(insn(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_5, 0, 0, line.minor));
    add(block, {move_to(BPF_REG_0, line.allow ? 1 : 0), end_here()});
    for (size_t i = 0; i < block.size(); ++i) {
        if ((block[i].code & 0xf7U) == (BPF_JMP | BPF_JNE) || block[i].code == (BPF_JMP | BPF_JNE | BPF_X))
            block[i].off = static_cast<__s16>(block.size() - i - 1);
    }
    return block;
}

/** Ends with the line for everything: the kernel refuses instructions that nothing leads to. */
inline void add_blocks(DeviceProgram &program, const DeviceLines &lines, DeviceProgram (*access)(unsigned))
{
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        const DeviceProgram block = block_of(*line, access(line->access));
        add(program, block);
        if (block.size() == 2)
            return;
    }
    add(program, always(0));
}

/** As runc shapes it: the type is read as a half word, and R1 is used up. */
inline DeviceProgram like_runc(const DeviceLines &lines)
{
    DeviceProgram program = {
        insn(BPF_LDX | BPF_MEM | BPF_H, BPF_REG_2, BPF_REG_1, 0, 0),
        load_word(BPF_REG_3, 0),
        insn(BPF_ALU | BPF_RSH | BPF_K, BPF_REG_3, 0, 0, 16),
        load_word(BPF_REG_4, 4),
        load_word(BPF_REG_5, 8),
    };
    add_blocks(program, lines, [](unsigned access) -> DeviceProgram {
        return {insn(BPF_ALU | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_3, 0, 0),
                insn(BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, 0, 0, static_cast<int>(access)),
                insn(BPF_JMP | BPF_JNE | BPF_X, BPF_REG_1, BPF_REG_3, 0, 0)};
    });
    return program;
}

/** As crun shapes it: whole words, masked. */
inline DeviceProgram like_crun(const DeviceLines &lines)
{
    DeviceProgram program = {
        load_word(BPF_REG_2, 0), insn(BPF_ALU | BPF_AND | BPF_K, BPF_REG_2, 0, 0, 0xffff),
        load_word(BPF_REG_3, 0), insn(BPF_ALU | BPF_RSH | BPF_K, BPF_REG_3, 0, 0, 16),
        load_word(BPF_REG_4, 4), load_word(BPF_REG_5, 8),
    };
    add_blocks(program, lines, [](unsigned access) -> DeviceProgram {
        return {insn(BPF_ALU | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_3, 0, 0),
                insn(BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, 0, 0, static_cast<int>(access)),
                insn(BPF_JMP | BPF_JNE | BPF_X, BPF_REG_1, BPF_REG_3, 0, 0)};
    });
    return program;
}

/** With the stack, a 64-bit constant, a loop and jumps in 32 bits, as a compiler may: allows what char major 5 is. */
inline DeviceProgram like_a_compiler()
{
    return {
        load_word(BPF_REG_2, 0),
        load_word(BPF_REG_6, 4),
        insn(BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_6, -8, 0),
        insn(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -16, -1),
        insn(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_7, 0, 0, 5),
        insn(0, 0, 0, 0, 0),
        move_to(BPF_REG_8, 0),
        insn(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_8, 0, 0, 1), // counts to four
        insn(BPF_JMP | BPF_JLT | BPF_K, BPF_REG_8, 0, -2, 4),
        insn(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_3, BPF_REG_10, -8, 0),
        move_to(BPF_REG_0, 0),
        insn(BPF_JMP | BPF_JNE | BPF_X, BPF_REG_3, BPF_REG_7, 3, 0),
        insn(BPF_ALU | BPF_AND | BPF_K, BPF_REG_2, 0, 0, 0xffff),
        insn(BPF_JMP32 | BPF_JNE | BPF_K, BPF_REG_2, 0, 1, BPF_DEVCG_DEV_CHAR),
        move_to(BPF_REG_0, 1),
        end_here(),
    };
}

/** What runc gives every container, much shortened; c 5:0 is one that is allowed for reading alone. */
inline DeviceLines usual_lines()
{
    constexpr unsigned all = access_mknod | access_read | access_write;
    return {
        {'a', any, any, all, false}, {'c', any, any, access_mknod, true}, {'b', any, any, access_mknod, true},
        {'c', 1, 3, all, true},      {'c', 5, 0, access_read, true},      {'c', 136, any, all, true},
    };
}

struct NamedProgram {
    std::string name;
    DeviceProgram program;
};

inline std::vector<NamedProgram> usual_programs()
{
    return {{"runc", like_runc(usual_lines())},
            {"crun", like_crun(usual_lines())},
            {"compiler", like_a_compiler()},
            {"all", always(1)},
            {"none", always(0)}};
}

} // namespace ogh::test
