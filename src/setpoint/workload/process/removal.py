"""Removes containers and networks that must not outlive a control plane, by plain requests to the engine's socket.

The guardian does this when nobody else can any more, so it tries everything, waits for nothing long, and never fails.
"""

import http.client
import json
import socket
from collections.abc import Iterator
from urllib.parse import quote

from setpoint.workload.process.guardian import Removal

SECONDS = 20.0


class _Engine(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def remove(what: Removal) -> list[str]:
    """Removes it all, containers first; returns what went wrong."""
    wrong: list[str] = []
    containers, networks = list(what.containers), list(what.networks)
    for label in what.labels:
        for found, path, key in ((containers, "/containers/json?all=true&", "Id"), (networks, "/networks?", "Id")):
            filters = quote(json.dumps({"label": [label]}))
            try:
                found += _ids(_ask(what.socket, "GET", f"{path}filters={filters}"), key)
            except (OSError, ValueError, http.client.HTTPException) as error:
                wrong.append(f"{path}{label}: {error}")
    for path in (
        *(f"/containers/{quote(name)}?force=true&v=true" for name in dict.fromkeys(containers)),
        *(f"/networks/{quote(name)}" for name in dict.fromkeys(networks)),
    ):
        try:
            _ask(what.socket, "DELETE", path)
        except (OSError, http.client.HTTPException) as error:
            wrong.append(f"{path}: {error}")
    return wrong


def _ids(body: bytes, key: str) -> Iterator[str]:
    for item in json.loads(body or b"[]"):
        yield item[key]


def _ask(path: str, method: str, target: str) -> bytes:
    connection = _Engine(path)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status >= 400 and answer.status != 404:
        raise http.client.HTTPException(f"{answer.status} {body.decode(errors='replace').strip()}")
    return body
