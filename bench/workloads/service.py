"""One service of the measured apps: reports its pid and answers HTTP requests. `python -I -S` starts it quickly.

Arguments: the name, the port, the pipe for the report, and words: `tree` adds a child process, `lines=N` prints lines
at the signal SIGUSR1 and reports afterwards. The modules `signal` and `socket` would take longer than the rest.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys


def main(name: str, port: str, pipe: str, *words: str) -> None:
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(port)))
    listener.listen(64)
    if "tree" in words and os.fork() == 0:
        name = f"{name}-child"
    reports = os.open(pipe, os.O_WRONLY)
    number = max((int(word.removeprefix("lines=")) for word in words if word.startswith("lines=")), default=0)

    def report() -> None:
        os.write(reports, f"{name} {os.getpid()}\n".encode())

    def print_and_report(*_: object) -> None:
        _print_lines(number)
        report()

    _signal.signal(_signal.SIGUSR1, print_and_report)
    report()
    while True:
        descriptor, _ = listener._accept()  # type: ignore[attr-defined]
        connection = _socket.socket(fileno=descriptor)
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        connection.close()


def _print_lines(number: int) -> None:
    """Prints lines of 80 bytes, a hundred with each write."""
    block = (b"x" * 79 + b"\n") * 100
    for _ in range(number // 100):
        left = block
        while left:
            left = left[os.write(1, left) :]


if __name__ == "__main__":
    main(*sys.argv[1:])
