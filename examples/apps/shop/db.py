"""A tiny database. Every line that a client sends is a command, and is answered by a line.

    AUTH password       comes first
    GET key             the value; an empty line where there is none
    SET key value
    ADD key number      adds to a number, and answers what it is now
    PUSH key value      appends to a queue
    FIRST key           the first of a queue, which stays there; an empty line where there is none
    DROP key            removes the first of a queue

Every change is appended to a file before it is answered, and the file is read again at the next start.
"""

import os
import socketserver
import sys
import threading
from collections import deque


class Database:
    """Values and queues, and the file that remembers them."""

    def __init__(self, path: str) -> None:
        self.values: dict[str, str] = {}
        self.queues: dict[str, deque[str]] = {}
        self.lock = threading.Lock()
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        self.file = open(path, "a+", encoding="utf-8")
        self.file.seek(0)
        for line in self.file:
            self.change(*words(line))

    def do(self, command: str, key: str, value: str) -> str:
        with self.lock:
            if command == "GET":
                return self.values.get(key, "")
            if command == "FIRST":
                return next(iter(self.queues.get(key, ())), "")
            if command == "ADD":
                command, value = "SET", str(int(self.values.get(key, "0")) + int(value))
            if command not in ("SET", "PUSH", "DROP"):
                return f"there is no command {command}"
            print(command, key, value, file=self.file, flush=True)
            self.change(command, key, value)
            return value

    def change(self, command: str, key: str, value: str) -> None:
        if command == "SET":
            self.values[key] = value
        elif command == "PUSH":
            self.queues.setdefault(key, deque()).append(value)
        elif self.queues.get(key):
            self.queues[key].popleft()


def words(line: str) -> tuple[str, str, str]:
    command, key, value, *_ = [*line.rstrip("\n").split(" ", 2), "", ""]
    return command, key, value


class Client(socketserver.StreamRequestHandler):
    """Somebody who is connected."""

    def handle(self) -> None:
        if self.rfile.readline().decode().rstrip("\n") != f"AUTH {os.environ['DB_PASSWORD']}":
            self.wfile.write(b"wrong password\n")
            return
        self.wfile.write(b"welcome\n")
        for line in self.rfile:
            self.wfile.write(f"{database.do(*words(line.decode()))}\n".encode())


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


port, path = sys.argv[1:]
database = Database(path)
with Server(("127.0.0.1", int(port)), Client) as server:
    print(f"listening on {port}, {len(database.values)} values in {path}")
    server.serve_forever()
