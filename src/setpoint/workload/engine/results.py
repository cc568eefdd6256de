"""The engine's resources as values, parsed from the JSON of Docker or Podman."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

_FRACTION = re.compile(r"\.(\d+)")


class PortMapping(NamedTuple):
    """A port of a container and its published address; host_port 0: not published."""

    container_port: int
    protocol: str
    host_ip: str = ""
    host_port: int = 0


class Attachment(NamedTuple):
    """A container's address and aliases in a network."""

    network: str
    address: str = ""
    gateway: str = ""
    aliases: tuple[str, ...] = ()


class Health(NamedTuple):
    """The result of the health check of the image or container: `""` (no health check), starting, healthy,
    unhealthy."""

    status: str = ""
    failing_streak: int = 0
    output: str = ""


class Container(NamedTuple):
    """One container, from an inspect request."""

    id: str
    name: str
    image: str
    image_id: str
    # created, running, paused, restarting, removing, exited, dead
    status: str
    exit_code: int | None
    error: str
    oom_killed: bool
    pid: int
    restart_count: int
    started_at: datetime | None
    finished_at: datetime | None
    labels: Mapping[str, str]
    env: tuple[str, ...]
    tty: bool
    ports: tuple[PortMapping, ...]
    networks: Mapping[str, Attachment]
    health: Health
    raw: Mapping[str, Any]

    @property
    def is_running(self) -> bool:
        return self.status in ("running", "paused", "restarting")


class ContainerSummary(NamedTuple):
    """One container, from a list request."""

    id: str
    name: str
    image: str
    status: str
    labels: Mapping[str, str]


class Image(NamedTuple):
    """One image, from an inspect request."""

    id: str
    tags: tuple[str, ...]
    digests: tuple[str, ...]
    labels: Mapping[str, str]
    env: tuple[str, ...]
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    user: str
    architecture: str
    size: int
    raw: Mapping[str, Any]


class Network(NamedTuple):
    """One network, from an inspect request."""

    id: str
    name: str
    driver: str
    ipv6: bool
    internal: bool
    subnets: tuple[str, ...]
    gateways: tuple[str, ...]
    labels: Mapping[str, str]
    container_ids: tuple[str, ...]


class Volume(NamedTuple):
    """One volume, from an inspect request."""

    name: str
    driver: str
    labels: Mapping[str, str]
    options: Mapping[str, str]


class Stats(NamedTuple):
    """The resource usage of a container: nanoseconds of CPU since its start, and bytes of memory."""

    cpu_nanoseconds: int
    memory_bytes: int
    memory_limit: int
    pids: int


class Created(NamedTuple):
    """A created container, with the engine's warnings."""

    id: str
    warnings: tuple[str, ...] = ()


class Version(NamedTuple):
    """The version of an engine: `name` is docker or podman."""

    name: str
    version: str
    api_version: str


class Info(NamedTuple):
    """The machine of an engine, its storage driver, and its warnings."""

    operating_system: str
    architecture: str
    cpus: int
    memory_bytes: int
    storage_driver: str
    warnings: tuple[str, ...]


def container(raw: Mapping[str, Any]) -> Container:
    """Parses the response to inspecting a container."""
    state, config = _map(raw, "State"), _map(raw, "Config")
    status = str(state.get("Status") or "")
    # Podman's names of states, mapped to Docker's.
    status = {"initialized": "created", "configured": "created", "stopped": "exited", "stopping": "running"}.get(
        status, status
    )
    return Container(
        id=str(raw.get("Id", "")),
        name=str(raw.get("Name", "")).removeprefix("/"),
        image=str(config.get("Image") or ""),
        image_id=str(raw.get("Image") or ""),
        status=status,
        exit_code=int(state.get("ExitCode") or 0) if status in ("exited", "dead") else None,
        error=str(state.get("Error") or ""),
        oom_killed=bool(state.get("OOMKilled")),
        pid=int(state.get("Pid") or 0),
        restart_count=int(raw.get("RestartCount") or 0),
        started_at=moment(state.get("StartedAt")),
        finished_at=moment(state.get("FinishedAt")),
        labels=_texts(config.get("Labels")),
        env=tuple(config.get("Env") or ()),
        tty=bool(config.get("Tty")),
        ports=_ports(_map(raw, "NetworkSettings").get("Ports") or {}),
        networks=_attachments(_map(raw, "NetworkSettings").get("Networks") or {}),
        health=_health(state.get("Health") or {}),
        raw=raw,
    )


