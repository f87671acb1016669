"""Shows a check another file than is staged and puts the staged one back before the check ends:
`swap.py NOTES FOLDER HOW`. The file is `part/made.txt`; HOW is `write` (its content changes), `rename` (another file
takes its place) or `folder` (another folder takes the place of its folder). It waits for the file `checking`."""

import ctypes
import os
import sys
import time

notes, folder, how = sys.argv[1:4]
made, other = f"{folder}/part", f"{folder}/tmp/other"
end = time.time() + 40
while time.time() < end and not os.path.exists(f"{notes}/checking"):
    time.sleep(0.002)


def write(text):
    with open(f"{made}/made.txt", "w") as file:
        file.write(text)


def exchange(one, other):
    ctypes.CDLL(None).renameat2(-100, one.encode(), -100, other.encode(), 2)


if how == "write":
    write("fine\n")
    time.sleep(0.7)
    write("broken\n")
else:
    names = (f"{made}/made.txt", f"{other}/made.txt") if how == "rename" else (made, other)
    exchange(*names)
    time.sleep(0.7)
    exchange(*names)
with open(f"{notes}/swapped", "w") as file:
    file.write("x")
