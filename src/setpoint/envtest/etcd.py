"""A replacement for etcd in envtest: reports health, and waits for a signal to stop.

Setpoint's kube-apiserver stores the objects itself; this program only tells the server in which directory. The file
runs alone, without importing setpoint and with few standard modules, and so starts in a few milliseconds.
"""

import os
import select
import signal
import socket
import sys

_BASE = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
_HEALTH = b'{"health":"true","reason":""}'
_RELEASE = "3.6.0"
_PATIENCE_SECONDS = 1.0


def main(arguments: list[str]) -> int:
    """Serves until SIGTERM or SIGINT. Returns the exit code."""
    flags = _flags(arguments)
    urls = flags.get("listen-client-urls") or "http://localhost:2379"
    directory = os.path.abspath(flags.get("data-dir") or "default.etcd")
    os.makedirs(directory, mode=0o700, exist_ok=True)
    told, tell = socket.socketpair()
    tell.setblocking(False)
    signal.set_wakeup_fd(tell.fileno())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    listeners = []
    for url in urls.split(","):
        try:
            listeners.append(_listen(url))
        except (OSError, ValueError) as error:
            sys.stderr.write(f"etcd: cannot listen on {url}: {error}\n")
            return 1
    while True:
        ready, _, _ = select.select([told, *listeners], [], [])
        if told in ready:
            return 0
        for listener in ready:
            _answer(listener, directory)


def _flags(arguments: list[str]) -> dict[str, str]:
    """Returns the flags, given as `--name=value` or `--name value`."""
    found: dict[str, str] = {}
    name = ""
    for argument in arguments:
        if argument.startswith("-"):
            name, _, value = argument.lstrip("-").partition("=")
            found[name] = value
        elif name:
            found[name] = argument
    return found


def _listen(url: str) -> socket.socket:
    scheme, _, address = url.strip().partition("://")
    host, _, port = address.rstrip("/").rpartition(":")
    if scheme != "http" or not port.isdecimal():
        raise ValueError("expected http://HOST:PORT")
    [(family, kind, protocol, _, where), *_] = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(where)
    listener.listen()
    listener.setblocking(False)
    return listener


def _answer(listener: socket.socket, directory: str) -> None:
    try:
        connection, _ = listener.accept()
    except OSError:
        return  # the client has disconnected
    with connection:
        connection.settimeout(_PATIENCE_SECONDS)
        try:
            _, _, rest = connection.recv(4096).decode("latin-1").partition(" ")
            path = rest.partition(" ")[0].partition("?")[0]
            status, body = b"200 OK", b"{}"
            if path == "/health":
                body = _HEALTH
            elif path == "/version":
                body = _version(directory)
            else:
                status = b"404 Not Found"
            connection.sendall(_BASE % (status, len(body), body))
        except OSError:
            pass  # the client sent no request, or has disconnected


def _version(directory: str) -> bytes:
    import json  # who only wants to know whether we are well should not wait for it

    return json.dumps({"etcdserver": _RELEASE, "etcdcluster": _RELEASE, "setpoint": directory}).encode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
