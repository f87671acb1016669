#!/bin/sh
# Installs ralph-loop and its hooks: fetches the archive for this machine, compares its checksum with
# the published one, and puts the files below a prefix.
#
#   sh install.sh [--prefix DIR]     DIR is ~/.local if nothing is said
#
# RALPH_URL names another place to fetch from.
set -eu

main() {
    version='@VERSION@'
    url=${RALPH_URL:-'@URL@'}
    prefix=${HOME:-}/.local
    while [ $# -gt 0 ]; do
        case $1 in
        --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
        --prefix=*) prefix=${1#*=}; shift ;;
        *) fail "usage: install.sh [--prefix DIR]" ;;
        esac
    done
    [ -n "$url" ] || fail "set RALPH_URL to the address of the folder with the archives"
    name=ralph-loop-$version-$(machine)

    mkdir -p "$prefix"
    # Below the prefix, so that each file can be replaced in one step, even while it runs.
    scratch=$(mktemp -d "$prefix/.ralph-install-XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
    fetch "$url/SHA256SUMS" "$scratch/SHA256SUMS"
    fetch "$url/$name.tar.gz" "$scratch/$name.tar.gz"
    expected=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$scratch/SHA256SUMS")
    [ -n "$expected" ] || fail "$url/SHA256SUMS does not name $name.tar.gz"
    found=$(checksum "$scratch/$name.tar.gz")
    [ "$expected" = "$found" ] ||
        fail "$name.tar.gz is not what was published: its checksum is $found, not $expected"

    tar -xzf "$scratch/$name.tar.gz" -C "$scratch"
    (cd "$scratch/$name" && find . -type f) | while read -r file; do
        mkdir -p "$prefix/$(dirname "$file")"
        mv -f "$scratch/$name/$file" "$prefix/$file"
    done
    echo "ralph-loop $version is in $prefix/bin"
    case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) echo "add it to PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
    esac
}

machine() {
    case $(uname -s)-$(uname -m) in
    Linux-x86_64) echo x86_64-unknown-linux-musl ;;
    Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-musl ;;
    Darwin-x86_64) echo x86_64-apple-darwin ;;
    Darwin-arm64) echo aarch64-apple-darwin ;;
    *) fail "there is no archive for $(uname -s) on $(uname -m); build from source" ;;
    esac
}

fetch() {
    if command -v curl >/dev/null; then
        curl -fsSL --retry 2 -o "$2" "$1" || fail "could not fetch $1"
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1" || fail "could not fetch $1"
    else
        fail "curl or wget is needed"
    fi
}

checksum() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1" | cut -d ' ' -f 1
    else
        shasum -a 256 "$1" | cut -d ' ' -f 1
    fi
}

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

main "$@"
