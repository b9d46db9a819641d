// SPDX-License-Identifier: Apache-2.0
#include "libraries/library_flags.h"

#include <elf.h>

#include "loader/ld_cache_format.h"

namespace ogh {

using namespace ld_cache_format;

namespace {

/** Libraries that do not say how they pass floating-point numbers go with either way. */
std::int32_t arm_flags(std::uint32_t processor_flags)
{
    if ((processor_flags & EF_ARM_EABIMASK) != EF_ARM_EABI_VER5)
        return flags_libc6;
    if ((processor_flags & EF_ARM_ABI_FLOAT_HARD) != 0)
        return flags_libc6 | flags_arm_hard_float;
    if ((processor_flags & EF_ARM_ABI_FLOAT_SOFT) != 0)
        return flags_libc6 | flags_arm_soft_float;
    return flags_libc6;
}

} // namespace

std::optional<std::int32_t> library_flags(const ElfLibrary &library)
{
    if (library.machine == EM_X86_64)
        return flags_libc6 | (library.is_64 ? flags_x86_64 : flags_x32);
    if (library.machine == EM_386 && !library.is_64)
        return flags_libc6;
    if (library.machine == EM_AARCH64 && library.is_64)
        return flags_libc6 | flags_aarch64;
    if (library.machine == EM_ARM && !library.is_64)
        return arm_flags(library.processor_flags);
    if (library.machine == EM_PPC64 && library.is_64)
        return flags_libc6 | flags_ppc64;
    return std::nullopt;
}

} // namespace ogh
