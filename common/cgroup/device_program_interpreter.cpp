// SPDX-License-Identifier: Apache-2.0
#include "cgroup/device_program_interpreter.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace ogh {

namespace {

// No address of a program is in the range of a device number, so that one is never taken for the other.
constexpr std::uint64_t context_address = std::uint64_t{1} << 60U;
constexpr std::uint64_t stack_address = std::uint64_t{1} << 61U;
constexpr size_t stack_size = 512;
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

class Machine final {
public:
    explicit Machine(const ProgramRun &run) : program_(run.program)
    {
        const bpf_cgroup_dev_ctx context{run.asked.access << 16U | static_cast<unsigned>(run.asked.type),
                                         run.asked.major, run.asked.minor};
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
        // The kernel's words are the processor's own; the value is put together as it would be there.
        if (size == 1) {
            value = std::to_integer<std::uint64_t>(*from);
        } else if (size == 2) {
            std::uint16_t part = 0;
            std::memcpy(&part, from, sizeof part);
            value = part;
        } else if (size == 4) {
            std::uint32_t part = 0;
            std::memcpy(&part, from, sizeof part);
            value = part;
        } else {
            std::memcpy(&value, from, sizeof value);
        }
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
        for (size_t i = 0; i < size; ++i)
            stack_[address - stack_address + i] = byte_of(value, i, size);
        return true;
    }

    /** The byte of a value of `size` that this processor keeps at place `i`. */
    static std::byte byte_of(std::uint64_t value, size_t i, size_t size)
    {
        const size_t rank = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : size - 1 - i;
        return static_cast<std::byte>(value >> (8 * rank));
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

} // namespace

Verdict run(const ProgramRun &run)
{
    return Machine(run).run();
}

} // namespace ogh
