# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced after lib.sh, by tests on a machine with SELinux, which is enforced from here on. The types are those of
# container.cil, and of Fedora.
#
# shellcheck disable=SC2016,SC2154 # the dollars in single quotes are jq's; the variables are those of lib.sh

process_label=system_u:system_r:container_t:s0:c1,c2
mount_label=system_u:object_r:container_file_t:s0:c1,c2
labelled=(/srv/datasets /srv/datasets/words /srv/datasets/below /srv/datasets/below/words /srv/results_writable)

# The kernel would drop messages about denials that come in numbers.
sysctl --quiet --write kernel.printk_ratelimit=0
# As the manual has it; /srv/unlabelled stays as the host's policy has it.
chcon --recursive --type container_file_t /srv/datasets /srv/results_writable
# So are the images of podman there.
storage=/var/lib/containers/storage
mkdir -p "$storage"
chcon --type container_file_t "$storage"
# crun hands it down to the container, where engines have a pipe.
touch "$output"
chcon --type container_file_t "$output"
setenforce 1

# labels [ROOT] : the label of each path, below /proc/PID/root for those that a container finds.
labels() {
    local path
    for path in "${labelled[@]}"; do
        echo "$path $(getfattr --only-values --name security.selinux "${1:-}$path" 2>/dev/null | tr -d '\0')"
    done
}

# expect_labels BEFORE : the host's directories have the labels that they had, and the container of $pid finds the same.
expect_labels() {
    expect 'labels on the host' "$1" <(labels)
    expect 'labels in the container' "$1" <(labels "/proc/$pid/root")
}

# ask_for_labels : as an engine does for a confined container, whose image it has labelled.
ask_for_labels() {
    chcon --recursive "$mount_label" "$bundle/rootfs"
    edit --arg process "$process_label" --arg mount "$mount_label" \
        '.process.selinuxLabel = $process | .linux.mountLabel = $mount'
}

# The container's own filesystems bear its label.
expect_mount_label() {
    grep -F "context=\"$mount_label\"" "/proc/$pid/mountinfo" >"$output"
    grep ' /dev ' "$output"
}

expect_no_denial_of_the_hook() {
    if dmesg | grep 'avc: .*comm="\(mount-srv\|ldcache-update\|nvidia-devices\)"'; then
        fail 'the hook did what the policy denies'
    fi
}
