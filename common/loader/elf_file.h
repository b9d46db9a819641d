// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ogh {

/** @throws Error (NotAvailable): why a file is no library that can be used. */
[[noreturn]] void refuse_library(const char *why);

/** PT_*, where it lies in the file, and where in memory. */
struct ElfSegment {
    std::uint32_t type = 0;
    std::uint64_t offset = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0; ///< in the file
    std::uint64_t alignment = 0;
};

/** What a file is to be. */
enum class ElfKind {
    Library,
    Program, ///< which may be a library as well: most programs are linked like one
};

/**
 * The headers of a little-endian ELF file, and reads of the rest. Everything in it may be hostile: every read is
 * bounded by the caller, and nothing is added up without a look at overflow.
 */
class ElfFile final {
public:
    /** @throws Error (NotAvailable) if it is nothing of that kind, not whole, or cannot be read */
    explicit ElfFile(int fd, ElfKind kind = ElfKind::Library);

    [[nodiscard]] bool is_64() const { return is_64_; }
    [[nodiscard]] std::uint16_t machine() const { return machine_; }
    [[nodiscard]] std::uint32_t processor_flags() const { return processor_flags_; }
    [[nodiscard]] const std::vector<ElfSegment> &segments() const { return segments_; }

    /** @return what is there, less than `size` only at the end of the file. @throws Error */
    [[nodiscard]] std::string read(std::uint64_t offset, size_t size) const;

    /** Where in the file the byte lies that will be at `address` in memory; nothing if none will. */
    [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const;

    /** The number at `at`, as wide as an address of this file: 4 or 8 bytes. */
    [[nodiscard]] std::uint64_t address_at(std::string_view bytes, size_t at) const;
    [[nodiscard]] size_t address_size() const { return is_64_ ? 8 : 4; }

private:
    void read_segments();
    [[nodiscard]] ElfSegment segment_at(std::string_view bytes, size_t at) const;

    int fd_;
    std::uint64_t size_;
    std::string head_; ///< the first KiB
    bool is_64_;
    std::uint16_t machine_ = 0;
    std::uint32_t processor_flags_ = 0;
    std::vector<ElfSegment> segments_;
};

/**
 * What the dynamic section of a library has for each of these tags (DT_*), of which as with ldconfig the first entry
 * counts. It is read no further than needed, and at most 512 entries of it.
 * @return as many values as tags, in their order; nothing for a tag that it lacks
 * @throws Error (NotAvailable) if there is no such section, or not a whole one
 */
std::vector<std::optional<std::uint64_t>> read_dynamic(const ElfFile &file,
                                                       std::span<const std::uint64_t> tags);

/** The loader that a program names by its path (PT_INTERP); "" if it needs none. @throws Error (NotAvailable) */
std::string read_interpreter(const ElfFile &program);

/** What the loader cache needs to know of a shared library. */
struct ElfLibrary {
    bool is_64 = false;
    std::uint16_t machine = 0;         ///< EM_*
    std::uint32_t processor_flags = 0; ///< EF_*, the machine's own
    /** "" if it has none, or none by which a file could be found: empty, with a slash or a control character. */
    std::string soname;
    /** The oldest kernel it runs on, as ldconfig puts it into a cache: OS, major, minor, patch, a byte each. */
    std::uint32_t os_version = 0;

    bool operator==(const ElfLibrary &) const = default;
};

/** A file that is no shared library, or not a whole one. */
struct NotALibrary {
    std::string why; ///< what reads well behind "is left out: "
};

/**
 * Reads the few parts of a little-endian ELF file that matter here, with pread(2): mostly three times, never more
 * than 16 KiB in all, whatever its size and whatever its headers say. The descriptor's offset stays as it is.
 */
std::variant<ElfLibrary, NotALibrary> read_elf_library(int fd);

} // namespace ogh
