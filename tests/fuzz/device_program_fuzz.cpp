// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "cgroup/device_program.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::device_program {

namespace {

constexpr unsigned two_slots = BPF_LD | BPF_IMM | BPF_DW;
constexpr size_t bytes_of_a_rule = 4;

/** Rules, and a program that the kernel may have taken from somebody else. */
struct Case {
    DeviceRules rules;
    DeviceProgram program;
};

unsigned byte_at(std::string_view input, size_t i)
{
    return static_cast<unsigned char>(input[i]);
}

/** A type and an access, two bytes of major and minor number, and whether these are the smallest or the largest. */
DeviceRule read_rule(std::string_view input)
{
    const unsigned kind = byte_at(input, 0);
    const unsigned edge = byte_at(input, 3) % 4;
    const unsigned access = kind % 7 + 1;
    return {kind < 128 ? DeviceRule::Type::Char : DeviceRule::Type::Block,
            (edge & 1U) != 0 ? 4095 - byte_at(input, 1) : byte_at(input, 1),
            (edge & 2U) != 0 ? 1048575 - byte_at(input, 2) : byte_at(input, 2), access};
}

bool is_jump(const bpf_insn &instruction)
{
    const unsigned kind = instruction.code & 0x07U;
    const unsigned operation = instruction.code & 0xf0U;
    return (kind == BPF_JMP || kind == BPF_JMP32) && operation != BPF_CALL && operation != BPF_EXIT;
}

/** A jump that is as far as its `imm` says, and not its `off`. */
bool is_long_jump(const bpf_insn &instruction)
{
    return (instruction.code & 0xf7U) == (BPF_JMP32 | BPF_JA);
}

/**
 * What the verifier insists on, as far as an answer hangs on it: jumps stay inside, and a constant is one. Jumps lead
 * forward alone, or nearly all time would go into programs that do not end.
 */
void make_loadable(DeviceProgram &program)
{
    const auto size = static_cast<int>(program.size());
    for (int i = 0; i + 1 < size; ++i) {
        bpf_insn &now = program[static_cast<size_t>(i)];
        bpf_insn &next = program[static_cast<size_t>(i) + 1];
        if (now.code == two_slots) {
            const __s32 upper_half = next.imm;
            next = {};
            next.imm = upper_half;
            ++i;
        } else if (is_jump(now)) {
            const int room = size - i - 1;
            const int distance = (is_long_jump(now) ? now.imm : now.off) % room;
            now.off = static_cast<__s16>(distance < 0 ? distance + room : distance);
            if (is_long_jump(now))
                now.imm = now.off;
        }
    }
    if (size > 0 && is_jump(program.back()))
        program.pop_back();
}

/** The kernel starts no program that reads what nobody wrote: whatever is left in a register is overwritten. */
DeviceProgram with_registers_set(const DeviceProgram &program)
{
    DeviceProgram whole;
    for (const unsigned to : {BPF_REG_0, BPF_REG_2, BPF_REG_3, BPF_REG_4, BPF_REG_5}) {
        bpf_insn set{};
        set.code = BPF_ALU64 | BPF_MOV | BPF_K;
        set.dst_reg = to & 0xfU;
        whole.push_back(set);
    }
    whole.insert(whole.end(), program.begin(), program.end());
    return whole;
}

/** How many rules, the rules, and instructions as the kernel has them. */
Case read_case(std::string_view input)
{
    Case result;
    const size_t count = input.empty() ? 0 : byte_at(input, 0) % 4;
    input.remove_prefix(std::min<size_t>(1, input.size()));
    for (size_t i = 0; i < count && input.size() >= bytes_of_a_rule; ++i) {
        result.rules.push_back(read_rule(input));
        input.remove_prefix(bytes_of_a_rule);
    }
    result.rules = checked(result.rules);
    for (; input.size() >= sizeof(bpf_insn); input.remove_prefix(sizeof(bpf_insn)))
        std::memcpy(&result.program.emplace_back(), input.data(), sizeof(bpf_insn));
    make_loadable(result.program);
    return result;
}

/** Every access to the rules' devices, to their neighbours, and to one that has nothing to do with them. */
DeviceRules questions_about(const DeviceRules &rules)
{
    DeviceRules about = rules;
    about.push_back({DeviceRule::Type::Char, 1, 3, 1});
    for (const DeviceRule &rule : rules) {
        const auto other =
            rule.type == DeviceRule::Type::Char ? DeviceRule::Type::Block : DeviceRule::Type::Char;
        about.push_back({other, rule.major, rule.minor, 1});
        about.push_back({rule.type, rule.major ^ 1U, rule.minor, 1});
        about.push_back({rule.type, rule.major, rule.minor ^ 1U, 1});
    }
    DeviceRules questions;
    for (DeviceRule question : about) {
        for (question.access = 1; question.access <= 7; ++question.access)
            questions.push_back(question);
    }
    return questions;
}

bool is_part_of(const DeviceRule &asked, const DeviceRules &rules)
{
    return std::any_of(rules.begin(), rules.end(), [&](const DeviceRule &rule) {
        return asked.type == rule.type && asked.major == rule.major && asked.minor == rule.minor &&
               (asked.access | rule.access) == rule.access;
    });
}

void check_answers(const DeviceProgram &before, const DeviceProgram &after, const DeviceRules &rules)
{
    for (const DeviceRule &asked : questions_about(rules)) {
        const Verdict now = run(after, asked);
        if (is_part_of(asked, rules))
            require(now == Verdict::Allows, "the rules are allowed");
        else
            require(now == run(before, asked), "all else is answered as before");
    }
}

/** What may be done to a device is more than each part of it, and not less. */
void check_verdict(const DeviceProgram &program, const DeviceRule &rule)
{
    const Verdict whole = verdict(program, rule);
    if (whole == Verdict::Unknown)
        return;
    const Verdict last = run(program, rule);
    require(whole == Verdict::Denies || last == Verdict::Allows, "what is allowed is allowed at once");
    require(whole == Verdict::Allows || not_allowed(program, {rule}) == DeviceRules{rule},
            "what is denied is missing");
}

} // namespace

void check(std::string_view input)
{
    const Case given = read_case(input);
    const DeviceProgram before = with_registers_set(given.program);
    const DeviceProgram after = with_answer(before, given.rules, Verdict::Allows);
    check_answers(before, after, given.rules);
    require(not_allowed(after, given.rules).empty(), "nothing is missing afterwards");
    for (const DeviceRule &rule : given.rules)
        check_verdict(before, rule);
    require(is_one_clean_line(obstacle(given.program)), "an obstacle is one clean line");
    require(obstacle(before) == obstacle(after), "the rules are no obstacle to the next ones");
}

} // namespace ogh::fuzz::device_program
