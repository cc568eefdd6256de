"""What a scripted engine holds, and how it tells of it: in Docker's JSON, which the real client then reads."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

_NEVER = "0001-01-01T00:00:00Z"


@dataclass
class ScriptedContainer:
    """A container. Change it through the engine, so that whoever watches is told."""

    id: str
    name: str
    body: dict[str, Any]
    created: datetime
    status: str = "created"
    exit_code: int = 0
    started: datetime | None = None
    finished: datetime | None = None
    health: str = ""
    restarts: int = 0
    # What it printed: which output, the bytes, and when.
    printed: list[tuple[str, bytes, datetime]] = field(default_factory=list)
    # What was written to its input.
    heard: bytearray = field(default_factory=bytearray)
    # Archives that were put into it: where, and the tar.
    archives: list[tuple[str, bytes]] = field(default_factory=list)
    networks: dict[str, list[str]] = field(default_factory=dict)
    ports: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def labels(self) -> dict[str, str]:
        return self.body.get("Labels") or {}

    @property
    def is_running(self) -> bool:
        return self.status in ("running", "paused")

    def touch(self) -> None:
        """Wakes whoever waits for a change."""
        self.changed.set()
        self.changed = asyncio.Event()

    def inspected(self) -> dict[str, Any]:
        """What inspecting it says."""
        state: dict[str, Any] = {
            "Status": self.status,
            "Running": self.is_running,
            "ExitCode": self.exit_code,
            "Error": "",
            "Pid": 1000 if self.is_running else 0,
            "StartedAt": _text(self.started),
            "FinishedAt": _text(self.finished),
        }
        if self.health:
            state["Health"] = {"Status": self.health, "FailingStreak": int(self.health == "unhealthy"), "Log": []}
        return {
            "Id": self.id,
            "Name": f"/{self.name}",
            "Created": _text(self.created),
            "Image": self.body.get("Image", ""),
            "RestartCount": self.restarts,
            "State": state,
            "Config": {**self.body, "Labels": self.labels},
            "HostConfig": self.body.get("HostConfig") or {},
            "NetworkSettings": {
                "Ports": self.ports if self.is_running else {},
                "Networks": {name: {"Aliases": aliases} for name, aliases in self.networks.items()},
            },
        }

    def summarised(self) -> dict[str, Any]:
        """What a list says of it."""
        return {
            "Id": self.id,
            "Names": [f"/{self.name}"],
            "Image": self.body.get("Image", ""),
            "State": self.status,
            "Labels": self.labels,
        }


@dataclass
class ScriptedImage:
    """An image on the engine's machine, or in a registry."""

    name: str
    id: str
    labels: dict[str, str] = field(default_factory=dict)
    has_health_check: bool = False

    def inspected(self) -> dict[str, Any]:
        """What inspecting it says."""
        check = {"Healthcheck": {"Test": ["CMD", "true"]}} if self.has_health_check else {}
        return {
            "Id": self.id,
            "RepoTags": [self.name],
            "Architecture": "amd64",
            "Config": {"Labels": self.labels, "Cmd": ["run"], **check},
        }


@dataclass
class ScriptedNetwork:
    """A network."""

    id: str
    name: str
    body: dict[str, Any]
    subnet: str

    def inspected(self, containers: list[str]) -> dict[str, Any]:
        """What inspecting it says."""
        return {
            "Id": self.id,
            "Name": self.name,
            "Driver": self.body.get("Driver") or "bridge",
            "EnableIPv6": bool(self.body.get("EnableIPv6")),
            "Internal": bool(self.body.get("Internal")),
            "Labels": self.body.get("Labels") or {},
            "IPAM": {"Config": [{"Subnet": f"{self.subnet}.0/24", "Gateway": f"{self.subnet}.1"}]},
            "Containers": {each: {} for each in containers},
        }


@dataclass
class ScriptedVolume:
    """A volume."""

    name: str
    body: dict[str, Any]

    def inspected(self) -> dict[str, Any]:
        """What inspecting it says."""
        return {
            "Name": self.name,
            "Driver": self.body.get("Driver") or "local",
            "Mountpoint": f"/volumes/{self.name}",
            "Labels": self.body.get("Labels") or {},
            "Options": self.body.get("DriverOpts") or {},
        }


@dataclass
class ScriptedExec:
    """A command in a container."""

    id: str
    container: ScriptedContainer
    body: dict[str, Any]
    exit_code: int | None = None

    def inspected(self) -> dict[str, Any]:
        """What inspecting it says."""
        return {"ID": self.id, "Running": self.exit_code is None, "ExitCode": self.exit_code, "Pid": 0}


def _text(when: datetime | None) -> str:
    return _NEVER if when is None else when.isoformat()


def has_labels(body: Mapping[str, Any], query: Mapping[str, Any]) -> bool:
    """Whether a thing has the labels that a filter names."""
    labels = body.get("Labels") or {}
    for wanted in json.loads(query.get("filters") or "{}").get("label", ()):
        name, equals, value = wanted.partition("=")
        if name not in labels or (equals and labels[name] != value):
            return False
    return True