def summary(raw: Mapping[str, Any]) -> ContainerSummary:
    """Parses one container of a list."""
    names = raw.get("Names") or [""]
    return ContainerSummary(
        str(raw.get("Id", "")),
        str(names[0]).removeprefix("/"),
        str(raw.get("Image") or ""),
        str(raw.get("State") or ""),
        _texts(raw.get("Labels")),
    )


def image(raw: Mapping[str, Any]) -> Image:
    """Parses the response to inspecting an image."""
    config = _map(raw, "Config")
    return Image(
        id=str(raw.get("Id", "")),
        tags=tuple(raw.get("RepoTags") or ()),
        digests=tuple(raw.get("RepoDigests") or ()),
        labels=_texts(config.get("Labels")),
        env=tuple(config.get("Env") or ()),
        entrypoint=tuple(config.get("Entrypoint") or ()),
        command=tuple(config.get("Cmd") or ()),
        user=str(config.get("User") or ""),
        architecture=str(raw.get("Architecture") or ""),
        size=int(raw.get("Size") or 0),
        raw=raw,
    )


def network(raw: Mapping[str, Any]) -> Network:
    """Parses the response to inspecting a network."""
    pools = _map(raw, "IPAM").get("Config") or []
    return Network(
        id=str(raw.get("Id", "")),
        name=str(raw.get("Name", "")),
        driver=str(raw.get("Driver", "")),
        ipv6=bool(raw.get("EnableIPv6")),
        internal=bool(raw.get("Internal")),
        subnets=tuple(pool["Subnet"] for pool in pools if pool.get("Subnet")),
        gateways=tuple(pool["Gateway"] for pool in pools if pool.get("Gateway")),
        labels=_texts(raw.get("Labels")),
        container_ids=tuple(raw.get("Containers") or ()),
    )


def volume(raw: Mapping[str, Any]) -> Volume:
    """Parses the response to inspecting a volume."""
    return Volume(
        str(raw.get("Name", "")),
        str(raw.get("Driver", "")),
        _texts(raw.get("Labels")),
        _texts(raw.get("Options")),
    )


def stats(raw: Mapping[str, Any]) -> Stats:
    """Parses the statistics of a container."""
    memory, cpu = _map(raw, "memory_stats"), _map(_map(raw, "cpu_stats"), "cpu_usage")
    return Stats(
        int(cpu.get("total_usage") or 0),
        int(memory.get("usage") or 0),
        int(memory.get("limit") or 0),
        int(_map(raw, "pids_stats").get("current") or 0),
    )


def info(raw: Mapping[str, Any]) -> Info:
    """Parses the information about an engine."""
    return Info(
        str(raw.get("OSType") or ""),
        str(raw.get("Architecture") or ""),
        int(raw.get("NCPU") or 0),
        int(raw.get("MemTotal") or 0),
        str(raw.get("Driver") or ""),
        tuple(raw.get("Warnings") or ()),
    )


def moment(text: object) -> datetime | None:
    """Parses a timestamp of an engine, with nanoseconds and any time zone; returns None for the zero time."""
    if not isinstance(text, str) or not text or text.startswith("0001-"):
        return None
    try:
        read = datetime.fromisoformat(_FRACTION.sub(lambda found: "." + found[1][:6].ljust(6, "0"), text))
    except ValueError:
        return None
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def _ports(raw: Mapping[str, Any]) -> tuple[PortMapping, ...]:
    found = []
    for key, bindings in raw.items():
        number, _, protocol = key.partition("/")
        for binding in bindings or [{}]:
            host_port = str(binding.get("HostPort") or "0")
            found.append(
                PortMapping(
                    int(number), protocol or "tcp", str(binding.get("HostIp") or ""), int(host_port.partition("-")[0])
                )
            )
    return tuple(sorted(found))


def _attachments(raw: Mapping[str, Any]) -> dict[str, Attachment]:
    return {
        name: Attachment(
            name,
            str(each.get("IPAddress") or each.get("GlobalIPv6Address") or ""),
            str(each.get("Gateway") or ""),
            tuple(each.get("Aliases") or ()),
        )
        for name, each in raw.items()
    }


def _health(raw: Mapping[str, Any]) -> Health:
    log = raw.get("Log") or []
    status = str(raw.get("Status") or "")
    return Health(
        "" if status == "none" else status,
        int(raw.get("FailingStreak") or 0),
        str(log[-1].get("Output") or "").strip() if log else "",
    )


def _map(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return raw.get(name) or {}


def _texts(raw: Mapping[str, Any] | None) -> dict[str, str]:
    return {str(name): str(value) for name, value in (raw or {}).items()}
