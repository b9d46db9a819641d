// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/unique_fd.h"
#include "engines/hook_version.h"
#include "promise.h"
#include "target.h"

namespace ogh::fuzz {

using namespace ogh::admin;

void check(std::string_view input)
{
    const UniqueFd file(::memfd_create("hook", MFD_CLOEXEC));
    if (!file.valid() ||
        ::write(file.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size()))
        throw std::system_error(errno, std::generic_category(), "memfd");
    const auto found = attempt([&] { return read_hook_version(file.get(), "'/x'"); });
    if (!found.value || !*found.value)
        return;
    const HookVersion &version = **found.value;
    require(input.find("oci-gpu-hooks") != std::string_view::npos, "what names the note is in the file");
    require(input.find(version.version) != std::string_view::npos, "the version is in the file");
    require(input.find(version.build_id) != std::string_view::npos, "the build's ID is in the file");
    require(version.version.find('\0') == std::string::npos, "a version ends with NUL");
}

} // namespace ogh::fuzz
