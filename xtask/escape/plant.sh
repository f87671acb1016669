#!/bin/sh
# Makes a git folder name programs of ours wherever git knows a setting for one: `plant.sh FOLDER`.
W=$(cd "$(dirname "$0")/.." && pwd)
P="$W/s/payload.sh"
[ -d "$1" ] || exit 0
if ! grep -q evil "$1/config" 2>/dev/null; then
    cat >>"$1/config" <<END
[filter "evil"]
	clean = sh $P filter
	smudge = sh $P filter
[diff "evil"]
	textconv = sh $P textconv
	command = sh $P command
[merge "evil"]
	driver = sh $P merge
[core]
	fsmonitor = $P
	hooksPath = $W/s/hooks
	attributesFile = $W/s/attributes
	pager = sh $P pager
	editor = sh $P editor
	sshCommand = sh $P ssh
	alternateRefsCommand = sh $P refs
[gpg]
	program = $P
[credential]
	helper = "!sh $P credential"
[diff]
	external = $P
[commit]
	gpgSign = true
[remote "origin"]
	uploadpack = sh $P uploadpack
	receivepack = sh $P receivepack
[include]
	path = $W/s/included
END
fi
mkdir -p "$1/info" "$1/hooks"
grep -q evil "$1/info/attributes" 2>/dev/null || echo '* filter=evil diff=evil merge=evil' >>"$1/info/attributes"
for hook in "$W"/s/hooks/*; do
    [ -e "$1/hooks/${hook##*/}.sample" ] || cp "$hook" "$1/hooks/" 2>/dev/null
done
