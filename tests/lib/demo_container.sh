# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced with $scratch set: containers of the demo, one after the other. A show says what the container shall
# try, runs it, and looks at what came of it:
#
#   attempt list 'ls /srv'
#   run_container "io.oci-gpu-hooks.mount-srv=all"
#   said list; succeeded list

. tests/lib/demo.sh

# Further arguments of hooks, as a host adds them to the files of oci-hooks.d: HOOK:ARGUMENT.
hook_arguments=()
# A folder of files that the image has besides busybox.
image=''
# Further options of demo_bundle.
bundle_options=()

attempts=()
container=''
runc_status=0
runc_pid=''
runc_command=(runc --root "${scratch:?}/runc" --log "$scratch/runc.log")

# attempt NAME COMMAND : what the next container shall try; its shell runs it.
attempt() {
    attempts+=("$1" "$2")
}

container_script() {
    local at
    echo 'mkdir /results'
    for ((at = 0; at < ${#attempts[@]}; at += 2)); do
        printf '(\n%s\n) >/results/%s.said 2>&1\n' "${attempts[at + 1]}" "${attempts[at]}"
        # shellcheck disable=SC2016 # the container's shell
        printf 'echo $? >/results/%s.status\n' "${attempts[at]}"
    done
}

# run_container [ANNOTATION=VALUE…] : a new container, in which the attempts are made. It starts or it does not:
# runc_status, and runc's words in $container/err.
run_container() {
    local id
    id=$(tr -d '-' </proc/sys/kernel/random/uuid)
    container=$scratch/$id
    # Python would answer an interrupt with a traceback; it takes a moment only.
    (
        trap '' INT
        tests/lib/demo_bundle --hooks build/static --times "$container.times" \
            "${hook_arguments[@]/#/--append=}" ${image:+--image "$image"} "${bundle_options[@]}" \
            "${@/#/--annotation=}" "$container" "$(container_script)"
    )
    attempts=()
    # In the background, so that an interrupt is noticed at once.
    "${runc_command[@]}" run --bundle "$container" "$id" </dev/null >"$container/out" 2>"$container/err" &
    runc_pid=$!
    runc_status=0
    wait "$runc_pid" || runc_status=$?
    runc_pid=''
}

# To be called at the end, however it comes: takes down a container that is still there.
remove_container() {
    # A second Ctrl-C is not to stop this halfway.
    trap '' INT TERM HUP
    [ -n "$runc_pid" ] || return 0
    # Most likely it ends by itself; runc is better not killed while it sets a container up.
    timeout 5 tail -s 0.1 --pid="$runc_pid" -f /dev/null || true
    "${runc_command[@]}" delete --force "$(basename "$container")" || true
    kill -KILL "$runc_pid" 2>/dev/null || true
}

# What the container's attempt of this name printed, and whether it succeeded.
said() {
    cat "$container/rootfs/results/$1.said" 2>/dev/null
}

succeeded() {
    [ "$(cat "$container/rootfs/results/$1.status" 2>/dev/null)" = 0 ]
}

# said_exactly NAME TEXT : the attempt succeeded, and this is what it printed.
said_exactly() {
    succeeded "$1" && [ "$(said "$1")" = "$2" ]
}

# failed_with NAME TEXT : the attempt was made and failed, and its message has this in it.
failed_with() {
    [ -f "$container/rootfs/results/$1.status" ] && ! succeeded "$1" && [[ $(said "$1") == *"$2"* ]]
}

# Why an attempt failed, without what the shell says before.
reason() {
    said "$1" | sed 's/.*: //' | tail -n 1
}

no_program_ran() {
    [ "$runc_status" -ne 0 ] && [ ! -e "$container/rootfs/results" ]
}

# The message of the hook that stopped the container, as runc passes it on.
hook_message() {
    sed -n 's/.*stderr: //p' "$container/err"
}

# promise_start : a row that says whether the container ran; fails if it did not, then the rest cannot be shown.
promise_start() {
    if [ "$runc_status" -eq 0 ]; then
        return 0
    fi
    row broken starts 'its program' "runc ended with $runc_status and says"
    quotation "$(<"$container/err")"
    return 1
}

# note_times : how long the hooks of the last container took.
note_times() {
    local hook milliseconds
    [ -f "$container.times" ] || return 0
    while read -r hook milliseconds; do
        note took "$milliseconds ms" "$hook, from the start of its process to its end"
    done <"$container.times"
}
