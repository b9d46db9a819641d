// SPDX-License-Identifier: Apache-2.0
#include "sandbox.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/exit_status.h"
#include "container/commit.h"
#include "kernel/end_signals.h"
#include "kernel/process.h"
#include "kernel/progress.h"

namespace ogh::test {

namespace {

/** What a mistake would touch first: odd modes and owners, links, special files, names, old times. */
void make_sentinel(const TempDirectory &directory)
{
    const std::string at = directory.path("outside");
    directory.file("outside/secret", "the host's\n");
    directory.file("outside/program", "#!/bin/true\n");
    directory.file("outside/dir/inner/file", "deep");
    directory.file("outside/data/file", "not what was asked for");
    directory.file("outside/a\nb", "");
    directory.directory("outside/shared");
    directory.directory("outside/closed");
    directory.link("outside/link", "dir/inner");
    directory.link("outside/dangling", "/nowhere");
    check_call(::mkfifo((at + "/fifo").c_str(), 0600), "mkfifo");
    check_call(::link((at + "/secret").c_str(), (at + "/second-name").c_str()), "link");
    check_call(::chown((at + "/dir").c_str(), 1000, 1000), "chown");
    check_call(::chmod((at + "/program").c_str(), 06755), "chmod");
    check_call(::chmod((at + "/shared").c_str(), 03777), "chmod");
    check_call(::chmod((at + "/closed").c_str(), 0), "chmod");
    const std::array<timespec, 2> old{{{1000000000, 1}, {1000000000, 1}}};
    for (const char *name : {"", "/secret", "/dir", "/data", "/dir/inner/file"})
        check_call(::utimensat(AT_FDCWD, (at + name).c_str(), old.data(), 0), "utimensat");
}

/**
 * Without mounts that are gone together with their directory: whoever on this machine removes a directory takes the copies
 * of its mounts away from every other namespace.
 */
Mounts less_removed(Mounts mounts, const Mounts &now)
{
    std::erase_if(mounts, [&](const Mount &mount) {
        return std::find(now.begin(), now.end(), mount) == now.end() &&
               ::access(mount.point.c_str(), F_OK) != 0;
    });
    return mounts;
}

bool is_below(const std::string &path, const std::string &directory)
{
    return path.starts_with(directory + "/");
}

} // namespace

Sandbox::Sandbox()
{
    make_sentinel(*this);
    file("src/data/file", "content");
    directory("src/data/sub");
    file("src/list", "a list");
    directory("rootfs");
    check_call(::chmod(path().c_str(), 0755), "chmod"); // a container's own root has to get to its rootfs
}

Sandbox::~Sandbox()
{
    container_.reset();
    Mounts mounts = read_mounts();
    std::reverse(mounts.begin(), mounts.end());
    for (const Mount &mount : mounts) {
        if (is_below(mount.point, path()))
            ::umount2(mount.point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
    }
}

void Sandbox::start(const Creation &how)
{
    if (!started_) {
        sentinel_ = snapshot(outside());
        sources_ = snapshot(src());
        host_mounts_ = read_mounts();
    }
    started_ = true;
    container_root_ = how.pivots ? "" : rootfs();
    container_.reset();
    container_.emplace(rootfs(), how);
}

Work Sandbox::committing(const Edits &edits, pid_t pid, const Conditions &conditions) const
{
    return [this, edits, pid, conditions] {
        if (conditions.first)
            conditions.first();
        set_up_process();
        limit_capabilities(conditions.capabilities);
        std::string text;
        if (edits.empty())
            return text;
        block_end_signals();
        const TimeLimit limit(conditions.limit);
        ContainerView view({pid, rootfs()});
        Progress progress{Cancellation(&limit)};
        ogh::commit(edits, std::move(view), progress);
        for (const Note &note : progress.notes)
            text += note.text + "\n";
        return text;
    };
}

Outcome Sandbox::commit(const Edits &edits, const Conditions &conditions) const
{
    return in_child(committing(edits, container_->pid(), conditions));
}

Edits Sandbox::data_at(const std::vector<std::string> &places, bool read_only) const
{
    Edits edits;
    for (const std::string &place : places)
        edits.mounts.push_back({src("data"), place, Kind::Directory, read_only});
    return edits;
}

Edits Sandbox::list_at(const std::string &place) const
{
    return {{{src("list"), place, Kind::File, true}}};
}

std::string Sandbox::inside_name(const std::string &mount_point) const
{
    return is_below(mount_point, container_root_) ? mount_point.substr(container_root_.size())
                                                  : "not in the root: " + mount_point;
}

Lines Sandbox::places() const
{
    Lines places;
    for (const Mount &mount : container_->added())
        places.push_back(inside_name(mount.point));
    return places;
}

void Sandbox::check_nothing_escaped() const
{
    BOOST_TEST(differences(sentinel_, snapshot(outside())) == Lines(), boost::test_tools::per_element());
    if (!sources_.empty())
        BOOST_TEST(differences(sources_, snapshot(src())) == Lines(), boost::test_tools::per_element());
    const Mounts now = read_mounts();
    BOOST_TEST(now == less_removed(host_mounts_, now), boost::test_tools::per_element());
    if (!container_ || !container_->is_alive())
        return;
    for (const Mount &mount : container_->added())
        BOOST_TEST(is_below(mount.point, container_root_), mount);
}

void Sandbox::teardown() const
{
    if (started_)
        check_nothing_escaped();
}

boost::test_tools::assertion_result done(const Outcome &outcome)
{
    boost::test_tools::assertion_result result(outcome.code == 0);
    result.message() << "it ended with " << outcome;
    return result;
}

boost::test_tools::assertion_result refused(const Outcome &outcome, const std::string &words, ErrorKind kind)
{
    const bool one_line = std::none_of(outcome.text.begin(), outcome.text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    boost::test_tools::assertion_result result(outcome.code == static_cast<int>(exit_status(kind)) &&
                                               one_line && outcome.text.find(words) != std::string::npos);
    result.message() << "it ended with " << outcome << ", not with " << static_cast<int>(exit_status(kind))
                     << " and one line with '" << words << "'";
    return result;
}

} // namespace ogh::test
