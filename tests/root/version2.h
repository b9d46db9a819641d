// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/log.h"
#include "cgroup_host.h"

namespace ogh::test {

/** How a program is attached. */
struct Way {
    const char *name;
    std::uint32_t flags;
    bool by_link;
};

inline std::ostream &operator<<(std::ostream &out, const Way &way)
{
    return out << way.name;
}

inline const std::vector<Way> ways = {{"multi", BPF_F_ALLOW_MULTI, false},
                                      {"override", BPF_F_ALLOW_OVERRIDE, false},
                                      {"the oldest way", 0, false},
                                      {"link", 0, true}};

/** A container in the test's own cgroup. */
struct Version2 : CgroupHost {
    const std::string own = make(Version::Two, "c1");
    const UniqueFd cgroup = open(Version::Two, own);
    const DeviceRules rules = {node(0), node(256)};

    /** Attaches the program in that way; the link, if it is one, lasts as long as what is returned. */
    [[nodiscard]] UniqueFd put(const DeviceProgram &program, const Way &way = ways[0]) const
    {
        if (way.by_link)
            return attach_by_link(cgroup.get(), program);
        attach(cgroup.get(), program, way.flags);
        return {};
    }

    [[nodiscard]] std::string answers() const { return CgroupHost::answers(Version::Two, own); }

    void start_in(const std::string &path) { start(Version::Two, path); }

    Notes allow_and_keep(const DeviceRules &wanted) const
    {
        DeviceCgroups container = this->container(own);
        UndoLog undo;
        const Notes notes = container.allow(wanted, undo);
        undo.drop();
        return notes;
    }
};

/** How many notes are above Debug. */
inline size_t loud(const Notes &notes)
{
    size_t count = 0;
    for (const Note &note : notes)
        count += note.level == LogLevel::Debug ? 0U : 1U;
    return count;
}

} // namespace ogh::test
