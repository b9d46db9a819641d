// SPDX-License-Identifier: Apache-2.0
//
// Programs rewritten and run here; tests/root/device_cgroup_test.cpp has the kernel run them.
#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "cgroup/device_program.h"
#include "support/device_programs.h"
#include "support/expect.h"

BOOST_AUTO_TEST_SUITE(device_program)

using namespace ogh;
using namespace ogh::test;

namespace {

DeviceProgram with_rules(const DeviceProgram &program, const DeviceRules &rules)
{
    return with_answer(program, rules, Verdict::Allows);
}

DeviceProgram without_rules(const DeviceProgram &program, const DeviceRules &rules)
{
    return with_answer(program, rules, Verdict::Denies);
}

using Type = DeviceRule::Type;

constexpr unsigned rw = access_read | access_write;

bool same_instruction(const bpf_insn &a, const bpf_insn &b)
{
    return a.code == b.code && a.dst_reg == b.dst_reg && a.src_reg == b.src_reg && a.off == b.off &&
           a.imm == b.imm;
}

/** Every device near the edges, with every access. */
DeviceRules all_questions()
{
    DeviceRules questions;
    for (const Type type : {Type::Block, Type::Char})
        for (const unsigned major : {0U, 1U, 5U, 136U, 195U, 196U, 4095U})
            for (const unsigned minor : {0U, 1U, 3U, 255U, 256U, 1048575U})
                for (unsigned access = 1; access <= 7; ++access)
                    questions.push_back({type, major, minor, access});
    return questions;
}

bool is_part_of(const DeviceRule &asked, const DeviceRules &rules)
{
    for (const DeviceRule &rule : rules) {
        if (asked.type == rule.type && asked.major == rule.major && asked.minor == rule.minor &&
            (asked.access & ~rule.access) == 0)
            return true;
    }
    return false;
}

/** How many questions the second program answers in another way than the first, with the rules allowed. */
size_t differences(const DeviceProgram &first, const DeviceProgram &second, const DeviceRules &rules)
{
    size_t count = 0;
    for (const DeviceRule &asked : all_questions()) {
        const Verdict expected = is_part_of(asked, rules) ? Verdict::Allows : run(first, asked);
        count += run(second, asked) == expected ? 0U : 1U;
    }
    return count;
}

/** The same of one that denies what has any of a rule's access. */
size_t differences_without(const DeviceProgram &first, const DeviceProgram &second, const DeviceRules &rules)
{
    size_t count = 0;
    for (const DeviceRule &asked : all_questions()) {
        const bool is_denied = std::any_of(rules.begin(), rules.end(), [&](const DeviceRule &rule) {
            return asked.type == rule.type && asked.major == rule.major && asked.minor == rule.minor &&
                   (asked.access & rule.access) != 0;
        });
        const Verdict expected = is_denied ? Verdict::Denies : run(first, asked);
        count += run(second, asked) == expected ? 0U : 1U;
    }
    return count;
}

const DeviceRules gpu = {
    {Type::Char, 195, 0, rw}, {Type::Char, 195, 255, rw}, {Type::Char, 4095, 1048575, rw}};

/** What one operation makes of two numbers. */
std::uint64_t calculated(int operation, std::uint64_t a, std::uint64_t b, int width)
{
    // The result is compared with itself bit by bit: a program can only answer yes or no.
    std::uint64_t result = 0;
    for (int bit = 0; bit < 64; ++bit) {
        const auto constant = [](int to, std::uint64_t value) -> DeviceProgram {
            return {insn(BPF_LD | BPF_IMM | BPF_DW, to, 0, 0, static_cast<int>(value)),
                    insn(0, 0, 0, 0, static_cast<int>(value >> 32U))};
        };
        DeviceProgram program = constant(BPF_REG_2, a);
        add(program, constant(BPF_REG_3, b));
        add(program, {insn(width | operation | BPF_X, BPF_REG_2, BPF_REG_3, 0, 0),
                      insn(BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_2, 0, 0, bit),
                      insn(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0, 1),
                      insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_0, BPF_REG_2, 0, 0), end_here()});
        if (run(program, {}) == Verdict::Allows)
            result |= std::uint64_t{1} << static_cast<unsigned>(bit);
    }
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_runtimes_programs_answer_as_their_lists_say)
{
    for (const DeviceProgram &program : {like_runc(usual_lines()), like_crun(usual_lines())}) {
        BOOST_TEST((verdict(program, {Type::Char, 1, 3, 7}) == Verdict::Allows));
        BOOST_TEST((verdict(program, {Type::Char, 136, 77, rw}) == Verdict::Allows));
        BOOST_TEST((verdict(program, {Type::Char, 5, 0, access_read}) == Verdict::Allows));
        BOOST_TEST((verdict(program, {Type::Char, 5, 0, rw}) == Verdict::Denies));
        BOOST_TEST((verdict(program, {Type::Block, 1, 3, rw}) == Verdict::Denies));
        BOOST_TEST((verdict(program, {Type::Char, 195, 0, access_mknod}) == Verdict::Allows));
        BOOST_TEST((verdict(program, {Type::Char, 195, 0, rw}) == Verdict::Denies));
    }
}

