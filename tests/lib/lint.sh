# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced after build.sh, in the project's directory and with pipefail set: the checks of the sources, one function
# each. Files that are not committed yet count, ignored ones do not. A check that finds no file fails, so that none is
# lost when files move.

# project_files PATTERN… : fills the array `files`.
project_files() {
    local path
    files=()
    # Containers often have the tree from another user; git would not look at it.
    while IFS= read -r -d '' path; do
        [ ! -f "$path" ] || files+=("$path")
    done < <(git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard -- "$@")
    if [ "${#files[@]}" -eq 0 ]; then
        echo "no files to check ($*)" >&2
        return 1
    fi
}

lint_format() {
    project_files '*.cpp' '*.h' && clang-format --dry-run -Werror "${files[@]}"
}

# run_tidy FILE… , as regular expressions. A directory that is only set up says how clang compiles each file by itself: the
# build in build/asan compiles several as one, which clang-tidy would not find by their names.
run_tidy() {
    configure build/shared clang -Dlink=shared -Doptimization=0 >/dev/null || return
    run-clang-tidy -quiet -p build/shared "$@" 2>&1 |
        sed -e '/ warnings\? generated\.$/d' -e 's/\x1b\[[0-9;]*m//g'
}

# Only what runs as root on other people's hosts: the tests would take longer than all other checks together.
lint_tidy() {
    run_tidy '/(admin|common|hooks)/.*\.cpp$'
}

# The same for what was changed since TIDY_BASE: since what was pushed last, or by the last commit where all is pushed.
lint_tidy_changed() {
    local changed base git=(git -c safe.directory="$PWD")
    base=$("${git[@]}" merge-base HEAD '@{upstream}' 2>/dev/null) || base=
    [ -n "$base" ] && [ "$base" != "$("${git[@]}" rev-parse HEAD)" ] || base=HEAD~1
    # What has no history, such as an archive, is not checked here: tests/long checks all.
    changed=$("${git[@]}" diff --name-only --diff-filter=d "${TIDY_BASE:-$base}" -- \
        'admin/*.cpp' 'common/*.cpp' 'hooks/*.cpp' 2>/dev/null) || return 0
    [ -n "$changed" ] || return 0
    printf '%s\n' "$changed"
    # shellcheck disable=SC2086 # these names have no blanks
    run_tidy $changed
}

lint_shell() {
    local path first scripts=()
    project_files . || return
    for path in "${files[@]}"; do
        IFS= read -r first <"$path" 2>/dev/null || continue
        case $first in
        '#!'*sh | '#!'*'sh '* | '# shellcheck shell='*) scripts+=("$path") ;;
        esac
    done
    shellcheck -x -P SCRIPTDIR "${scripts[@]}"
}

lint_man() {
    # In their directory: mandoc looks there for the pages that they refer to.
    project_files 'man/*.[1-9]' && (cd man && mandoc -T lint "${files[@]#man/}")
}

lint_docs() {
    docs/make --check && docs/links && tests/lib/pages
}

# The version is a line of meson.build: what names it elsewhere would be forgotten at a release. CHANGELOG.md begins with it,
# and it and SECURITY.md speak of versions that were.
lint_version() {
    local version
    version=$(sed -n "s/^    version : '\(.*\)',$/\1/p" meson.build)
    if [ -z "$version" ] || ! grep -m 1 '^## ' CHANGELOG.md | grep -qF "## $version"; then
        echo "CHANGELOG.md does not begin with the version of meson.build, '$version'"
        return 1
    fi
    project_files ':!CHANGELOG.md' ':!SECURITY.md' || return
    ! grep -HnE "oci-gpu-hooks[-_ ]v?${version//./\\.}" -- "${files[@]}"
}

lint_spelling() {
    # Nd is a macro of man pages; "\nown" is the word own at the start of a line; renderD128 is a device node.
    project_files . && codespell --ignore-words-list nd,optin,renderd,ue --ignore-regex '\\n' "${files[@]}"
}
