# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced by the tests, which run as root, alone on the machine, after `prepare`:
#
#   new_bundle runc
#   ask all
#   in_container /look
#   expect 'what the container finds' "$directories_found"
#
# shellcheck disable=SC2016 # the dollars in single quotes are jq's
set -euo pipefail

guest=/run/vm/guest
# On the disk: the kernel opens no device node on /run.
shared=/var/lib/vm/shared
bundle=/var/lib/vm/bundle
# Written by in_container and in_podman.
output=/run/vm/output

hook_file=/usr/share/containers/oci/hooks.d/10-mount-srv.json
ldcache_hook_file=/usr/share/containers/oci/hooks.d/90-ldcache-update.json
nvidia_hook_file=/usr/share/containers/oci/hooks.d/20-nvidia-devices.json
nvidia_key=io.oci-gpu-hooks.nvidia-devices
key=io.oci-gpu-hooks.mount-srv
image=small
# The host's user that is root in a container with a user namespace.
first_id=100000

fail() {
    echo "$*" >&2
    return 1
}

# expect WHAT TEXT [FILE] : FILE (what the container printed) has this text and no other.
expect() {
    diff -u --label expected --label "$1" <(printf '%s\n' "$2") "${3:-$output}"
}

# look_at HOST FILE : as the policy of this machine, the hook of this file looks there.
look_at() {
    gojq --arg host "$1" '.hook.args += ["--sysroot", $host]' "$2" >"$shared/hook.json"
    mv "$shared/hook.json" "$2"
}

