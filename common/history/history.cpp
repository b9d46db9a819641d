// SPDX-License-Identifier: Apache-2.0
#include "history/history.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <exception>

#include <nlohmann/json.hpp>

#include "base/duration.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path_names.h"
#include "base/text.h"
#include "kernel/openat2.h"

namespace ogh {

namespace {

constexpr mode_t file_mode = 0600;

/** "." of the root. @param path absolute */
std::string relative(const std::string &path)
{
    return path == "/" ? "." : path.substr(1);
}

/** Not where the rest of a line has found no space. */
bool ends_in_a_line(int file)
{
    struct stat status {};
    char last = 0;
    return ::fstat(file, &status) != 0 || status.st_size == 0 ||
           ::pread(file, &last, 1, status.st_size - 1) != 1 || last == '\n';
}

std::string json_of(std::string_view text)
{
    return nlohmann::json(as_utf8(text.substr(0, HistoryLine::max_text))).dump(-1, ' ', true);
}

} // namespace

void HistoryLine::add_json(std::string_view name, const std::string &value)
{
    text_.append(text_.size() > 1 ? ",\"" : "\"").append(name).append("\":").append(value);
}

void HistoryLine::add(std::string_view name, std::string_view text)
{
    if (!text.empty())
        add_json(name, json_of(text));
}

void HistoryLine::add(std::string_view name, const std::vector<std::string> &texts)
{
    std::string list;
    for (const std::string &text : texts)
        list += (list.empty() ? "" : ",") + json_of(text);
    add_json(name, "[" + list + "]");
}

void HistoryLine::add_number(std::string_view name, std::uint64_t number)
{
    add_json(name, std::to_string(number));
}

void HistoryLine::add_time(std::string_view name, std::int64_t ns)
{
    const std::int64_t ms = std::max(ns, std::int64_t{0}) / 1'000'000;
    const std::string rest = std::to_string(ms % 1000);
    add_json(name, std::to_string(ms / 1000) + "." + std::string(3 - rest.size(), '0') + rest);
}

void add_label(HistoryLine &line, const ContainerLabel &label)
{
    line.add("name", label.name);
    line.add("image", label.image);
    line.add("user", label.user);
    line.add("asker", label.asker);
}

History::History(const Sysroot &sysroot, std::string path, std::string hook)
    : path_(std::move(path)), hook_(std::move(hook))
{
    auto root = sysroot.find("/");
    if (!root)
        throw Error(ErrorKind::BrokenHost, "the host's root cannot be found");
    root_ = std::move(root->fd);
}

HistoryLine History::begin(std::string_view event) const
{
    HistoryLine line;
    line.add("time", utc_text(::time(nullptr)));
    line.add("event", event);
    line.add("hook", hook_);
    return line;
}

/** Makes what is missing of it: another hook may be doing the same at this moment. */
UniqueFd History::open_directory(const std::string &path) const
{
    const std::string what = "the directory " + quote(path) + " of the history";
    constexpr int flags = O_PATH | O_DIRECTORY;
    if (auto directory = find_path(root_.get(), relative(path), flags, Walk::Beneath, what))
        return std::move(*directory);
    const UniqueFd above = open_directory(directory_of(path));
    static_cast<void>(::mkdirat(above.get(), file_name_of(path).c_str(), 0755));
    return open_path(root_.get(), relative(path), flags, Walk::Beneath, what);
}

/** By one of those that see that it is too long; the others add to the one that was renamed. */
void History::rotate(int directory, int file) const
{
    const std::string name = file_name_of(path_);
    struct stat ours {};
    struct stat there {};
    if (::flock(file, LOCK_EX | LOCK_NB) != 0 || ::fstat(file, &ours) != 0 ||
        ::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 || ours.st_ino != there.st_ino)
        return;
    if (::renameat(directory, name.c_str(), directory, (name + ".1").c_str()) != 0)
        throw SystemError(errno, "cannot rename the history " + quote(path_), ErrorKind::BrokenHost);
}

void History::write(const std::string &text) const
{
    const std::string what = "the history " + quote(path_);
    const UniqueFd directory = open_directory(directory_of(path_));
    const UniqueFd file(::openat(directory.get(), file_name_of(path_).c_str(),
                                 O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                                 file_mode));
    if (!file.valid())
        throw SystemError(errno, "cannot open " + what, ErrorKind::BrokenHost);
    check_root_file(file.get(), file_mode, what);
    write_all(file.get(), ends_in_a_line(file.get()) ? text : "\n" + text, what);
    if (::lseek(file.get(), 0, SEEK_CUR) > static_cast<off_t>(max_history))
        rotate(directory.get(), file.get());
}

void History::add(HistoryLine line) noexcept
try {
    write(std::move(line).end());
} catch (const std::exception &error) {
    if (problem_.empty())
        problem_ = error.what();
}

} // namespace ogh
