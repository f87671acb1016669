#!/bin/sh
# Stands in for a coding agent: reads the prompt, works on the story in it, prints what an agent
# prints. Its first attempt at US-002 is wrong; once it knows what failed, it gets it right.
prompt=$(cat)
session="demo-$$"

tool() {
    printf '{"type":"assistant","session_id":"%s","message":{"content":[{"type":"tool_use","name":"%s","input":{"file_path":"%s"}}],"usage":{"input_tokens":%d,"output_tokens":120}}}\n' "$session" "$1" "$2" "$3"
    sleep 0.3
}

done_with() {
    printf '{"type":"result","subtype":"success","is_error":false,"session_id":"%s","result":"%s","total_cost_usd":%s,"usage":{"input_tokens":%d,"output_tokens":240}}\n' "$session" "$1" "$2" "$3"
}

case "$prompt" in
*"# US-001:"*)
    tool Write hello.sh 1800
    echo 'echo "Hello, world"' >hello.sh
    done_with "hello.sh greets the world." 0.0021 2100
    ;;
*"# US-002:"*)
    tool Write greet.sh 2400
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
    tool Write bye.sh 2000
    echo 'echo "Goodbye"' >bye.sh
    done_with "bye.sh says goodbye." 0.0019 1900
    ;;
esac
