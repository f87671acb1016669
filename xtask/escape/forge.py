"""A forge on loopback: git's own HTTP server, which demands a token for everything.
`forge.py FOLDER PORT_FILE TOKEN`; FOLDER holds bare repositories."""

import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder, port, token = sys.argv[1:]


class Forge(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self):
        if self.headers.get("Authorization", "") != token:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length") or 0)
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": folder,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_USER": "user",
        }
        made = subprocess.run(
            ["git", "http-backend"], env=env, input=self.rfile.read(length), capture_output=True, check=False
        )
        head, _, body = made.stdout.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
        status = next((value for key, value in lines if key == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for key, value in lines:
            if key != "Status":
                self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer


server = ThreadingHTTPServer(("127.0.0.1", 0), Forge)
with open(port, "w") as file:
    file.write(str(server.server_address[1]))
server.serve_forever()
