// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_labels.h"

#include <sys/xattr.h>

#include <array>

#include "base/text.h"
#include "host/host_file.h"
#include "kernel/folder_entries.h"

namespace ogh::admin {

namespace {

constexpr size_t max_file = 64;
constexpr size_t max_folders = 10'000;

/** The third part of user:role:type:level; "" if the file has no label. */
std::string type_of(int fd)
{
    std::array<char, 4096> label{};
    // What is open with O_PATH has no other name by which its attributes can be read.
    const ssize_t length = ::getxattr(("/proc/self/fd/" + std::to_string(fd)).c_str(), "security.selinux",
                                      label.data(), label.size());
    if (length <= 0)
        return "";
    std::string text(label.data(), static_cast<size_t>(length));
    text = text.substr(0, text.find('\0'));
    const std::vector<std::string> parts = split_list(text, ':');
    return parts.size() < 3 ? "" : parts[2];
}

Findings check_folder(const Sysroot &sysroot, const std::string &source)
{
    Findings findings;
    const auto place = sysroot.find(source);
    if (!place)
        return findings;
    const std::string remedy =
        "semanage fcontext -a -t container_file_t '" + source + "(/.*)?'; restorecon -R " + source;
    const auto is_other = [](std::string_view name) { return name != "." && name != ".."; };
    const FolderListing listing{quote(source), is_other, max_folders, ErrorKind::BrokenHost};
    for (const FolderEntry &entry : list_folder(place->fd.get(), listing)) {
        const auto folder = sysroot.find(source + "/" + entry.name);
        const std::string type = folder ? type_of(folder->fd.get()) : "";
        if (folder && !type.starts_with("container_"))
            findings.push_back({Severity::Warning,
                                "SELinux is enforced, and the type of " + quote(source + "/" + entry.name) +
                                    " is " + quote(type) + ": containers may not read it",
                                remedy});
    }
    return findings;
}

} // namespace

Findings check_labels(const Sysroot &sysroot, const std::vector<InstalledHook> &hooks)
{
    const std::string enforced = read_host_file(sysroot, "/sys/fs/selinux/enforce", max_file).value_or("");
    if (!enforced.starts_with('1'))
        return {};
    Findings findings{
        {Severity::Note, "SELinux is enforced; what it means for the hooks is in oci-gpu-hooks(7)", ""}};
    for (const InstalledHook &hook : hooks) {
        if (hook.hook->name != "mount-srv")
            continue;
        add(findings, check_folder(sysroot, option_of(hook_file(hook), "--source-dir").value_or("/srv")));
    }
    return findings;
}

} // namespace ogh::admin
