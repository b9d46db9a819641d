// SPDX-License-Identifier: Apache-2.0
#include "cgroup/device_program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace ogh {

namespace {

// No address of a program is in the range of a device number, so that one is never taken for the other.
constexpr std::uint64_t context_address = std::uint64_t{1} << 60U;
constexpr std::uint64_t stack_address = std::uint64_t{1} << 61U;
constexpr size_t stack_size = 512;
constexpr unsigned access_shift = 16;   // of access_type; the type is below
constexpr size_t max_steps = 1'000'000; // as many as the verifier follows

constexpr unsigned class_of(const bpf_insn &instruction)
{
    return instruction.code & 0x07U;
}

constexpr unsigned operation_of(const bpf_insn &instruction)
{
    return instruction.code & 0xf0U;
}

constexpr unsigned mode_of(const bpf_insn &instruction)
{
    return instruction.code & 0xe0U;
}

size_t size_of(const bpf_insn &instruction)
{
    switch (instruction.code & 0x18U) {
    case BPF_B:
        return 1;
    case BPF_H:
        return 2;
    case BPF_W:
        return 4;
    default:
        return 8;
    }
}

/** Both operands in 64 bits, or cut to 32: then the result is cut too. */
template<typename Word, typename Signed> std::optional<Word> calculate(unsigned operation, Word a, Word b)
{
    const Word shift = b & (sizeof(Word) * 8 - 1);
    switch (operation) {
    case BPF_ADD:
        return a + b;
    case BPF_SUB:
        return a - b;
    case BPF_MUL:
        return a * b;
    case BPF_DIV:
        return b == 0 ? Word{0} : a / b;
    case BPF_MOD:
        return b == 0 ? a : a % b;
    case BPF_OR:
        return a | b;
    case BPF_AND:
        return a & b;
    case BPF_XOR:
        return a ^ b;
    case BPF_LSH:
        return a << shift;
    case BPF_RSH:
        return a >> shift;
    case BPF_ARSH:
        return static_cast<Word>(static_cast<Signed>(a) >> shift);
    case BPF_NEG:
        return Word{0} - a;
    case BPF_MOV:
        return b;
    default:
        return std::nullopt;
    }
}

template<typename Word, typename Signed> std::optional<bool> compare(unsigned operation, Word a, Word b)
{
    const auto signed_a = static_cast<Signed>(a);
    const auto signed_b = static_cast<Signed>(b);
    switch (operation) {
    case BPF_JEQ:
        return a == b;
    case BPF_JNE:
        return a != b;
    case BPF_JGT:
        return a > b;
    case BPF_JGE:
        return a >= b;
    case BPF_JLT:
        return a < b;
    case BPF_JLE:
        return a <= b;
    case BPF_JSET:
        return (a & b) != 0;
    case BPF_JSGT:
        return signed_a > signed_b;
    case BPF_JSGE:
        return signed_a >= signed_b;
    case BPF_JSLT:
        return signed_a < signed_b;
    case BPF_JSLE:
        return signed_a <= signed_b;
    default:
        return std::nullopt;
    }
}

/**
 * Does here what the kernel would do: nobody can ask it what a device program answers. Only arithmetic, jumps,
 * the context and the stack are known; whatever else the program does makes the answer Unknown. It ends.
 */
class Machine final {
public:
    /** @param asked this access exactly */
    Machine(const DeviceProgram &program, const DeviceRule &asked) : program_(program)
    {
        const bpf_cgroup_dev_ctx context{asked.access << access_shift | static_cast<unsigned>(asked.type),
                                         asked.major, asked.minor};
        std::memcpy(context_.data(), &context, sizeof context);
        registers_[BPF_REG_1] = context_address;
        registers_[BPF_REG_10] = stack_address + stack_size;
    }

    Verdict run()
    {
        for (size_t step = 0; step < max_steps && at_ < program_.size(); ++step) {
            const bpf_insn &now = program_[at_];
            if (now.dst_reg > BPF_REG_10 || now.src_reg > BPF_REG_10)
                break;
            if (now.code == (BPF_JMP | BPF_EXIT))
                return static_cast<std::uint32_t>(registers_[BPF_REG_0]) != 0 ? Verdict::Allows
                                                                              : Verdict::Denies;
            if (!do_one(now))
                break;
        }
        return Verdict::Unknown;
    }

private:
    /** @return false for an instruction that is not known */
    bool do_one(const bpf_insn &now)
    {
        ++at_;
        switch (class_of(now)) {
        case BPF_ALU:
        case BPF_ALU64:
            return arithmetic(now);
        case BPF_JMP:
        case BPF_JMP32:
            return jump(now);
        case BPF_LDX:
            return mode_of(now) == BPF_MEM && load(now);
        case BPF_ST:
            return mode_of(now) == BPF_MEM && store(now, static_cast<std::uint64_t>(std::int64_t{now.imm}));
        case BPF_STX:
            return mode_of(now) == BPF_MEM && store(now, registers_[now.src_reg]);
        default:
            return constant(now);
        }
    }

