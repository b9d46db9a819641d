// SPDX-License-Identifier: Apache-2.0
#include "mounts.h"

#include <sys/mount.h>

#include <fstream>
#include <ostream>
#include <sstream>

#include "child.h"

namespace ogh::test {

namespace {

/** Blank, tab, newline and backslash are written as three octal digits. */
std::string without_escapes(const std::string &text)
{
    std::string plain;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size()) {
            plain += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

/** Between blanks alone: other white space is not escaped in a mount table. */
std::vector<std::string> words_of(const std::string &line)
{
    std::vector<std::string> words;
    std::istringstream text(line);
    for (std::string word; std::getline(text, word, ' ');)
        words.push_back(word);
    return words;
}

Mount parse(const std::string &line)
{
    const std::vector<std::string> words = words_of(line);
    Mount mount{
        words.at(0), words.at(2), without_escapes(words.at(3)), without_escapes(words.at(4)), words.at(5),
        "",          ""};
    size_t i = 6;
    for (; words.at(i) != "-"; ++i)
        mount.tags += (mount.tags.empty() ? "" : " ") + words[i];
    mount.type = words.at(i + 1);
    return mount;
}

} // namespace

bool Mount::has(const std::string &option) const
{
    return ("," + options + ",").find("," + option + ",") != std::string::npos;
}

std::ostream &operator<<(std::ostream &out, const Mount &mount)
{
    return out << mount.id << " " << mount.device << " " << mount.root << " " << mount.point << " "
               << mount.options << " [" << mount.tags << "] " << mount.type;
}

Mounts read_mounts(pid_t pid)
{
    const std::string path = "/proc/" + (pid == 0 ? "self" : std::to_string(pid)) + "/mountinfo";
    std::ifstream table(path);
    if (!table)
        fail(path);
    Mounts mounts;
    for (std::string line; std::getline(table, line);)
        mounts.push_back(parse(line));
    return mounts;
}

void make_mount(const std::string &source, const std::string &target, const std::string &type,
                unsigned long flags)
{
    check_call(::mount(source.c_str(), target.c_str(), type.c_str(), flags, nullptr), "mount on " + target);
}

void change_mount(const std::string &target, unsigned long flags)
{
    check_call(::mount(nullptr, target.c_str(), nullptr, flags, nullptr), "change the mount " + target);
}

} // namespace ogh::test
