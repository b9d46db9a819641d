# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced after lib.sh, by tests on a machine with SELinux. Debian's policy has no domain for containers. The one
# for virtual machines has all that is needed here: a type for processes, and one for the files that they own.
#
# shellcheck disable=SC2016,SC2154 # the dollars in single quotes are jq's; the variables are those of lib.sh

process_label=system_u:system_r:svirt_t:s0:c1,c2
mount_label=system_u:object_r:svirt_image_t:s0:c1,c2
labelled=(/srv/datasets /srv/datasets/words /srv/datasets/below /srv/datasets/below/words /srv/results_writable)

# The kernel would drop messages about denials that come in numbers.
sysctl --quiet --write kernel.printk_ratelimit=0
# Another label than the folder's parent has.
chcon --recursive --type public_content_t /srv/datasets

# labels [ROOT] : the label of each path, below /proc/PID/root for those that a container finds.
labels() {
    local path
    for path in "${labelled[@]}"; do
        echo "$path $(getfattr --only-values --name security.selinux "${1:-}$path" 2>/dev/null | tr -d '\0')"
    done
}

# expect_labels BEFORE : the host's folders have the labels that they had, and the container of $pid finds the same.
expect_labels() {
    expect 'labels on the host' "$1" <(labels)
    expect 'labels in the container' "$1" <(labels "/proc/$pid/root")
}

# ask_for_labels : as an engine does for a confined container.
ask_for_labels() {
    edit --arg process "$process_label" --arg mount "$mount_label" \
        '.process.selinuxLabel = $process | .linux.mountLabel = $mount'
}

# The container's own filesystems bear its label.
expect_mount_label() {
    grep -F "context=\"$mount_label\"" "/proc/$pid/mountinfo" >"$output"
    grep ' /dev ' "$output"
}

# The kernel enforces nothing, but it says what it would have denied.
expect_no_denial_of_the_hook() {
    if dmesg | grep 'avc: .*comm="\(mount-srv\|ldcache-update\)"'; then
        fail 'the hook did what the policy denies'
    fi
}
