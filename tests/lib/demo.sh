# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced: how the demo looks. What is promised is a row with a tick or a cross; each row's outcome is also a line
# of $scratch/results, `kept` or `broken`.

# A shell that was made root by `su` may lack the directories of runc and mount.
PATH=$PATH:/usr/sbin:/sbin

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[m'
else
    bold='' dim='' red='' green='' plain=''
fi
tick=✓ cross=✗
# The console's fonts have neither.
[ "${TERM:-}" != linux ] || tick=+ cross=!
# Messages are compared with what programs say in English.
export LC_ALL=C.UTF-8

# columns MARK VERB WHAT REST
columns() {
    printf '  %s %-8s %-32s %s\n' "$@"
}

# row OUTCOME VERB WHAT REST , OUTCOME being `kept` or `broken`.
row() {
    local outcome=$1 mark=$green$tick$plain rest=$4
    if [ "$outcome" != kept ]; then
        mark=$red$cross$plain
        rest="$4${4:+ }$red(not as promised)$plain"
    fi
    echo "$outcome" >>"${scratch:?}/results"
    columns "$mark" "$2" "$3" "$rest"
}

# promise VERB WHAT REST COMMAND… : a row with a tick if the command succeeds.
promise() {
    local verb=$1 what=$2 rest=$3 outcome=kept
    shift 3
    "$@" >/dev/null 2>&1 || outcome=broken
    row "$outcome" "$verb" "$what" "$rest"
}

# note VERB WHAT [REST] : a row in which nothing is promised.
note() {
    columns ' ' "$1" "$2" "$dim${3:-}$plain"
}

heading() {
    printf '\n%s\n' "  $bold$1$plain"
}

# listing TEXT : words that are one on a line, on one line.
listing() {
    echo "${1//$'\n'/  }"
}

# quotation TEXT : what a program said, in lines of a width that people read.
quotation() {
    fold -s -w 74 <<<"$1" | sed 's/^/      /; s/ *$//'
}
