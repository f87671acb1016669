#!/bin/sh
# The project's tests: each file that is there must do its work.
failed=0
check() {
    if [ "$2" = "$3" ]; then
        echo "ok - $1"
    else
        echo "not ok - $1: expected '$3', got '$2'"
        failed=1
    fi
}
[ ! -e hello.sh ] || check "greets the world" "$(sh hello.sh)" "Hello, world"
[ ! -e greet.sh ] || check "greets by name" "$(sh greet.sh Ada)" "Hello, Ada"
[ ! -e bye.sh ] || check "says goodbye" "$(sh bye.sh)" "Goodbye"
[ ! -e sing.sh ] || check "sings" "$(sh sing.sh)" "Daisy, Daisy"
exit $failed
