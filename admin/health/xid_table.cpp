// SPDX-License-Identifier: Apache-2.0
#include "health/xid_table.h"

#include <algorithm>
#include <array>

namespace ogh::admin {

namespace {

constexpr const char *day = "2026-11-25";

// Where they stand:
//   catalogue   docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, "Resolution Bucket (Immediate Action)"
//   NVSentinel  github.com/NVIDIA/NVSentinel, xiderrorsmapping.csv
//   plugin      github.com/NVIDIA/k8s-device-plugin, internal/rm/health.go, of 2026-08-19: it takes every Xid but these for
//               the end of the GPU
// An Xid drains where the catalogue wants the GPU reset or the host rebooted, but for 109, which a hanging program makes and
// the plugin passes over, and 155. Where the catalogue and NVSentinel differ the catalogue counts, which is the newer one.
constexpr std::array table{
    XidRow{13, false, "exception of the graphics engine", "RESTART_APP", "RESTART_APP", true, day},
    XidRow{31, false, "page fault of the GPU", "RESTART_APP", "RESTART_APP", true, day},
    XidRow{43, false, "a program's fault stopped it", "IGNORE", "IGNORE", true, day},
    XidRow{45, false, "a program was torn down", "WORKFLOW_XID_45", "WORKFLOW_XID_45", true, day},
    XidRow{46, true, "the GPU stopped processing", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{48, true, "uncorrectable memory error", "WORKFLOW_XID_48", "WORKFLOW_XID_48", false, day},
    XidRow{61, false, "breakpoint of the microcontroller", "CONTACT_SUPPORT", "UNEXPECTED_ERR_REPORT_ISSUE",
           false, day},
    XidRow{62, true, "the microcontroller halted", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{63, false, "memory was remapped", "IGNORE", "IGNORE", false, day},
    XidRow{64, true, "memory could not be remapped", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{68, false, "exception of the video decoder", "RESTART_APP", "RESTART_APP", true, day},
    // The other end of the link may be the one that failed.
    XidRow{74, false, "error of an NVLink", "WORKFLOW_NVLINK_ERR", "WORKFLOW_NVLINK_ERR", false, day},
    XidRow{79, true, "the GPU has fallen off the bus", "RESTART_BM", "RESTART_BM", false, day},
    XidRow{92, false, "many corrected memory errors", "IGNORE", "IGNORE", false, day},
    XidRow{94, false, "contained memory error", "RESTART_APP", "RESTART_APP", false, day},
    XidRow{95, true, "uncontained memory error", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{109, false, "context switch timed out", "RESET_GPU", "RESET_GPU", true, day},
    XidRow{110, true, "security fault", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{119, true, "the GSP does not answer", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{120, true, "error of the GSP", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{121, false, "corrected error of the link to the CPU", "IGNORE", "IGNORE", false, day},
    XidRow{136, true, "training of a link failed", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{140, true, "unrecovered memory error", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{143, true, "initialization failed", "RESET_GPU", "RESET_GPU", false, day},
    // "Link down events which are flagged as intentional (including transitions to SLEEP) will trigger this Xid", says the
    // catalogue of it: a suspend would drain all GPUs.
    XidRow{155, false, "an NVLink went down", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{156, true, "a resource was retired", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{158, true, "fatal timeout", "RESET_GPU", "RESET_GPU", false, day},
    XidRow{160, false, "a channel was retired", "IGNORE", "RESTART_BM", false, day},
    // "Power Smoothing HW Circuitry capability reengaged", which is good news.
    XidRow{162, false, "power smoothing works again", "-", "RESET_GPU", false, day},
};

// nvml.h, nvmlDeviceGpuRecoveryAction_t; looked up on 2026-11-25. In the log 1 was "GPU Reset Required" and is "PF FLR" of
// late, 2 "Node Reboot Required" and "OS Reboot": the number decides.
constexpr std::array actions{
    RecoveryAction{0, false, "none"},
    RecoveryAction{1, true, "reset the GPU"},
    RecoveryAction{2, true, "reboot"},
    RecoveryAction{3, false, "drain peer-to-peer traffic"},
    RecoveryAction{4, true, "drain and reset the GPU"},
    RecoveryAction{5, false, "recover the IMEX domain"}, // the GPU itself is well
    RecoveryAction{6, true, "reset the GPU's bus"},
    RecoveryAction{7, true, "reboot the system"},
};

} // namespace

const XidRow *find_xid(unsigned xid)
{
    const auto *const found =
        std::find_if(table.begin(), table.end(), [&](const XidRow &row) { return row.xid == xid; });
    return found == table.end() ? nullptr : found;
}

const RecoveryAction *find_recovery_action(unsigned value)
{
    return value < actions.size() ? &actions.at(value) : nullptr;
}

} // namespace ogh::admin
