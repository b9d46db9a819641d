// SPDX-License-Identifier: Apache-2.0
#include "cgroup/device_program.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace ogh {

namespace {

constexpr unsigned hidden_register = 11; // the kernel's own, beyond BPF_REG_10; appears in hardened programs
constexpr unsigned two_slots = BPF_LD | BPF_IMM | BPF_DW;

constexpr unsigned access_shift = 16; // of access_type; the type is below

struct Operation {
    unsigned code = 0;
    unsigned to = 0;
    unsigned from = 0;
    int offset = 0;
    unsigned value = 0;
};

bpf_insn instruction(const Operation &operation)
{
    bpf_insn made{};
    made.code = static_cast<__u8>(operation.code);
    made.dst_reg = operation.to & 0xfU;
    made.src_reg = operation.from & 0xfU;
    made.off = static_cast<__s16>(operation.offset);
    made.imm = static_cast<__s32>(operation.value);
    return made;
}

bpf_insn load(unsigned to, size_t offset)
{
    return instruction({BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_1, static_cast<int>(offset)});
}

bpf_insn jump_if(unsigned comparison, unsigned compared, unsigned value, size_t distance)
{
    return instruction({BPF_JMP32 | comparison | BPF_K, compared, 0, static_cast<int>(distance), value});
}

using Group = std::span<const DeviceRule>;

/** So that no jump over a group is longer than the 16 bits of its distance. */
constexpr size_t max_group = 4096;

/** The first of `rules` and those after it that differ from it in the minor number alone. */
Group first_group(Group rules)
{
    size_t count = 1;
    while (count < std::min(rules.size(), max_group) && rules[count].type == rules[0].type &&
           rules[count].major == rules[0].major && rules[count].access == rules[0].access)
        ++count;
    return rules.first(count);
}

/**
 * Everything is done in 32 bits: on processors that do not clear the upper half themselves the kernel would
 * put in further instructions. R1 stays as it is, for the program that follows.
 *
 * What rules have in common is compared once: the verifier follows each rule that compares all of it through all
 * those after it, so that its time would grow with the square of their number.
 */
void add_group(DeviceProgram &program, Group rules, Verdict answer)
{
    const size_t others = rules.size() - 1;
    const auto copy_with = [&](unsigned mask) {
        program.push_back(instruction({BPF_ALU | BPF_MOV | BPF_X, BPF_REG_5, BPF_REG_2}));
        program.push_back(instruction({BPF_ALU | BPF_AND | BPF_K, BPF_REG_5, 0, 0, mask}));
    };
    if (answer == Verdict::Allows) {
        // The type is left alone if no other access than the rules' is asked for.
        copy_with(~(rules[0].access << access_shift));
        program.push_back(jump_if(BPF_JNE, BPF_REG_5, static_cast<unsigned>(rules[0].type), others + 4));
    } else {
        copy_with(rules[0].access << access_shift);
        program.push_back(jump_if(BPF_JEQ, BPF_REG_5, 0, others + 7)); // none of it is asked for
        copy_with((1U << access_shift) - 1);
        program.push_back(jump_if(BPF_JNE, BPF_REG_5, static_cast<unsigned>(rules[0].type), others + 4));
    }
    program.push_back(jump_if(BPF_JNE, BPF_REG_3, rules[0].major, others + 3));
    for (size_t i = 0; i < others; ++i)
        program.push_back(jump_if(BPF_JEQ, BPF_REG_4, rules[i].minor, others - i));
    program.push_back(jump_if(BPF_JNE, BPF_REG_4, rules[others].minor, 2));
    program.push_back(instruction({BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, answer == Verdict::Allows}));
    program.push_back(instruction({BPF_JMP | BPF_EXIT, 0}));
}

/** A move that clears the upper half is marked by the verifier where it put it in, and it refuses the mark. */
bpf_insn as_loaded(bpf_insn read_back)
{
    if (read_back.code == (BPF_ALU | BPF_MOV | BPF_X) && read_back.imm == 1)
        read_back.imm = 0;
    return read_back;
}

bool touches_hidden_register(const bpf_insn &instruction)
{
    return instruction.dst_reg == hidden_register || instruction.src_reg == hidden_register;
}

bool is_call(const bpf_insn &instruction)
{
    const unsigned kind = instruction.code & 0x07U;
    return (kind == BPF_JMP || kind == BPF_JMP32) && (instruction.code & 0xf0U) == BPF_CALL;
}

} // namespace

Verdict verdict(const DeviceProgram &program, const DeviceRule &rule)
{
    Verdict found = Verdict::Allows;
    for (unsigned access = 1; access <= rule.access; ++access) {
        if ((access & ~rule.access) != 0)
            continue;
        const Verdict one = run({program, {rule.type, rule.major, rule.minor, access}});
        if (one == Verdict::Denies)
            return one;
        if (one == Verdict::Unknown)
            found = one;
    }
    return found;
}

DeviceRules not_allowed(const DeviceProgram &program, const DeviceRules &rules)
{
    DeviceRules found;
    for (const DeviceRule &rule : rules) {
        if (verdict(program, rule) != Verdict::Allows)
            found.push_back(rule);
    }
    return found;
}

std::string obstacle(const DeviceProgram &program)
{
    const char *const hardened =
        "the kernel hides its instructions; set the sysctl net.core.bpf_jit_harden to 1 "
        "or 0 before containers are started";
    if (program.empty())
        return hardened;
    for (size_t i = 0; i < program.size(); ++i) {
        if (touches_hidden_register(program[i]))
            return hardened;
        if (is_call(program[i]))
            return "it calls functions of the kernel or of its own";
        if (program[i].code != two_slots)
            continue;
        if (program[i].src_reg != 0)
            return "it uses a map";
        ++i;
    }
    return "";
}

namespace {

/** The program, with another answer to what is one of the rules. */
DeviceProgram answering(const DeviceProgram &program, const DeviceRules &rules, Verdict answer)
{
    DeviceProgram made;
    if (!rules.empty()) {
        made.push_back(load(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, access_type)));
        made.push_back(load(BPF_REG_3, offsetof(bpf_cgroup_dev_ctx, major)));
        made.push_back(load(BPF_REG_4, offsetof(bpf_cgroup_dev_ctx, minor)));
    }
    for (Group left = rules; !left.empty();) {
        const Group group = first_group(left);
        add_group(made, group, answer);
        left = left.subspan(group.size());
    }
    for (const bpf_insn &read_back : program)
        made.push_back(as_loaded(read_back));
    return made;
}

} // namespace

DeviceProgram with_rules(const DeviceProgram &program, const DeviceRules &rules)
{
    return answering(program, rules, Verdict::Allows);
}

DeviceProgram without_rules(const DeviceProgram &program, const DeviceRules &rules)
{
    return answering(program, rules, Verdict::Denies);
}

} // namespace ogh
