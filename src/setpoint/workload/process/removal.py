"""Removes containers, networks and volumes that must not outlive a control plane, by requests to the engine's socket.

The guardian calls this after the end of the control plane; all removals are attempted, with short timeouts, and errors
are never raised.
"""

import http.client
import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Thread
from time import sleep
from urllib.parse import quote

from setpoint.workload.process.guardian import Removal

SECONDS = 20.0
# The number of searches for labelled resources, and the delay between them.
ROUNDS, ROUND_SECONDS = 5, 1.0


class _Engine(http.client.HTTPConnection):
    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def remove(removal: Removal) -> list[str]:
    """Removes all resources, containers first. Returns the errors."""
    wrong: list[str] = []
    containers, networks, volumes = list(removal.containers), list(removal.networks), []
    for number in range(ROUNDS):
        if removal.labels:
            containers += _labelled(removal, "/containers/json?all=true&", wrong)
            networks += _labelled(removal, "/networks?", wrong)
            volumes += _labelled(removal, "/volumes?", wrong)
        if number and not containers and not networks and not volumes:
            break
        _remove(removal, containers, [*_paths("networks", networks), *_paths("volumes", volumes)], wrong)
        if not removal.labels:
            break
        # The engine may still be creating resources that were requested before.
        sleep(ROUND_SECONDS)
        containers, networks, volumes = [], [], []
    return wrong


def stop_container(path: str, container: str, seconds: float) -> None:
    """Stops a container, if the engine at a socket still has the container."""
    with suppress(OSError, http.client.HTTPException):
        _request(path, "POST", f"/containers/{quote(container)}/stop?t={int(seconds)}", seconds + SECONDS)


def _labelled(removal: Removal, path: str, wrong: list[str]) -> list[str]:
    """Returns the ids of all resources with one of the labels."""
    found: dict[str, None] = {}
    for label in removal.labels:
        filters = quote(json.dumps({"label": [label]}))
        try:
            found |= dict.fromkeys(_ids(_request(removal.socket, "GET", f"{path}filters={filters}")))
        except (OSError, ValueError, http.client.HTTPException) as error:
            wrong.append(f"{path}{label}: {error}")
    return list(found)


def _paths(kind: str, names: Sequence[str]) -> list[str]:
    return [f"/{kind}/{quote(name)}" for name in names]


def _remove(removal: Removal, containers: Sequence[str], others: Sequence[str], wrong: list[str]) -> None:
    """Removes containers concurrently, because each may take time to end, and then the other resources."""

    def delete(path: str) -> None:
        try:
            _request(removal.socket, "DELETE", path)
        except (OSError, http.client.HTTPException) as error:
            wrong.append(f"{path}: {error}")

    threads = [Thread(target=delete, args=(f"/containers/{quote(name)}?force=true&v=true",)) for name in containers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for path in others:
        delete(path)


def _ids(body: bytes) -> Iterator[str]:
    """Yields the ids in a response: the names of volumes, and the ids of all other resources."""
    found = json.loads(body or b"[]")
    for item in found if isinstance(found, list) else found.get("Volumes") or ():
        yield item.get("Id") or item["Name"]


def _request(path: str, method: str, target: str, seconds: float = SECONDS) -> bytes:
    connection = _Engine(path, seconds)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status >= 400 and answer.status != 404:
        raise http.client.HTTPException(f"{answer.status} {body.decode(errors='replace').strip()}")
    return body
