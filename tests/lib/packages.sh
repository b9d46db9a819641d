# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced: the Debian packages that building and testing take, and how they get onto the machine.

# What the demo takes.
to_show=(
    build-essential meson ninja-build pkg-config
    libcap-ng-dev libmd-dev libmount-dev libre2-dev libseccomp-dev libtomlplusplus-dev libyaml-dev nlohmann-json3-dev
    libboost-test-dev
    busybox-static mount procps python3 runc util-linux
)
# What compiling takes: tests/run begins with it while the rest is being installed. Whoever keeps ccache's directory from one
# run to the next compiles what has changed.
to_build=(
    "${to_show[@]}"
    ccache clang libclang-rt-dev
)
packages=(
    "${to_build[@]}"
    # to test
    python3-grpcio python3-pytest
    attr btrfs-progs e2fsprogs fish iproute2 iptables jq libcap2-bin musl nftables strace zsh
    crun podman uidmap
    golang-go golang-k8s-sigs-yaml-dev
    debian-archive-keyring libelf1 mmdebstrap qemu-system-x86
    hyperfine
    # to check the sources
    clang-format clang-tidy codespell git man-db mandoc shellcheck
)

# To be called before the functions below by tests/long, which takes more than each run does.
add_long_packages() {
    packages+=(
        # to make the tarball at another date
        faketime
        # to make Debian's packages
        debhelper lintian
        # to make rpm's
        rpm rpmlint
        # to try a worker in a container of LXD's
        lxd lxd-client
        # to read what metrics prints
        prometheus prometheus-node-exporter
        # to cross-build
        g++-aarch64-linux-gnu
    )
}

# Prints those of the packages that are not installed, one on a line.
missing_packages() {
    local installed
    # dpkg-query fails for a package it has never heard of, which is one of the answers here.
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
        sed -n 's/ installed$//p') || true
    comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(sort -u <<<"$installed")
}

# install_packages [NAME…] ; without what a package only recommends: the list above names all that is used.
install_packages() {
    [ "$#" -gt 0 ] || return 0
    if [ "$EUID" -ne 0 ]; then
        echo "installing packages needs root: apt-get install $*" >&2
        return 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    local apt=(apt-get -q -o DPkg::Lock::Timeout=600)
    # A repository that has nothing to do with these packages may be out of order.
    "${apt[@]}" update || echo 'apt-get update had errors, trying with what there is' >&2
    "${apt[@]}" install -y --no-install-recommends "$@"
}

# may_install "$@" , with the arguments of the script that calls it: fills the array `missing`. Fails if something is
# missing and nobody wants it installed: it asks, unless one of the arguments is --install-deps.
may_install() {
    local argument answer
    mapfile -t missing < <(missing_packages)
    [ "${#missing[@]}" -gt 0 ] || return 0
    for argument in "$@"; do
        [ "$argument" != --install-deps ] || return 0
    done
    if [ ! -t 0 ] || [ ! -t 2 ]; then
        echo "give --install-deps to have these Debian packages installed, which are missing: ${missing[*]}" >&2
        return 1
    fi
    echo "These Debian packages are missing: ${missing[*]}" >&2
    read -r -p 'Install them now? [y/N] ' answer
    if [[ $answer != [yY]* ]]; then
        echo 'Nothing was installed.' >&2
        return 1
    fi
}

# Splits `missing` into the arrays `to_build_first` and `missing_later`.
split_missing() {
    local name
    to_build_first=() missing_later=()
    for name in "${missing[@]}"; do
        case " ${to_build[*]} " in
        *" $name "*) to_build_first+=("$name") ;;
        *) missing_later+=("$name") ;;
        esac
    done
}

# ask_or_install "$@" : the same, and then installs them.
ask_or_install() {
    local missing
    may_install "$@" || return
    install_packages "${missing[@]}"
}