BOOST_AUTO_TEST_CASE(the_rules_are_allowed_and_all_else_is_as_it_was)
{
    for (const NamedProgram &old : usual_programs())
        BOOST_TEST(differences(old.program, with_rules(old.program, gpu), gpu) == 0, old.name);
}

BOOST_AUTO_TEST_CASE(each_access_is_given_alone)
{
    for (unsigned access = 1; access <= 7; ++access) {
        for (const Type type : {Type::Block, Type::Char}) {
            const DeviceRules rules = {{type, 195, 3, access}};
            BOOST_TEST(differences(always(0), with_rules(always(0), rules), rules) == 0, to_text(rules));
        }
    }
}

BOOST_AUTO_TEST_CASE(rules_that_have_numbers_in_common_are_told_apart)
{
    const DeviceRules same_driver = checked({{Type::Char, 195, 0, rw},
                                             {Type::Char, 195, 1, access_read},
                                             {Type::Char, 195, 3, rw},
                                             {Type::Char, 195, 255, rw},
                                             {Type::Block, 195, 3, access_write},
                                             {Type::Char, 196, 3, rw},
                                             {Type::Char, 0, 0, access_mknod}});
    const DeviceRules type_alone = checked({{Type::Block, 195, 3, rw}, {Type::Char, 195, 0, rw}});
    for (const DeviceRules &rules : {same_driver, type_alone})
        for (const NamedProgram &old : usual_programs())
            BOOST_TEST(differences(old.program, with_rules(old.program, rules), rules) == 0, old.name);
}

BOOST_AUTO_TEST_CASE(a_node_more_of_a_driver_is_one_instruction_more)
{
    const auto size = [](unsigned count) {
        DeviceRules rules;
        for (unsigned minor = 0; minor < count; ++minor)
            rules.push_back({Type::Char, 226, minor, rw});
        return with_rules({}, rules).size();
    };
    BOOST_TEST(size(64) == size(1) + 63);
    BOOST_TEST(size(4096) == size(1) + 4095);
    BOOST_TEST(size(4097) == size(4096) + size(1) - 3, "a jump is too long");
}

BOOST_AUTO_TEST_CASE(no_rules_leave_the_program_alone)
{
    const DeviceProgram old = like_runc(usual_lines());
    const DeviceProgram same = with_rules(old, {});
    BOOST_TEST(std::equal(old.begin(), old.end(), same.begin(), same.end(), same_instruction));
}

