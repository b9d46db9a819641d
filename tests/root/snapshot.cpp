// SPDX-License-Identifier: Apache-2.0
#include "snapshot.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/text.h"
#include "child.h"

namespace ogh::test {

namespace {

namespace fs = std::filesystem;

std::string content(const fs::path &path, const struct stat &status)
{
    if (S_ISLNK(status.st_mode))
        return " -> " + quote(fs::read_symlink(path).string());
    if (!S_ISREG(status.st_mode))
        return "";
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return " = " + quote(text.str());
}

std::string time_text(const timespec &time)
{
    return std::to_string(time.tv_sec) + "." + std::to_string(time.tv_nsec);
}

std::string line(const fs::path &path, const std::string &name, Detail detail)
{
    struct stat status {};
    check_call(::lstat(path.c_str(), &status), path);
    std::ostringstream text;
    text << quote(name) << " " << std::oct << status.st_mode << std::dec << " " << status.st_uid << ":"
         << status.st_gid << " device " << major(status.st_rdev) << ":" << minor(status.st_rdev);
    if (detail == Detail::Everything)
        text << " links " << status.st_nlink << " size " << status.st_size << " changed "
             << time_text(status.st_mtim) << " " << time_text(status.st_ctim);
    text << content(path, status);
    return text.str();
}

} // namespace

Lines snapshot(const std::string &path, Detail detail)
{
    Lines lines{line(path, ".", detail)};
    for (auto entry = fs::recursive_directory_iterator(path); entry != fs::recursive_directory_iterator();
         ++entry)
        lines.push_back(line(entry->path(), entry->path().string().substr(path.size()), detail));
    std::sort(lines.begin(), lines.end());
    return lines;
}

Lines differences(const Lines &before, const Lines &after)
{
    Lines gone;
    Lines added;
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(gone));
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(added));
    Lines all;
    for (const std::string &text : gone)
        all.push_back("- " + text);
    for (const std::string &text : added)
        all.push_back("+ " + text);
    return all;
}

} // namespace ogh::test
