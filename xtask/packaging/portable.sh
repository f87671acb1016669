#!/bin/sh
# The compiler for a build as for another Unix: cargo runs this with the compiler and its arguments.
exec "$@" --cfg ralph_portable