BOOST_AUTO_TEST_CASE(what_is_allowed_already_is_not_missing)
{
    const DeviceProgram old = like_crun(usual_lines());
    BOOST_TEST((not_allowed(old, gpu) == gpu));
    const DeviceProgram once = with_rules(old, gpu);
    BOOST_TEST(not_allowed(once, gpu).empty());
    const DeviceRules more = {gpu[0], {Type::Char, 195, 1, rw}};
    BOOST_TEST((not_allowed(once, more) == DeviceRules{more[1]}));
    const DeviceProgram twice = with_rules(once, not_allowed(once, more));
    BOOST_TEST(differences(once, twice, more) == 0);
}

BOOST_AUTO_TEST_CASE(an_unreadable_program_is_missing_all_but_our_own_rules)
{
    const DeviceProgram calling = {insn(BPF_JMP | BPF_CALL, 0, 0, 0, 5), end_here()};
    BOOST_TEST((not_allowed(calling, gpu) == gpu));
    BOOST_TEST(not_allowed(with_rules(calling, gpu), gpu).empty());
    BOOST_TEST((not_allowed({}, gpu) == gpu));
}

BOOST_AUTO_TEST_CASE(a_partial_access_is_told_from_the_whole)
{
    // It allows reading and writing, but not both at once.
    const DeviceProgram odd = {
        load_word(BPF_REG_2, 0), insn(BPF_ALU | BPF_RSH | BPF_K, BPF_REG_2, 0, 0, 16),
        move_to(BPF_REG_0, 1),   insn(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_2, 0, 1, static_cast<int>(rw)),
        move_to(BPF_REG_0, 0),   end_here()};
    BOOST_TEST((verdict(odd, {Type::Char, 1, 1, access_read}) == Verdict::Allows));
    BOOST_TEST((verdict(odd, {Type::Char, 1, 1, access_write}) == Verdict::Allows));
    BOOST_TEST((verdict(odd, {Type::Char, 1, 1, rw}) == Verdict::Denies));
}

BOOST_AUTO_TEST_CASE(programs_that_can_be_loaded_again_have_no_obstacle)
{
    for (const NamedProgram &old : usual_programs())
        BOOST_TEST(obstacle(old.program).empty(), old.name);
    // The second half of a constant is no instruction, whatever it looks like.
    const DeviceProgram constant = {insn(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_0, 0, 0, 1),
                                    insn(0, 0, 0, 0, BPF_JMP | BPF_CALL), end_here()};
    BOOST_TEST(obstacle(constant).empty());
}

