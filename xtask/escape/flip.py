"""Exchanges two names without a pause, so that whoever checks a name and then opens it meets both:
`flip.py SECONDS NAME TARGET` flips the file NAME and a link to TARGET; a TARGET of `pipe` flips it and a pipe."""

import ctypes
import os
import shutil
import sys
import time

seconds, name, target = float(sys.argv[1]), sys.argv[2], sys.argv[3]
regular = sys.argv[4] if len(sys.argv) > 4 else "x\n"
c = ctypes.CDLL(None)
other = name + ".other"
end, count = time.time() + seconds, 0
while time.time() < end:
    try:
        os.makedirs(os.path.dirname(name), exist_ok=True)
        for path in (name, other):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
        if not os.path.lexists(name):
            with open(name, "w") as file:
                file.write(regular)
        if not os.path.lexists(other):
            os.mkfifo(other) if target == "pipe" else os.symlink(target, other)
        for _ in range(200):
            c.renameat2(-100, name.encode(), -100, other.encode(), 2)
            count += 1
    except OSError:
        pass