    [[nodiscard]] std::uint64_t operand(const bpf_insn &now) const
    {
        return (now.code & BPF_X) != 0 ? registers_[now.src_reg]
                                       : static_cast<std::uint64_t>(std::int64_t{now.imm});
    }

    bool arithmetic(const bpf_insn &now)
    {
        // With an offset these are other operations: signed division, a move that extends the sign.
        if (now.off != 0)
            return false;
        std::uint64_t &to = registers_[now.dst_reg];
        std::optional<std::uint64_t> result;
        if (class_of(now) == BPF_ALU64)
            result = calculate<std::uint64_t, std::int64_t>(operation_of(now), to, operand(now));
        else
            result = calculate<std::uint32_t, std::int32_t>(operation_of(now), static_cast<std::uint32_t>(to),
                                                            static_cast<std::uint32_t>(operand(now)));
        to = result.value_or(0);
        return result.has_value();
    }

    bool jump(const bpf_insn &now)
    {
        const bool is_wide = class_of(now) == BPF_JMP;
        const std::uint64_t a = registers_[now.dst_reg];
        const std::uint64_t b = operand(now);
        std::optional<bool> taken;
        if (operation_of(now) == BPF_JA)
            taken = true;
        else if (is_wide)
            taken = compare<std::uint64_t, std::int64_t>(operation_of(now), a, b);
        else
            taken = compare<std::uint32_t, std::int32_t>(operation_of(now), static_cast<std::uint32_t>(a),
                                                         static_cast<std::uint32_t>(b));
        const bool is_long = !is_wide && operation_of(now) == BPF_JA;
        if (taken.value_or(false))
            at_ += static_cast<size_t>(is_long ? std::int64_t{now.imm} : std::int64_t{now.off});
        return taken.has_value();
    }

    /** Where `size` bytes at `address` are kept; nullptr if they are neither context nor stack. */
    std::byte *memory(std::uint64_t address, size_t size)
    {
        if (address >= stack_address && address - stack_address <= stack_size - size)
            return &stack_[address - stack_address];
        if (address >= context_address && address - context_address <= context_.size() - size)
            return &context_[address - context_address];
        return nullptr;
    }

    bool load(const bpf_insn &now)
    {
        const size_t size = size_of(now);
        const std::byte *from =
            memory(registers_[now.src_reg] + static_cast<std::uint64_t>(std::int64_t{now.off}), size);
        if (from == nullptr)
            return false;
        std::uint64_t value = 0;
        std::memcpy(part_of(value, size), from, size);
        registers_[now.dst_reg] = value;
        return true;
    }

    bool store(const bpf_insn &now, std::uint64_t value)
    {
        const std::uint64_t address =
            registers_[now.dst_reg] + static_cast<std::uint64_t>(std::int64_t{now.off});
        const size_t size = size_of(now);
        if (address < stack_address || memory(address, size) == nullptr)
            return false;
        std::memcpy(&stack_[address - stack_address], part_of(value, size), size);
        return true;
    }

    /** Where in a word the value of `size` bytes lies that it stands for: the kernel's words are the processor's own. */
    static std::byte *part_of(std::uint64_t &word, size_t size)
    {
        const size_t unused = std::endian::native == std::endian::little ? 0 : sizeof word - size;
        return reinterpret_cast<std::byte *>(&word) + unused;
    }

    bool constant(const bpf_insn &now)
    {
        if (now.code != (BPF_LD | BPF_IMM | BPF_DW) || now.src_reg != 0 || at_ >= program_.size())
            return false;
        const auto low = static_cast<std::uint32_t>(now.imm);
        const auto high = static_cast<std::uint32_t>(program_[at_].imm);
        registers_[now.dst_reg] = std::uint64_t{high} << 32U | low;
        ++at_;
        return true;
    }

    const DeviceProgram &program_;
    size_t at_ = 0;
    std::array<std::uint64_t, 11> registers_{};
    std::array<std::byte, stack_size> stack_{};
    std::array<std::byte, sizeof(bpf_cgroup_dev_ctx)> context_{};
};

constexpr unsigned hidden_register = 11; // the kernel's own, beyond BPF_REG_10; appears in hardened programs
constexpr unsigned two_slots = BPF_LD | BPF_IMM | BPF_DW;

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
    program.push_back(
        instruction({BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, answer == Verdict::Allows ? 1U : 0U}));
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

Verdict run(const DeviceProgram &program, const DeviceRule &asked)
{
    return Machine(program, asked).run();
}

Verdict verdict(const DeviceProgram &program, const DeviceRule &rule)
{
    Verdict found = Verdict::Allows;
    for (unsigned access = 1; access <= rule.access; ++access) {
        if ((access & ~rule.access) != 0)
            continue;
        const Verdict one = run(program, {rule.type, rule.major, rule.minor, access});
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

DeviceProgram with_answer(const DeviceProgram &program, const DeviceRules &rules, Verdict answer)
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

} // namespace ogh
