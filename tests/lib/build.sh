# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced, in the project's directory: how the builds of tests and demo are set up.

# configure DIRECTORY COMPILER [MESON OPTION…] , COMPILER being gcc or clang; may be repeated for the same directory.
# Warnings are errors. What Debian lacks for a static build is built first, once.
configure() {
    local directory=$1 compiler=$2 cxx
    shift 2
    case $compiler in
    gcc) cxx=g++ ;;
    clang) cxx=clang++ ;;
    *)
        echo "configure: '$compiler' is neither gcc nor clang" >&2
        return 1
        ;;
    esac
    [[ " $* " != *' -Dlink=static '* ]] || tests/deps/libmount || return
    local again=()
    [ ! -f "$directory/meson-private/coredata.dat" ] || again=(--reconfigure)
    CC=$compiler CXX=$cxx meson setup "${again[@]}" -Dwerror=true "$@" "$directory"
}
