// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "nvidia/cuda_compat.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz::compat_note {

using namespace std::string_view_literals;

namespace {

UniqueFd file_of(std::string_view bytes)
{
    UniqueFd fd(::memfd_create("library", MFD_CLOEXEC));
    if (!fd.valid() || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        throw std::system_error(errno, std::generic_category(), "memfd");
    return fd;
}

void check_note(std::string_view input)
{
    const UniqueFd file = file_of(input);
    const auto note = read_compat_note(file.get());
    require(::lseek(file.get(), 0, SEEK_CUR) == static_cast<off_t>(input.size()), "the offset stays");
    require(read_compat_note(file.get()) == note, "a file can be read again");
    if (!note)
        return;
    require(input.starts_with("\x7f"
                              "ELF"),
            "a library is an ELF file");
    for (const auto text : {".note.cuda.fwd_compatibility\0"sv, "NVIDIA Corporation\0"sv})
        require(input.find(text) != std::string_view::npos, "what names the note is in the file");
    for (const unsigned driver : note->drivers)
        require(input.find(std::to_string(driver)) != std::string_view::npos,
                "a major version is in the file");
}

/** The text up to the first line's end as one version, and what is left as another. */
void check_versions(std::string_view input)
{
    const size_t end = std::min(input.find('\n'), input.size());
    const std::string one(input.substr(0, end));
    const std::string other(input.substr(std::min(end + 1, input.size())));
    const auto wins = [](const std::string &theirs, const std::string &ours, auto drivers) {
        return is_preferred({theirs, std::move(drivers), {}}, ours);
    };
    const std::optional<std::vector<unsigned>> silent;
    require(!wins(one, one, silent), "no version is newer than itself");
    require(!(wins(one, other, silent) && wins(other, one, silent)), "one of two is not the newer one");
    require(!wins(one, other, std::optional(std::vector<unsigned>{})),
            "what works with no driver never wins");
    for (const unsigned major : {0U, 555U, 4294967295U}) {
        const std::optional<std::vector<unsigned>> drivers = {{major}};
        if (!wins(one, other, drivers))
            continue;
        const size_t digit = other.find_first_not_of("0 \t");
        const std::string text = std::to_string(major);
        require(digit != std::string::npos && (major == 0 || other.substr(digit).starts_with(text)),
                "it wins over a version that was named alone");
        require(!wins(other, one, drivers) && !wins(one, one, drivers), "the newer one wins");
    }
}

} // namespace

void check(std::string_view input)
{
    check_note(input);
    check_versions(input);
}

} // namespace ogh::fuzz::compat_note
