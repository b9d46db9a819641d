// SPDX-License-Identifier: Apache-2.0
#include "loader/elf_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/contains.h"
#include "base/error.h"
#include "base/little_endian.h"

namespace ogh {

namespace {

/** Room for the headers of nearly every library, and for the notes behind them. */
constexpr size_t head_size = 1024;

/** Real libraries have 7 to 14. */
constexpr size_t segment_limit = 64;

[[noreturn]] void refuse_with_reason(int error_number)
{
    throw Error(ErrorKind::NotAvailable, std::string("it cannot be read: ") + std::strerror(error_number));
}

std::uint64_t plain_file_size(int fd)
{
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        refuse_with_reason(errno);
    if (!S_ISREG(status.st_mode))
        refuse_library("it is no plain file");
    return static_cast<std::uint64_t>(status.st_size);
}

std::string read_at(int fd, std::uint64_t offset, size_t size)
{
    std::string bytes(size, '\0');
    size_t done = 0;
    while (done < size) {
        const ssize_t count =
            ::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            refuse_with_reason(errno);
        if (count == 0)
            break;
        done += static_cast<size_t>(count);
    }
    bytes.resize(done);
    return bytes;
}

/** What the first bytes, which are alike in both classes, must say. */
void check_identification(std::string_view head, ElfKind kind)
{
    if (head.empty())
        refuse_library("it is empty");
    if (!head.starts_with(std::string_view(ELFMAG, SELFMAG)))
        refuse_library("it is no ELF file");
    if (head.size() < sizeof(Elf32_Ehdr))
        refuse_library("it is cut short");
    if (head[EI_CLASS] != ELFCLASS32 && head[EI_CLASS] != ELFCLASS64)
        refuse_library("it is of an unknown ELF class");
    if (head[EI_DATA] != ELFDATA2LSB)
        refuse_library("it is for machines of another byte order");
    if (head[EI_VERSION] != EV_CURRENT)
        refuse_library("it is of an unknown ELF version");
    const auto type = load_little_endian<std::uint16_t>(head, offsetof(Elf32_Ehdr, e_type));
    if (kind == ElfKind::Program && type != ET_DYN && type != ET_EXEC)
        refuse_library("it is no program");
    if (kind == ElfKind::Library && type != ET_DYN)
        refuse_library("it is no shared library");
}

std::string read_head(int fd, ElfKind kind)
{
    std::string head = read_at(fd, 0, head_size);
    check_identification(head, kind);
    return head;
}

/** A dynamic section has an entry for each library that is needed; the largest known have fewer than 150. */
constexpr size_t dynamic_limit = 512;
constexpr size_t dynamic_step = 64; ///< entries read at once

} // namespace

[[noreturn]] void refuse_library(const char *why)
{
    throw Error(ErrorKind::NotAvailable, why);
}

ElfFile::ElfFile(int fd, ElfKind kind)
    : fd_(fd), size_(plain_file_size(fd)), head_(read_head(fd, kind)), is_64_(head_[EI_CLASS] == ELFCLASS64)
{
    if (is_64_ && head_.size() < sizeof(Elf64_Ehdr))
        refuse_library("it is cut short");
    machine_ = load_little_endian<std::uint16_t>(head_, offsetof(Elf32_Ehdr, e_machine));
    processor_flags_ = load_little_endian<std::uint32_t>(head_, is_64_ ? offsetof(Elf64_Ehdr, e_flags)
                                                                       : offsetof(Elf32_Ehdr, e_flags));
    read_segments();
}

std::string ElfFile::read(std::uint64_t offset, size_t size) const
{
    if (offset <= head_.size() && size <= head_.size() - offset)
        return head_.substr(offset, size);
    if (offset > static_cast<std::uint64_t>(INT64_MAX) - size)
        refuse_library("it is cut short");
    return read_at(fd_, offset, size);
}

std::optional<std::uint64_t> ElfFile::offset_of(std::uint64_t address) const
{
    for (const ElfSegment &segment : segments_) {
        if (segment.type == PT_LOAD && address >= segment.address && address - segment.address < segment.size)
            return segment.offset + (address - segment.address); // which is in the file, see read_segments()
    }
    return std::nullopt;
}

std::uint64_t ElfFile::address_at(std::string_view bytes, size_t at) const
{
    return is_64_ ? load_little_endian<std::uint64_t>(bytes, at)
                  : load_little_endian<std::uint32_t>(bytes, at);
}

ElfSegment ElfFile::segment_at(std::string_view bytes, size_t at) const
{
    ElfSegment segment;
    segment.type = load_little_endian<std::uint32_t>(bytes, at);
    if (is_64_) {
        segment.offset = address_at(bytes, at + offsetof(Elf64_Phdr, p_offset));
        segment.address = address_at(bytes, at + offsetof(Elf64_Phdr, p_vaddr));
        segment.size = address_at(bytes, at + offsetof(Elf64_Phdr, p_filesz));
        segment.alignment = address_at(bytes, at + offsetof(Elf64_Phdr, p_align));
    } else {
        segment.offset = address_at(bytes, at + offsetof(Elf32_Phdr, p_offset));
        segment.address = address_at(bytes, at + offsetof(Elf32_Phdr, p_vaddr));
        segment.size = address_at(bytes, at + offsetof(Elf32_Phdr, p_filesz));
        segment.alignment = address_at(bytes, at + offsetof(Elf32_Phdr, p_align));
    }
    return segment;
}

void ElfFile::read_segments()
{
    const std::uint64_t offset =
        address_at(head_, is_64_ ? offsetof(Elf64_Ehdr, e_phoff) : offsetof(Elf32_Ehdr, e_phoff));
    const size_t size_at = is_64_ ? offsetof(Elf64_Ehdr, e_phentsize) : offsetof(Elf32_Ehdr, e_phentsize);
    const size_t each = is_64_ ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    const auto count = load_little_endian<std::uint16_t>(head_, size_at + sizeof(Elf64_Half));
    if (load_little_endian<std::uint16_t>(head_, size_at) != each)
        refuse_library("its program headers are of an unknown size");
    if (count > segment_limit)
        refuse_library("it has more than 64 program headers");
    const std::string bytes = read(offset, count * each);
    if (bytes.size() < count * each)
        refuse_library("it is cut short");
    for (size_t at = 0; at < bytes.size(); at += each) {
        const ElfSegment segment = segment_at(bytes, at);
        // What is mapped beyond the end of the file kills the process that touches it.
        if (segment.type == PT_LOAD && (segment.size > size_ || segment.offset > size_ - segment.size))
            refuse_library("it is cut short");
        segments_.push_back(segment);
    }
}

std::vector<std::optional<std::uint64_t>> read_dynamic(const ElfFile &file,
                                                       std::span<const std::uint64_t> tags)
{
    const auto &segments = file.segments();
    const auto segment = std::find_if(segments.begin(), segments.end(),
                                      [](const ElfSegment &each) { return each.type == PT_DYNAMIC; });
    if (segment == segments.end())
        refuse_library("it has no dynamic section");
    const size_t each = 2 * file.address_size();
    const std::uint64_t count = segment->size / each;
    std::vector<std::optional<std::uint64_t>> values(tags.size());
    for (std::uint64_t done = 0; done < count && contains(values, std::nullopt); done += dynamic_step) {
        if (done >= dynamic_limit)
            refuse_library("its dynamic section is too long");
        const size_t size = std::min<std::uint64_t>(dynamic_step, count - done) * each;
        const std::uint64_t offset =
            segment->offset + done * each; // cannot wrap: the first part has been read
        const std::string bytes = file.read(offset, size);
        if (bytes.size() < size)
            refuse_library("it is cut short");
        for (size_t at = 0; at < size; at += each) {
            const std::uint64_t tag = file.address_at(bytes, at);
            if (tag == DT_NULL)
                return values;
            const auto place = std::find(tags.begin(), tags.end(), tag);
            if (place == tags.end())
                continue;
            auto &value = values[static_cast<size_t>(std::distance(tags.begin(), place))];
            if (!value)
                value = file.address_at(bytes, at + file.address_size());
        }
    }
    return values;
}

std::string read_interpreter(const ElfFile &program)
{
    const auto &segments = program.segments();
    const auto segment = std::find_if(segments.begin(), segments.end(),
                                      [](const ElfSegment &each) { return each.type == PT_INTERP; });
    if (segment == segments.end())
        return "";
    const std::string path = program.read(segment->offset, std::min<std::uint64_t>(segment->size, PATH_MAX));
    return path.substr(0, path.find('\0'));
}

namespace {

constexpr size_t note_header_size = 12;
constexpr size_t note_limit = 1024; ///< bytes of one segment of notes that are looked at
constexpr size_t note_segment_limit = 4;

bool can_be_a_name(std::string_view soname)
{
    return std::none_of(soname.begin(), soname.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return c == '/' || byte < 0x20 || byte == 0x7F;
    });
}

std::string read_soname(const ElfFile &file)
{
    constexpr std::array<std::uint64_t, 2> tags{DT_STRTAB, DT_SONAME};
    const auto dynamic = read_dynamic(file, tags);
    const auto &strings = dynamic[0];
    const auto &name = dynamic[1];
    if (!name)
        return "";
    if (!strings || *name > UINT64_MAX - *strings)
        refuse_library("its SONAME lies outside of it");
    const auto offset = file.offset_of(*strings + *name);
    if (!offset)
        refuse_library("its SONAME lies outside of it");
    std::string soname = file.read(*offset, NAME_MAX + 1);
    const size_t length = soname.find('\0');
    if (length == std::string::npos)
        refuse_library(soname.size() > NAME_MAX ? "its SONAME is longer than a file name can be"
                                                : "it is cut short");
    soname.resize(length);
    return can_be_a_name(soname) ? soname : "";
}

std::uint32_t rounded_up(std::uint32_t size, std::uint64_t alignment)
{
    return alignment == 8 ? (size + 7) & ~7U : (size + 3) & ~3U;
}

/** The ABI note (name "GNU", type 1): four words, of which ldconfig keeps a byte each. */
std::optional<std::uint32_t> abi_of(std::string_view note)
{
    constexpr std::string_view header("\4\0\0\0\20\0\0\0\1\0\0\0GNU\0", 16);
    if (!note.starts_with(header) || note.size() < header.size() + 16)
        return std::nullopt;
    std::uint32_t version = 0;
    for (size_t i = 0; i < 4; i++)
        version = (version << 8U) | static_cast<unsigned char>(note[header.size() + i * 4]);
    return version;
}

std::optional<std::uint32_t> find_abi(std::string_view notes, std::uint64_t alignment)
{
    while (notes.size() >= note_header_size) {
        if (const auto abi = abi_of(notes))
            return abi;
        const auto name_size = load_little_endian<std::uint32_t>(notes, 0);
        const auto size = load_little_endian<std::uint32_t>(notes, 4);
        if (name_size > notes.size() || size > notes.size())
            return std::nullopt;
        // Both are small now: nothing can overflow.
        const size_t all = rounded_up(rounded_up(note_header_size + name_size, alignment) + size, alignment);
        notes.remove_prefix(std::min(all, notes.size()));
    }
    return std::nullopt;
}

/** Notes that cannot be read do not matter: a library without this one runs on every kernel. */
std::uint32_t read_os_version(const ElfFile &file)
{
    size_t seen = 0;
    for (const ElfSegment &segment : file.segments()) {
        if (segment.type != PT_NOTE || seen == note_segment_limit)
            continue;
        seen++;
        const size_t size = std::min<std::uint64_t>(segment.size, note_limit);
        if (segment.offset > static_cast<std::uint64_t>(INT64_MAX) - size)
            continue;
        if (const auto abi = find_abi(file.read(segment.offset, size), segment.alignment))
            return *abi;
    }
    return 0;
}

} // namespace

std::variant<ElfLibrary, NotALibrary> read_elf_library(int fd)
{
    try {
        const ElfFile file(fd);
        return ElfLibrary{file.is_64(), file.machine(), file.processor_flags(), read_soname(file),
                          read_os_version(file)};
    } catch (const Error &error) {
        return NotALibrary{error.what()};
    }
}

} // namespace ogh
