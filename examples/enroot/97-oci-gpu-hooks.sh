#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# For enroot's directory hooks.d: gives a container that asks for GPUs those that its user may open, and the files of their
# driver, as nvidia-devices plans them. In a job of Slurm's these are the job's. It comes before 98-nvidia.sh, and has that
# one do nothing. All of it runs with the rights of the user.
set -euo pipefail

hook=/usr/local/libexec/oci/hooks.d/nvidia-devices
tree=/usr/local/nvidia
made=$ENROOT_RUNTIME_PATH/oci-gpu-hooks # gone with the container

die() {
    echo "97-oci-gpu-hooks.sh: $*" >&2
    exit 1
}

# variable NAME : its last value in the environment that the container is to have
variable() {
    awk -v name="$1=" 'index($0, name) == 1 { value = substr($0, length(name) + 1) } END { print value }' "$ENROOT_ENVIRON"
}

# of_plan FILTER : what jq makes of the plan; annotation NAME there is a list of objects.
of_plan() {
    jq -r "def annotation(name): .annotations[\"io.oci-gpu-hooks/\" + name] // \"[]\" | fromjson | .[];
           .devices[] | $1" <<<"$plan"
}

# Each is made where nobody else can be: on the way to a path in the image there may be symlinks to anywhere.
make_tree() {
    local path target
    of_plan '.containerEdits.mounts[]? | .containerPath' | while read -r path; do
        [[ $path != "$tree"/* ]] || install -D -m 644 /dev/null "$made${path#"$tree"}"
    done
    of_plan 'annotation("files") | [.path, (.content | @base64)] | @tsv' | while read -r path content; do
        [[ $path != "$tree"/* ]] || base64 -d <<<"$content" | install -D -m 644 /dev/stdin "$made${path#"$tree"}"
    done
    of_plan 'annotation("links") | [.path, .target] | @tsv' | while read -r path target; do
        [[ $path != "$tree"/* ]] || ln -s "$target" "$made${path#"$tree"}"
    done
}

# The lines of an fstab; what the image has of its own stays.
mounts() {
    local source path target
    echo "$made $tree none x-create=dir,bind,ro,nosuid,nodev,private"
    of_plan '.containerEdits.mounts[]? | [.hostPath, .containerPath] | @tsv' | while read -r source path; do
        [[ $path != "$tree"/* ]] || [ -d "$source" ] || echo "$source $path none bind,ro,nosuid,nodev,private"
    done
    of_plan '.containerEdits.deviceNodes[]? | [.hostPath, .path] | @tsv' | while read -r source path; do
        echo "$source $path none x-create=file,bind,rw,nosuid,noexec,private"
    done
    of_plan 'annotation("links") | [.path, .target] | @tsv' | while read -r path target; do
        if [[ $path != "$tree"/* && $target == "$tree"/* && ! -e $ENROOT_ROOTFS$path && -f $made${target#"$tree"} ]]; then
            source=$(of_plan ".containerEdits.mounts[]? | select(.containerPath == \"$target\") | .hostPath")
            echo "${source:-$made${target#"$tree"}} $path none x-create=file,bind,ro,nosuid,nodev,private"
        fi
    done
}

# The loader's cache of the image, by the host's ldconfig, which can leave the image's root no more than a program in it.
update_loader() {
    if ! "$(PATH=$PATH:/usr/sbin:/sbin command -v ldconfig.real || PATH=$PATH:/usr/sbin:/sbin command -v ldconfig)" \
        -r "$ENROOT_ROOTFS" "$tree/lib64" 2>/dev/null; then
        echo "LD_LIBRARY_PATH=$tree/lib64:$(variable LD_LIBRARY_PATH)" >>"$ENROOT_ENVIRON"
    fi
}

case $(variable NVIDIA_VISIBLE_DEVICES) in
'' | void | none) exit 0 ;;
esac
# 98-nvidia.sh believes the user's own environment before the container's.
if [ -x "$ENROOT_SYSCONF_PATH/hooks.d/98-nvidia.sh" ] && [ "${NVIDIA_VISIBLE_DEVICES-void}" != void ]; then
    die 'NVIDIA_VISIBLE_DEVICES is set in your own environment: unset it, and give it to the container by --env'
fi
capabilities=$(variable NVIDIA_DRIVER_CAPABILITIES)
plan=$("$hook" --plan --request allowed ${capabilities:+--capabilities "$capabilities"} </dev/null)
make_tree
mounts | enroot-mount --root "$ENROOT_ROOTFS" -
update_loader
{
    echo "PATH=$(variable PATH):$tree/bin"
    echo NVIDIA_VISIBLE_DEVICES=void # 98-nvidia.sh has nothing to do
} >>"$ENROOT_ENVIRON"
