// SPDX-License-Identifier: Apache-2.0
#include "engines/hook_version.h"

#include <elf.h>
#include <fcntl.h>

#include <string_view>

#include "base/error.h"
#include "base/little_endian.h"
#include "kernel/proc_fs.h"
#include "loader/elf_file.h"

namespace ogh::admin {

namespace {

constexpr size_t max_notes = 65536; // of one segment; those of a hook have some hundred bytes
constexpr std::string_view own_name = "oci-gpu-hooks";
constexpr std::uint32_t version_type = 1;
constexpr size_t header_size = 12;

/** Names and descriptions are filled up to a multiple of four bytes. */
std::uint64_t padded(std::uint32_t size)
{
    return (std::uint64_t{size} + 3) & ~std::uint64_t{3};
}

std::string until_nul(std::string_view text)
{
    return std::string(text.substr(0, text.find('\0')));
}

void read_notes(std::string_view notes, std::optional<std::string> &version, std::string &build_id)
{
    while (notes.size() >= header_size) {
        const auto name_size = load_little_endian<std::uint32_t>(notes, 0);
        const auto size = load_little_endian<std::uint32_t>(notes, 4);
        const auto type = load_little_endian<std::uint32_t>(notes, 8);
        notes.remove_prefix(header_size);
        if (padded(name_size) + padded(size) > notes.size())
            return;
        const std::string name = until_nul(notes.substr(0, name_size));
        const std::string_view description = notes.substr(padded(name_size), size);
        if (name == own_name && type == version_type)
            version = until_nul(description);
        else if (name == ELF_NOTE_GNU && type == NT_GNU_BUILD_ID)
            build_id = description;
        notes.remove_prefix(padded(name_size) + padded(size));
    }
}

} // namespace

std::optional<HookVersion> read_hook_version(int fd, const std::string &what)
{
    const UniqueFd file = ProcFs().reopen(fd, O_RDONLY | O_NONBLOCK | O_NOCTTY, what);
    std::optional<std::string> version;
    std::string build_id;
    try {
        const ElfFile elf(file.get());
        for (const ElfSegment &segment : elf.segments())
            if (segment.type == PT_NOTE)
                read_notes(elf.read(segment.offset, std::min<std::uint64_t>(segment.size, max_notes)),
                           version, build_id);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::NotAvailable)
            throw;
    }
    return version ? std::optional(HookVersion{*version, build_id}) : std::nullopt;
}

} // namespace ogh::admin
