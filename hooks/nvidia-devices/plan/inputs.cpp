// SPDX-License-Identifier: Apache-2.0
#include "nvidia-devices/plan/inputs.h"

#include "nvidia-devices/plan/plan.h"

namespace ogh::nvidia_devices {

Edits NvidiaInputs::plan(Notes &notes) const
{
    check_requirements(requirements, inventory.version.value_or(""), notes);
    Edits edits = nvidia_devices::plan(selection, inventory, nodes, notes);
    plan_driver_tree(tree, image, edits, notes);
    return edits;
}

} // namespace ogh::nvidia_devices
