// SPDX-License-Identifier: Apache-2.0
#include "host/sysroot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace ogh {

namespace {

constexpr int max_symlinks = 40; // the kernel's own limit, path_resolution(7)

/** Components still to walk, the next one last, so that a symlink's target can be put in front of the rest. */
using Pending = std::vector<std::string>;

void push_components(Pending &pending, std::string_view path)
{
    std::vector<std::string> parts;
    while (!path.empty()) {
        const std::string_view part = next_part(path, '/');
        if (!part.empty() && part != ".")
            parts.emplace_back(part);
    }
    pending.insert(pending.end(), parts.rbegin(), parts.rend());
}

bool is_link(int fd, std::string_view path)
{
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        throw SystemError(errno, "cannot look at " + quote(path));
    return S_ISLNK(status.st_mode);
}

/** As a directory first: what autofs mounts there when somebody needs it is mounted then, and not by O_PATH alone. */
UniqueFd open_component(int dir, const std::string &name)
{
    constexpr int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd directory(::openat(dir, name.c_str(), flags | O_DIRECTORY));
    return directory.valid() || errno != ENOTDIR ? std::move(directory)
                                                 : UniqueFd(::openat(dir, name.c_str(), flags));
}

/** The way walked so far: a descriptor for each directory from the root down, so that `..` needs no lookup. */
class Way final {
public:
    explicit Way(int root) : root_(root) {}

    [[nodiscard]] int here() const { return steps_.empty() ? root_ : steps_.back().fd.get(); }

    void to_root() { steps_.clear(); }

    void up()
    {
        if (!steps_.empty())
            steps_.pop_back();
    }

    void down(std::string name, UniqueFd fd) { steps_.push_back({std::move(name), std::move(fd)}); }

    [[nodiscard]] ResolvedPath finish()
    {
        std::string path;
        for (const Step &step : steps_)
            path += "/" + step.name;
        if (steps_.empty())
            return {"/", UniqueFd(::fcntl(root_, F_DUPFD_CLOEXEC, 0))};
        return {path, std::move(steps_.back().fd)};
    }

private:
    struct Step {
        std::string name;
        UniqueFd fd;
    };
    int root_;
    std::vector<Step> steps_;
};

std::optional<ResolvedPath> walk(int root, std::string_view path, const Sysroot::Guard &guard)
{
    Way way(root);
    Pending pending;
    push_components(pending, path);
    for (int links = 0; !pending.empty();) {
        const std::string name = std::move(pending.back());
        pending.pop_back();
        if (guard)
            guard(way.here());
        if (name == "..") {
            way.up();
            continue;
        }
        UniqueFd next = open_component(way.here(), name);
        if (!next.valid() && errno == ENOENT)
            return std::nullopt;
        if (!next.valid())
            throw SystemError(errno, "cannot open " + quote(path));
        if (!is_link(next.get(), path)) {
            way.down(name, std::move(next));
            continue;
        }
        if (guard)
            guard(next.get());
        if (++links > max_symlinks)
            throw SystemError(ELOOP, "cannot open " + quote(path));
        const std::string target = read_link(next.get(), "", quote(path));
        if (target.starts_with('/'))
            way.to_root();
        push_components(pending, target);
    }
    return way.finish();
}

} // namespace

Sysroot::Sysroot(const std::string &path)
{
    UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid())
        throw SystemError(errno, "cannot open '/'", ErrorKind::BrokenHost);
    if (!path.starts_with('/'))
        throw Error(ErrorKind::Usage, "--sysroot needs an absolute path, not " + quote(path));
    auto found = walk(root.get(), path, {});
    struct stat status {};
    if (!found || ::fstat(found->fd.get(), &status) != 0 || !S_ISDIR(status.st_mode))
        throw Error(ErrorKind::BrokenHost, "--sysroot " + quote(path) + " is no directory of this host");
    path_ = found->path == "/" ? "" : found->path;
    fd_ = std::move(found->fd);
}

std::optional<ResolvedPath> Sysroot::find(std::string_view path, const Guard &guard) const
{
    return walk(fd_.get(), path, guard);
}

std::string Sysroot::on_host(const std::string &path) const
{
    return path == "/" && !path_.empty() ? path_ : path_ + path;
}

} // namespace ogh