BOOST_AUTO_TEST_CASE(hidden_instructions_name_the_sysctl)
{
    BOOST_TEST(obstacle({}).find("net.core.bpf_jit_harden") != std::string::npos);
    for (const bpf_insn &hardened : {insn(BPF_ALU64 | BPF_MOV | BPF_K, 11, 0, 0, 4711),
                                     insn(BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_2, 11, 0, 0)})
        BOOST_TEST(obstacle({hardened, end_here()}).find("net.core.bpf_jit_harden") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(maps_and_calls_are_obstacles)
{
    for (const int kind : {BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE}) {
        const DeviceProgram map = {insn(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, kind, 0, 7),
                                   insn(0, 0, 0, 0, 0), end_here()};
        BOOST_TEST(obstacle(map) == "it uses a map");
    }
    const DeviceProgram call = {move_to(BPF_REG_0, 1), insn(BPF_JMP | BPF_CALL, 0, 0, 0, 14), end_here()};
    BOOST_TEST(obstacle(call).starts_with("it calls"));
}

BOOST_AUTO_TEST_CASE(marks_of_the_verifier_are_taken_back)
{
    const DeviceProgram marked = {insn(BPF_ALU | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_2, 0, 1),
                                  move_to(BPF_REG_0, 1), end_here()};
    const DeviceProgram plain = with_rules(marked, {});
    BOOST_TEST(plain[0].imm == 0);
    BOOST_TEST(same_instruction(plain[1], marked[1]));
}

BOOST_AUTO_TEST_CASE(arithmetic_is_the_kernels)
{
    constexpr std::uint64_t big = 0xfedcba9876543210;
    BOOST_TEST(calculated(BPF_ADD, big, 7, BPF_ALU64) == big + 7);
    BOOST_TEST(calculated(BPF_ADD, 0xffffffff, 1, BPF_ALU) == 0U);
    BOOST_TEST(calculated(BPF_SUB, 1, 2, BPF_ALU) == 0xffffffffU);
    BOOST_TEST(calculated(BPF_SUB, 1, 2, BPF_ALU64) == ~std::uint64_t{0});
    BOOST_TEST(calculated(BPF_MUL, big, 3, BPF_ALU64) == big * 3);
    BOOST_TEST(calculated(BPF_DIV, 7, 2, BPF_ALU64) == 3U);
    BOOST_TEST(calculated(BPF_DIV, 7, 0, BPF_ALU64) == 0U);
    BOOST_TEST(calculated(BPF_MOD, 7, 4, BPF_ALU) == 3U);
    BOOST_TEST(calculated(BPF_MOD, 7, 0, BPF_ALU64) == 7U);
    BOOST_TEST(calculated(BPF_OR, 5, 2, BPF_ALU64) == 7U);
    BOOST_TEST(calculated(BPF_AND, big, 0xff00, BPF_ALU64) == 0x3200U);
    BOOST_TEST(calculated(BPF_XOR, 6, 3, BPF_ALU64) == 5U);
    BOOST_TEST(calculated(BPF_LSH, 1, 63, BPF_ALU64) == std::uint64_t{1} << 63U);
    BOOST_TEST(calculated(BPF_LSH, 1, 33, BPF_ALU) == 2U);
    BOOST_TEST(calculated(BPF_RSH, big, 60, BPF_ALU64) == 0xfU);
    BOOST_TEST(calculated(BPF_ARSH, big, 60, BPF_ALU64) == ~std::uint64_t{0});
    BOOST_TEST(calculated(BPF_ARSH, 0x80000000, 4, BPF_ALU) == 0xf8000000U);
    BOOST_TEST(calculated(BPF_MOV, 1, big, BPF_ALU) == 0x76543210U);
    BOOST_TEST(calculated(BPF_MOV, 1, big, BPF_ALU64) == big);
}

BOOST_AUTO_TEST_CASE(jumps_compare_with_and_without_sign)
{
    struct Case {
        int operation;
        int a;
        int b;
        bool wide;
        bool narrow;
    };
    const std::vector<Case> cases = {
        {BPF_JEQ, 1, 1, true, true},    {BPF_JEQ, -1, 1, false, false},  {BPF_JNE, 1, 2, true, true},
        {BPF_JGT, -1, 1, true, true},   {BPF_JGE, 1, 1, true, true},     {BPF_JLT, 1, -1, true, true},
        {BPF_JLE, 2, 1, false, false},  {BPF_JSGT, -1, 1, false, false}, {BPF_JSGE, -1, -1, true, true},
        {BPF_JSLT, -1, 1, true, true},  {BPF_JSLE, 2, 1, false, false},  {BPF_JSET, 6, 3, true, true},
        {BPF_JSET, 4, 3, false, false},
    };
    for (const Case &one : cases) {
        for (const int width : {BPF_JMP, BPF_JMP32}) {
            const DeviceProgram program = {move_to(BPF_REG_2, one.a), move_to(BPF_REG_0, 1),
                                           insn(width | one.operation | BPF_K, BPF_REG_2, 0, 1, one.b),
                                           move_to(BPF_REG_0, 0), end_here()};
            const bool expected = width == BPF_JMP ? one.wide : one.narrow;
            BOOST_TEST((run(program, {}) == (expected ? Verdict::Allows : Verdict::Denies)),
                       one.operation << " " << one.a << " " << one.b);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_said_to_be_unknown)
{
    const std::vector<DeviceProgram> programs = {
        {},
        {move_to(BPF_REG_0, 1)},                                                        // runs off its end
        {insn(BPF_JMP | BPF_JA, 0, 0, -1, 0)},                                          // never ends
        {insn(BPF_JMP | BPF_JA, 0, 0, -5, 0), end_here()},                              // leaves it
        {insn(BPF_JMP | BPF_CALL, 0, 0, 0, 1), end_here()},                             //
        {insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_0, 12, 0, 0), end_here()},           // no such register
        {insn(BPF_ALU | BPF_END | BPF_X, BPF_REG_1, 0, 0, 16), end_here()},             //
        {insn(BPF_ALU64 | BPF_DIV | BPF_K, BPF_REG_0, 0, 1, 3), end_here()},            // signed division
        {load_word(BPF_REG_0, 12), end_here()},                                         // beyond the context
        {load_word(BPF_REG_0, -4), end_here()},                                         //
        {insn(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_0, BPF_REG_10, 0, 0), end_here()},     // beyond the stack
        {insn(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_10, -520, 0), end_here()}, //
        {insn(BPF_ST | BPF_MEM | BPF_W, BPF_REG_1, 0, 0, 1), end_here()},               // into the context
        {insn(BPF_STX | BPF_ATOMIC | BPF_W, BPF_REG_10, BPF_REG_0, -8, 0), end_here()}, //
        {insn(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_0, 1, 0, 1), insn(0, 0, 0, 0, 0), end_here()},
        {insn(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_0, 0, 0, 1)},
    };
    for (size_t i = 0; i < programs.size(); ++i)
        BOOST_TEST((run(programs[i], {}) == Verdict::Unknown), i);
}

BOOST_AUTO_TEST_CASE(only_the_lower_half_of_the_answer_counts)
{
    DeviceProgram program = {insn(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_0, 0, 0, 0), insn(0, 0, 0, 0, 1),
                             end_here()};
    BOOST_TEST((run(program, {}) == Verdict::Denies));
}

BOOST_AUTO_TEST_CASE(rules_are_written_as_the_kernel_reads_them)
{
    BOOST_TEST(to_text(DeviceRule{Type::Char, 195, 0, rw}) == "c 195:0 rw");
    BOOST_TEST(to_text(DeviceRule{Type::Block, 8, 1, 7}) == "b 8:1 rwm");
    BOOST_TEST(to_text(DeviceRules{gpu[0], gpu[1]}) == "c 195:0 rw, c 195:255 rw");
}

BOOST_AUTO_TEST_CASE(rules_are_checked_and_each_stands_once)
{
    BOOST_TEST((checked({gpu[1], gpu[0], gpu[1]}) == DeviceRules{gpu[0], gpu[1]}));
    for (const DeviceRule &wrong :
         {DeviceRule{Type::Char, 4096, 0, rw}, DeviceRule{Type::Char, 0, 1048576, rw},
          DeviceRule{Type::Char, 1, 1, 0}, DeviceRule{Type::Char, 1, 1, 8}})
        BOOST_TEST(failure_of([&] { checked({wrong}); }).says("no device cgroup takes"), to_text(wrong));
}

BOOST_AUTO_TEST_CASE(what_is_taken_away_is_denied_and_all_else_is_as_before)
{
    for (const NamedProgram &one : usual_programs()) {
        const DeviceProgram allowed = with_rules(one.program, gpu);
        const DeviceProgram denied = without_rules(allowed, {gpu[0], gpu[2]});
        BOOST_TEST(differences_without(allowed, denied, {gpu[0], gpu[2]}) == 0U, one.name);
        BOOST_TEST(differences(denied, with_rules(denied, gpu), gpu) == 0U, one.name);
    }
    BOOST_TEST(differences_without(always(1), without_rules(always(1), gpu), gpu) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
