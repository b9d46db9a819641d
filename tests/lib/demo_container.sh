# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# shellcheck disable=SC2034 # some are for the shows
#
# To be sourced by a show, which runs as SHOW SCRATCH in a mount namespace of its own (tests/demo sees to that) and in
# the project's directory, and makes all that it needs below SCRATCH: containers, one after the other. A show says what the
# container shall try and what shall come of it, and runs it:
#
#   expect lists /srv prints notice.txt 'ls /srv'
#   expect 'may not' 'write there' fails 'Read-only file system' ': >/srv/mine'
#   show_container "io.oci-gpu-hooks.mount-srv=all"

scratch=$1
. tests/lib/demo.sh

# Further arguments of hooks, as a host adds them to the files of oci-hooks.d: HOOK:ARGUMENT.
hook_arguments=()
# Further options of demo_bundle.
bundle_options=()

# For shows with nodes whose major number no driver can have, so that nothing happens here when one is opened.
no_driver='No such device or address'
denied='Operation not permitted'
allowed='%: allowed, no driver is behind it'
read_only='Read-only file system'

expected=()
tried=()
container=''
runc_status=0
runc_pid=''
runc_command=(runc --root "$scratch/runc" --log "$scratch/runc.log")

# expect VERB WHAT HOW TEXT COMMAND [REST] : a row for what the next container's shell makes of the command: HOW is `prints`,
# it succeeds and prints the text, or `fails`, with words of that pattern. REST is the end of the row; % in it is what came of it,
# which is all of it otherwise.
expect() {
    expected+=("$1" "$2" "$3" "$4" "$5" "${6-%}")
}

# expect_denied WHAT MAJOR MINOR : the device cgroup refuses a node that the container has made for itself.
expect_denied() {
    expect 'may not' "open $1, by mknod" fails "$denied" "mknod /tmp/node.$3 c $2 $3 && : </tmp/node.$3"
}

# expect_nothing NODES WHAT MAJOR MINOR HOOK : for a container without the annotation.
expect_nothing() {
    expect has 'no such node in /dev' fails 'No such file' "ls $1"
    expect_denied "$2" "$3" "$4"
    run_container
    show_tried || return 0
    promise starts "without $5" 'it is started only for containers that ask' test ! -e "$container.times"
}

container_script() {
    local at
    echo 'mkdir /results'
    for ((at = 0; at < ${#expected[@]}; at += 6)); do
        printf '(\n%s\n) >/results/%s.said 2>&1\necho $? >/results/%s.status\n' "${expected[at + 4]}" "$at" "$at"
    done
}

# run_container [ANNOTATION=VALUE…] : a new container, in which everything is tried. It starts or it does not:
# runc_status, and runc's words in $container/err.
run_container() {
    local id
    id=$(tr -d '-' </proc/sys/kernel/random/uuid)
    container=$scratch/$id
    # Python would answer an interrupt with a traceback; it takes a moment only.
    (
        trap '' INT
        tests/lib/demo_bundle --hooks build/static --times "$container.times" \
            "${hook_arguments[@]/#/--append=}" "${bundle_options[@]}" "${@/#/--annotation=}" \
            "$container" "$(container_script)"
    )
    tried=("${expected[@]}")
    expected=()
    # In the background, so that an interrupt is noticed at once.
    "${runc_command[@]}" run --bundle "$container" "$id" </dev/null >"$container/out" 2>"$container/err" &
    runc_pid=$!
    runc_status=0
    wait "$runc_pid" || runc_status=$?
    runc_pid=''
}

# What the command at this place printed.
said() {
    cat "$container/rootfs/results/$1.said" 2>/dev/null
}

came_of_it() {
    local status text
    status=$(cat "$container/rootfs/results/$1.status") && text=$(said "$1")
    if [ "$2" = prints ]; then
        [ "$status" = 0 ] && [ "$text" = "$3" ]
    else
        # shellcheck disable=SC2053 # a pattern
        [ "$status" != 0 ] && [[ $text == *$3* ]]
    fi
}

# show_tried : the rows for what the last container has tried; fails if it did not start.
show_tried() {
    local at how rest
    if [ "$runc_status" -ne 0 ]; then
        row broken starts 'its program' "runc ended with $runc_status and says"
        quotation "$(<"$container/err")"
        return 1
    fi
    for ((at = 0; at < ${#tried[@]}; at += 6)); do
        how=${tried[at + 2]}
        rest=$(listing "$(said "$at")")
        # Why it failed, without what the shell says before.
        [ "$how" = prints ] || rest=$(said "$at" | sed 's/.*: //' | tail -n 1)
        promise "${tried[at]}" "${tried[at + 1]}" "${tried[at + 5]/\%/$rest}" came_of_it "$at" "$how" "${tried[at + 3]}"
    done
}

show_container() {
    run_container "$@"
    show_tried
}

# show_refusal ANNOTATION=VALUE… : a container that does not start, and why.
show_refusal() {
    run_container "$@"
    promise_refusal start 'its program never ran, and runc says why:'
}

promise_refusal() {
    promise 'may not' "$1" "$2" no_program_ran
    quotation "$(hook_message)"
}

no_program_ran() {
    [ "$runc_status" -ne 0 ] && [ ! -e "$container/rootfs/results" ]
}

# The message of the hook that stopped the container, as runc passes it on.
hook_message() {
    sed -n 's/.*stderr: //p' "$container/err"
}

# message_has WORDS… : each of them is in it.
message_has() {
    local message words
    message=$(hook_message)
    for words in "$@"; do
        [[ $message == *"$words"* ]] || return 1
    done
}

# state_of DIRECTORY… : what a host has there, but for who has which GPU, and all mounts.
state_of() {
    find "$@" -path '*/run/oci-gpu-hooks' -prune -o -ls -type f -exec sha256sum '{}' +
    cat /proc/self/mountinfo
}

# note_times : how long the hooks of the last container took.
note_times() {
    local hook milliseconds
    [ -f "$container.times" ] || return 0
    while read -r hook milliseconds; do
        note took "$milliseconds ms" "$hook, from the start of its process to its end"
    done <"$container.times"
}

# copy_c_library PROGRAM IMAGE : the loader and the C library, which are the host's, where the program expects them.
copy_c_library() {
    local file
    ldd "$1" | grep -oE '/[^ ]*/(libc\.so|ld-linux)[^ ]*' | while read -r file; do
        install -D "$file" "$2$file"
    done
}

# However the show ends: takes down a container that is still there. A show with more to end has before_end.
remove_container() {
    # A second Ctrl-C is not to stop this halfway.
    trap '' INT TERM HUP
    before_end
    [ -n "$runc_pid" ] || return 0
    # Most likely it ends by itself; runc is better not killed while it sets a container up.
    timeout 5 tail -s 0.1 --pid="$runc_pid" -f /dev/null || true
    "${runc_command[@]}" delete --force "$(basename "$container")" || true
    kill -KILL "$runc_pid" 2>/dev/null || true
}

before_end() {
    :
}

trap remove_container EXIT
trap 'remove_container; exit 130' INT TERM HUP
