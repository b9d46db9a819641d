// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <linux/capability.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "../support/temp_directory.h"
#include "base/error.h"
#include "created_container.h"
#include "edits/edits.h"
#include "snapshot.h"

namespace ogh::test {

/** What is different from how the hook calls commit(). */
struct Conditions {
    std::vector<unsigned> capabilities = {CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE, CAP_DAC_OVERRIDE,
                                          CAP_SETUID,    CAP_SETGID,     CAP_CHOWN};
    std::function<void()> first = {}; ///< done before anything else in the process that applies
    std::chrono::milliseconds limit{60000};
};

/**
 * A host in a directory: `outside` is what must never change, `src` has a directory `data` and a plain file `list` to
 * hand out, `rootfs` is the image. At the end of each test the first two must be as they were when the container was
 * started, down to the times, the host's mount table too, and everything mounted must be below the rootfs.
 */
class Sandbox : public TempDirectory {
public:
    Sandbox();
    Sandbox(const Sandbox &) = delete;
    Sandbox &operator=(const Sandbox &) = delete;
    ~Sandbox();

    /** Called by Boost.Test after each test. */
    void teardown() const;

    [[nodiscard]] std::string outside(const std::string &name = "") const { return below("outside", name); }
    [[nodiscard]] std::string src(const std::string &name = "") const { return below("src", name); }
    [[nodiscard]] std::string rootfs(const std::string &name = "") const { return below("rootfs", name); }

    /** Makes the container, or another one in its stead. */
    void start(const Creation &how = {});

    [[nodiscard]] CreatedContainer &container() { return *container_; }

    /** Calls commit() as the hook does, in a process of its own. */
    [[nodiscard]] Outcome commit(const Edits &edits, const Conditions &conditions = {}) const;

    /** What that process does, for those who run it in another way. */
    [[nodiscard]] Work committing(const Edits &edits, pid_t pid, const Conditions &conditions = {}) const;

    /** `src/data` at each of the places. */
    [[nodiscard]] Edits data_at(const std::vector<std::string> &places, bool read_only = true) const;

    /** `src/list`, a plain file. */
    [[nodiscard]] Edits list_at(const std::string &place) const;

    /** Where something has been mounted since the start, in order, as the container names it. */
    [[nodiscard]] Lines places() const;

    /** Every name in the rootfs on the host, with type, mode and owner. */
    [[nodiscard]] Lines image() const { return snapshot(rootfs(), Detail::WithoutTimes); }

    /** Checks at once what is checked at the end. */
    void check_nothing_escaped() const;

    /** From now on `src` may be written to. */
    void sources_may_change() { sources_.clear(); }

private:
    [[nodiscard]] std::string below(const char *directory, const std::string &name) const
    {
        return path(name.empty() ? directory : std::string(directory) + "/" + name);
    }
    [[nodiscard]] std::string inside_name(const std::string &mount_point) const;

    Lines sentinel_;
    Lines sources_;
    Mounts host_mounts_;
    std::optional<CreatedContainer> container_;
    std::string container_root_; ///< as init names it: the rootfs, or "" once it has pivoted
    bool started_ = false;
};

/** Whether commit() did what was asked. */
boost::test_tools::assertion_result done(const Outcome &outcome);

/** Whether commit() refused with this code and one clear line that contains `words`. */
boost::test_tools::assertion_result refused(const Outcome &outcome, const std::string &words,
                                            ErrorKind kind = ErrorKind::Failure);

} // namespace ogh::test
