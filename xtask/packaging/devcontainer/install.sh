#!/bin/sh
# The option `url` comes as URL: the folder with the files of a release.
set -eu
: "${URL:?name the folder of a release in the option url}"
if ! command -v git >/dev/null || ! command -v curl >/dev/null; then
    apt-get update
    apt-get install --yes --no-install-recommends ca-certificates curl git
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
curl -fsSL "$URL/ralph-loop-installer.sh" -o "$scratch/install.sh"
RALPH_LOOP_UNMANAGED_INSTALL=/usr/local/bin INSTALLER_DOWNLOAD_URL=$URL sh "$scratch/install.sh"
