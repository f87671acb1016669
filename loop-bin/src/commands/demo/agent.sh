#!/bin/sh
# Stands in for Claude Code: reads the prompt, works on the story in it, prints what the client prints
# and asks the hooks as the client does. Its first attempt at US-002 is wrong; once it knows what failed,
# it gets it right. It never gets US-004 right.
[ "$1" != --version ] || exec echo "2.1.0 (Claude Code)"
prompt=$(cat)
session="demo-$$"

tool() {
    printf '{"type":"assistant","session_id":"%s","message":{"content":[{"type":"tool_use","id":"%s","name":"%s","input":{"%s":"%s"}}],"usage":{"input_tokens":%d,"output_tokens":120}}}\n' "$session" "$4" "$1" "$2" "$3" "$4"
    sleep 0.2
}

hook() {
    ! command -v "$1" >/dev/null || printf '{"session_id":"%s","cwd":"%s",%s}' "$session" "$PWD" "$2" | "$1" --run
}

# Runs a command, unless the hook refuses it.
bash_tool() {
    tool Bash command "$1" "$2"
    refused=$(hook ralph-pre-tool '"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"'"$1"'"}' |
        sed -n 's/.*"permissionDecisionReason":"\(.*\)"}}$/\1/p')
    [ -z "$refused" ] ||
        printf '{"type":"user","session_id":"%s","message":{"content":[{"type":"tool_result","tool_use_id":"%s","is_error":true,"content":"PreToolUse:Bash hook error: %s"}]}}\n' "$session" "$2" "$refused"
    sleep 0.2
}

done_with() {
    printf '{"type":"result","subtype":"success","is_error":false,"session_id":"%s","result":"%s","total_cost_usd":%s,"usage":{"input_tokens":%d,"output_tokens":240}}\n' "$session" "$1" "$2" "$3"
}

hook ralph-pre-prompt '"hook_event_name":"UserPromptSubmit","prompt":"Work on the story."' >/dev/null
case "$prompt" in
*"# US-001:"*)
    tool Write file_path hello.sh 1800
    echo 'echo "Hello, world"' >hello.sh
    done_with "hello.sh greets the world." 0.0021 2100
    ;;
*"# US-002:"*)
    tool Write file_path greet.sh 2400
    case "$prompt" in
    *"not ok - greets by name"*)
        echo 'echo "Hello, $1"' >greet.sh
        done_with "greet.sh greets the given name; the last attempt ignored the argument." 0.0034 3400
        ;;
    *)
        echo 'echo "Hello, name"' >greet.sh
        done_with "greet.sh greets by name." 0.0029 2900
        ;;
    esac
    ;;
*"# US-003:"*)
    tool Write file_path bye.sh 2000
    echo 'echo "Goodbye"' >bye.sh
    bash_tool "git push origin main" 2100
    done_with "bye.sh says goodbye. I was not allowed to push." 0.0019 1900
    ;;
*"# US-004:"*)
    tool Write file_path sing.sh 2200
    echo 'echo "Tra la la"' >sing.sh
    done_with "sing.sh sings. Which song is not said." 0.0023 2300
    ;;
esac
