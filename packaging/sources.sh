# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced, in the project's directory: its version, and its sources as they are handed out.

# The one place that has it.
project_version() {
    sed -n "s/^    version : '\(.*\)',\$/\1/p" meson.build
}

# When the sources were changed last, in seconds since 1970: SOURCE_DATE_EPOCH, or the last commit, or what a source
# package says of itself.
project_time() {
    if [ -n "${SOURCE_DATE_EPOCH-}" ]; then
        echo "$SOURCE_DATE_EPOCH"
    elif [ -e .git ]; then
        git -c safe.directory="$PWD" log -1 --format=%ct
    elif [ -f debian/changelog ]; then
        dpkg-parsechangelog -S Timestamp
    else
        echo 'these sources have no date: set SOURCE_DATE_EPOCH' >&2
        return 1
    fi
}

# The paths of all sources, each ended by a NUL: what is committed or could be, else all but what builds leave.
list_sources() {
    if [ -e .git ]; then
        git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard
    else
        find . \( -path ./build -o -path './build-*' -o -path ./debian -o -name __pycache__ \) -prune \
            -o -type f -printf '%P\0'
    fi
}

# copy_sources DIRECTORY TIME : whoever does it gets the same modes and times. What git knows and is not there is left out.
copy_sources() {
    mkdir -p "$1"
    list_sources | tar --null --files-from=- --ignore-failed-read -c | tar -x -C "$1" --no-same-owner
    chmod -R u=rwX,go=rX "$1"
    find "$1" -exec touch -h -d "@$2" {} +
}
