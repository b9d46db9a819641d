// SPDX-License-Identifier: Apache-2.0
#include "container/commit.h"

#include <array>
#include <utility>

#include "container/entered_container.h"
#include "container/entry_steps.h"
#include "container/host_sources.h"
#include "container/proc_binds.h"

namespace ogh {

namespace {

/**
 * One kind of effect. It puts on the undo log what it has done, as it does it, and asks before each of its parts whether
 * the run has been told to end.
 */
using Step = void (*)(const Edits &, EnteredContainer &);

/** The order in which a container is changed. */
constexpr std::array<Step, 9> steps = {
    allow_devices, // The likeliest to be refused, and nothing has been made in the container by then.
    attach_mounts,
    put_nodes,
    put_tree,
    make_links, // They lead into the tree.
    bind_proc,
    bind_files,
    replace_files,
    allow_devices_in_scope, // The last: it cannot be undone, and cannot fail.
};

} // namespace

void commit(const Edits &edits, ContainerView &&view, Progress &progress)
{
    progress.cancellation.check("opening what the container is to be given");
    HostSources sources = open_host_sources(edits, view);
    progress.cancellation.check("entering the container");
    EnteredContainer container(std::move(view), std::move(sources), progress);
    container.note(std::move(container.sources().notes));
    try {
        for (const Step step : steps)
            step(edits, container);
    } catch (...) {
        progress.undo.run(); // while there is what the log refers to
        throw;
    }
    progress.undo.drop();
}

} // namespace ogh
