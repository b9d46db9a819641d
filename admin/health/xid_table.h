// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ogh::admin {

/** What an Xid alone, which is what NVIDIA's driver calls an error of a GPU, says of the GPU. */
struct XidRow {
    unsigned xid;
    bool drains;             ///< if it is true, the GPU is of no use until it is reset, or worse
    const char *what;        ///< for people
    const char *catalogue;   ///< the immediate action of NVIDIA's Xid catalogue; "-": it has none
    const char *nvsentinel;  ///< the same of the table of NVIDIA's NVSentinel
    bool plugin_passes_over; ///< NVIDIA's device plugin goes on giving the GPU
    const char *checked;     ///< when these three were looked up
};

/** @return nullptr for one that the table does not have: it is reported */
const XidRow *find_xid(unsigned xid);

/** The one that says what the driver wants done about the others: "GPU recovery action changed from … to …". */
constexpr unsigned xid_recovery_action = 154;

/** A value of Xid 154, which is one of nvmlDeviceGpuRecoveryAction_t. */
struct RecoveryAction {
    unsigned value;
    bool drains;      ///< as of XidRow
    const char *what; ///< NVML's words; the driver's own differ from branch to branch
};

/** @return nullptr for one that there was not when this was written: it is reported */
const RecoveryAction *find_recovery_action(unsigned value);

} // namespace ogh::admin
