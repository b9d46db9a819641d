// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "inventory.h"
#include "selection.h"

namespace ogh::amd_kfd {

/** The text of --list: a line for each GPU, in the order of Inventory::gpus, below a head. Pure. */
std::string list_gpus(const Inventory &inventory, const SelectionPolicy &policy);

} // namespace ogh::amd_kfd
