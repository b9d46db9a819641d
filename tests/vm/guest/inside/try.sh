# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced, in a container.

# try NAME COMMAND… : what comes of a command, in few words.
try() {
    name=$1
    shift
    if problem=$("$@" 2>&1); then
        echo "$name: done"
    else
        echo "$name: ${problem##*: }"
    fi
}
