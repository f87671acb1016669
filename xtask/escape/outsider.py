"""What else runs on the user's machine: terminals in which a password is typed, sockets, a server. Arguments: the
folder of the world, a file that receives the port, and a folder that receives the name of a terminal for each role."""

import os
import pty
import socket
import sys
import threading
import time

world, port, terminals, *roles = sys.argv[1:]


def typist(master):
    os.set_blocking(master, False)
    while True:
        try:
            os.write(master, b"S3CRET-typed\n")
        except BlockingIOError:
            pass
        time.sleep(0.05)


def drain(master):
    while True:
        time.sleep(0.05)
        try:
            os.read(master, 65536)
        except (BlockingIOError, OSError):
            pass


def serve(kind, address):
    server = socket.socket(kind)
    server.bind(address)
    server.listen(64)
    if kind == socket.AF_INET:
        with open(port, "w") as file:
            file.write(str(server.getsockname()[1]))
    while True:
        client, _ = server.accept()
        try:
            client.sendall(b"S3CRET-served\n")
        except OSError:
            pass
        client.close()


kept = []
for role in roles:
    master, slave = pty.openpty()
    kept.append(slave)
    with open(f"{terminals}/{role}", "w") as file:
        file.write(os.ttyname(slave))
    for work in (typist, drain):
        threading.Thread(target=work, args=(master,), daemon=True).start()
for kind, address in [
    (socket.AF_UNIX, "\0" + world),
    (socket.AF_UNIX, world + "/socket"),
]:
    threading.Thread(target=serve, args=(kind, address), daemon=True).start()
serve(socket.AF_INET, ("127.0.0.1", 0))
