# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced: where the Debian archive is, taken from the machine's own apt sources, whatever mirror they name.

debian_sources_directory=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# debian_lists OPTIONS… , options of apt: the package lists that come from Debian itself, one a line: URI, suite, FILE:NUMBER
# of apt's configuration. Known by the Origin in the signed Release file, whatever mirror they were fetched from.
debian_lists() {
    # shellcheck disable=SC2016 # fields of apt
    apt-get "$@" indextargets 'Created-By: Packages' 'Origin: Debian' 'Component: main' \
        --format '$(REPO_URI) $(RELEASE) $(SOURCESENTRY)'
}

# write_debian_sources TYPE DIRECTORY OUTPUT : the machine's entries for the Debian archive as entries of that type (deb or
# deb-src), in the deb822 format. In DIRECTORY, which the caller removes, apt may keep lists of its own.
write_debian_sources() {
    local type=$1 directory=$2 output=$3 lists elsewhere
    lists=$(debian_lists)
    if [ -z "$lists" ]; then
        # A machine whose package lists were removed, as in most container images. A repository that is out of order
        # does not matter as long as Debian's own can be read.
        mkdir -p "$directory"/machine-{lists,cache/archives}/partial
        elsewhere=(-o "Dir::State::lists=$directory/machine-lists" -o "Dir::Cache=$directory/machine-cache")
        apt-get "${elsewhere[@]}" update || true
        lists=$(debian_lists "${elsewhere[@]}")
    fi
    if [ -z "$lists" ]; then
        echo 'no entry for the Debian archive could be read in the apt sources of this machine' >&2
        return 1
    fi
    "$debian_sources_directory/../deps/source_entries" <<<"$lists" | sed "s/^Types: deb-src\$/Types: $type/" >"$output"
}

# write_release_sources RELEASE DIRECTORY OUTPUT : the same entries for binary packages, with another release in place of the
# machine's own. All of them are signed by keys of the package debian-archive-keyring.
write_release_sources() {
    local release=$1 directory=$2 output=$3 own
    own=$(. /etc/os-release && echo "$VERSION_CODENAME")
    write_debian_sources deb "$directory" "$directory/debian.sources" || return
    awk -v own="Suites: $own" -v other="Suites: $release" \
        'BEGIN { RS = ""; ORS = "\n\n" } ("\n" $0 "\n") ~ ("\n" own "\n") { sub(own, other); print }' \
        "$directory/debian.sources" >"$output"
    if [ ! -s "$output" ]; then
        echo "the apt sources of this machine have no entry for its own release '$own'" >&2
        return 1
    fi
}
