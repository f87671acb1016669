# What the scripts of probes and attacks share; `here.sh`, read before, names the folders and programs of this world.
COPY=$PWD
export COPY
# Leaves proof that this role was reached.
ran() { echo "$ROLE" >>"$NOTES/ran"; }
# Does the story.
work() { echo "work of $ROLE" >"made-$(cat "$RALPH_STORY_FILE" 2>/dev/null || echo x).txt"; }
# Starts a process that forgets where it came from: no parent, no session, no environment, another folder.
detach() { (cd / && exec setsid env -i PATH="$PATH" HOME="$HOME" sh -c '(trap "" TERM HUP INT; exec "$@") >/dev/null 2>&1 </dev/null &' - "$@"); }
# Asks to stop, as a client does at the end of a turn; the loop may stage, check and commit meanwhile.
pause() {
    printf '{"hook_event_name":"Stop","stop_hook_active":false,"session_id":"s-1","cwd":"%s","transcript_path":"%s/none"}' "$PWD" "$NOTES" |
        "$BIN/ralph-on-stop" >>"$NOTES/paused" 2>&1
}
session() { echo '{"type":"system","subtype":"init","session_id":"s-1"}'; }