# new_rootfs DIRECTORY : a small image, with the scripts of `inside` and device nodes that no driver answers for: two for
# the rules of new_bundle, and the first GPU's.
new_rootfs() {
    cp -a "$shared/rootfs" "$1"
    mknod -m 666 "$1/allowed" c 240 1
    mknod -m 666 "$1/denied" c 240 2
    mknod -m 666 "$1/first_gpu" c 195 1
    cp "$guest"/inside/* "$1"
}

# new_bundle RUNTIME : a container that has the hook as an engine would add it, and may use one of the nodes.
new_bundle() {
    runtime=$1
    rm -rf "$bundle"
    mkdir -p "$bundle"
    new_rootfs "$bundle/rootfs"
    cp "$shared/$runtime.json" "$bundle/config.json"
    edit --slurpfile file "$hook_file" \
        '.process.terminal = false | .root.readonly = false | .hooks.createRuntime = [$file[0].hook]
         | .linux.resources.devices += [{allow: true, type: "c", major: 240, minor: 1, access: "rwm"}]'
}

# add_libraries : the image gets a library in /opt/lib, which the loader's cache is to know, by the hook for that.
add_libraries() {
    mkdir -p "$bundle/rootfs"/{lib64,opt/lib}
    cp /lib64/ld-linux-x86-64.so.2 "$bundle/rootfs/lib64"
    cp "$(realpath /lib/x86_64-linux-gnu/libz.so.1)" "$bundle/rootfs/opt/lib/libz.so.1"
    cp /sbin/ldconfig "$bundle/rootfs"
    edit --slurpfile file "$ldcache_hook_file" '.hooks.createRuntime += [$file[0].hook]
         | .annotations["io.oci-gpu-hooks.ldcache-update"] = "/opt/lib"'
}

# ask_for_gpu VALUE [KEY FILE] : NVIDIA's GPUs of the host that `prepare` has made up or, with another's key and hook,
# that one's.
ask_for_gpu() {
    edit --slurpfile file "${3:-$nvidia_hook_file}" --arg key "${2:-$nvidia_key}" --arg value "$1" \
        '.hooks.createRuntime = [$file[0].hook] | .annotations[$key] = $value
         | .mounts += ["/proc/driver", "/proc/driver/nvidia" | {destination: ., type: "tmpfs", source: "tmpfs"}]'
}

# edit [JQ OPTION…] FILTER [JQ OPTION…] : changes config.json.
edit() {
    gojq "$@" <"$bundle/config.json" >"$bundle/config.json.new"
    mv "$bundle/config.json.new" "$bundle/config.json"
}

# ask VALUE : what the container asks for.
ask() {
    edit --arg key "$key" --arg value "$1" '.annotations[$key] = $value'
}

# add_hook_options OPTION… : what the host has written into the hook's file.
add_hook_options() {
    edit '.hooks.createRuntime[].args += $ARGS.positional' --args -- "$@"
}

# add_user_namespace : with CAP_SYS_ADMIN in it, as engines give it for --cap-add or --privileged.
add_user_namespace() {
    edit --argjson first "$first_id" \
        '.linux.namespaces += [{type: "user"}]
         | .linux.uidMappings = [{containerID: 0, hostID: $first, size: 65536}]
         | .linux.gidMappings = .linux.uidMappings
         | .process.capabilities[] += ["CAP_SYS_ADMIN"]'
    chown -R --no-dereference "$first_id:$first_id" "$bundle/rootfs"
}

# in_container COMMAND… : runs the bundle to its end. What the command and the runtime print is in $output, and is
# shown if the container fails.
in_container() {
    edit '.process.args = $ARGS.positional' --args -- "$@"
    run_to_end "$runtime" run --bundle "$bundle" "test-$$"
}

# start_container COMMAND… : leaves the container running; $pid is its first process.
start_container() {
    edit '.process.args = $ARGS.positional' --args -- "$@"
    run_to_end "$runtime" run --detach --pid-file "$bundle/pid" --bundle "$bundle" "test-$$"
    # shellcheck disable=SC2034 # for the tests
    pid=$(cat "$bundle/pid")
    trap 'remove_container' EXIT
}

remove_container() {
    "$runtime" delete --force "test-$$"
}

# in_podman [OPTION…] -- COMMAND… : the same as in_container, but by podman, and from an image.
in_podman() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    podman image exists "$image" || new_image
    run_to_end podman --runtime crun run --rm --network none "${options[@]}" "$image" "$@"
}

new_image() {
    rm -rf "$bundle"
    mkdir -p "$bundle"
    new_rootfs "$bundle/rootfs"
    tar -C "$bundle/rootfs" -c . | podman import --quiet - "$image" >/dev/null
}

run_to_end() {
    local status=0
    "$@" >"$output" 2>&1 </dev/null || status=$?
    [ "$status" -eq 0 ] || cat "$output"
    return "$status"
}

# What /look prints in a container that asked for everything.
# shellcheck disable=SC2034 # for the tests
directories_found='words of datasets
words from below
words of results
file in /srv/datasets: Read-only file system
file in /srv/datasets/below: Read-only file system
file in /srv/results_writable: done
/srv/datasets ro,nosuid,nodev,relatime ext4
/srv/datasets/below ro,nosuid,nodev,relatime tmpfs
/srv/results_writable rw,nosuid,nodev,relatime ext4'

# What the container says of its loader's cache under a read-only root, after add_libraries.
# shellcheck disable=SC2034 # for the tests
try_cache='. /try.sh; /ldconfig -p | sed -n "s/ *(.*=>//p"; try "write the cache" touch /etc/ld.so.cache'
# shellcheck disable=SC2034 # for the tests
cache_found='	libz.so.1 /opt/lib/libz.so.1
write the cache: Read-only file system'

# What /devices prints where the device rules of new_bundle are in effect.
# shellcheck disable=SC2034 # for the tests
rules_in_force='/allowed: No such device or address
/denied: Operation not permitted'

# What /nodes prints in a container that asked for the second GPU.
# shellcheck disable=SC2034 # for the tests
second_gpu_works='nvidia0: No such device or address
nvidiactl: No such device or address
nvidia-uvm: No such device or address
the first GPU: Operation not permitted'

# What /unlock prints where nothing can be unlocked.
# shellcheck disable=SC2034 # for the tests
nothing_unlocked='own mount, writable: done
own mount, unmounted: done
/srv/datasets, writable: permission denied (are you root?)
/srv/datasets/below, writable: permission denied (are you root?)
/srv/datasets, setuid files: permission denied (are you root?)
/srv/datasets, device nodes: permission denied (are you root?)
/srv/datasets/below, setuid files: permission denied (are you root?)
/srv/datasets/below, device nodes: permission denied (are you root?)
/srv/results_writable, setuid files: permission denied (are you root?)
/srv/results_writable, device nodes: permission denied (are you root?)
bound without what is below: Invalid argument
unmounted below: Invalid argument
unmounted below, lazily: Invalid argument
moved from below: Invalid argument'
