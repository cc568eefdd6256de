"""Checks the references between the parts of a project, and attributes that exclude each other."""

from collections.abc import Iterator, Mapping
from typing import Any

from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import choices

Path = tuple[str | int, ...]
Fault = tuple[Path, str]


class Parts:
    """The parts of a project, in long forms."""

    def __init__(
        self,
        services: Mapping[str, Object],
        disabled: Mapping[str, Object],
        jobs: Mapping[str, Object],
        disabled_jobs: Mapping[str, Object],
        resources: Mapping[str, Mapping[str, Object]],
    ) -> None:
        self.services = services
        self.disabled = disabled
        self.jobs = jobs
        self.disabled_jobs = disabled_jobs
        # The resources by section: networks, volumes, secrets, configs, models.
        self.resources = resources


def faults(parts: Parts) -> Iterator[Fault]:
    """Yields the faults of the enabled services, jobs and secrets."""
    for name, service in parts.services.items():
        yield from _Check(parts, name, service).faults()
    for name in (*parts.jobs, *parts.disabled_jobs):
        if name in parts.services or name in parts.disabled:
            yield ("jobs", name), f"{name} is the name of a service and of a job; rename one of both"
    for name, job in parts.jobs.items():
        for other, how in (job.get("depends_on") or {}).items():
            is_optional = other in parts.disabled and not how["required"]
            if other not in parts.jobs and other not in parts.services and not is_optional:
                known = [*parts.services, *parts.jobs]
                yield ("jobs", name, "depends_on", other), f"there is no service or job {other}{choices(other, known)}"
    for name, secret in parts.resources["secrets"].items():
        if not secret.get("external") and not secret.get("file") and not secret.get("environment"):
            yield ("secrets", name), "the secret has no value; add file or environment"
    yield from _cycles(parts)


class _Check:
    """The checks of one service."""

    def __init__(self, parts: Parts, name: str, service: Object) -> None:
        self._parts = parts
        self._service = service
        self._path: Path = ("services", name)

    def faults(self) -> Iterator[Fault]:
        service = self._service
        if not service.get("image") and "build" not in service and "provider" not in service:
            yield self._path, "the service has neither image nor build; add one of both"
        yield from self._build_faults()
        yield from self._network_faults()
        yield from self._reference_faults()
        test = (service.get("healthcheck") or {}).get("test")
        if test and test[0] not in ("CMD", "CMD-SHELL", "NONE"):
            yield (*self._path, "healthcheck", "test"), "the list begins with another word; use CMD, CMD-SHELL or NONE"
        yield from self._limit_faults()
        for index, rule in enumerate((service.get("develop") or {}).get("watch") or ()):
            if not rule.get("target") and rule["action"] not in ("rebuild", "restart"):
                yield (
                    (*self._path, "develop", "watch", index),
                    f"the action {rule['action']} needs a target; add target",
                )
        yield from self._mount_faults()

    def _build_faults(self) -> Iterator[Fault]:
        build = self._service.get("build")
        if build is None:
            return
        path = (*self._path, "build")
        if build.get("dockerfile_inline") and build.get("dockerfile"):
            yield path, "dockerfile and dockerfile_inline exclude each other; remove one of both"
        everything = {**self._parts.disabled, **self._parts.services}
        for context, value in (build.get("additional_contexts") or {}).items():
            if value.startswith("service:"):
                target = value.removeprefix("service:")
                at = (*path, "additional_contexts", context)
                if target not in everything:
                    yield at, f"there is no service {target}{choices(target, list(everything))}"
                elif "build" not in everything[target]:
                    yield at, f"the service {target} has no build; name a service with build"
        platform = self._service.get("platform")
        if build.get("platforms") and platform and platform not in build["platforms"]:
            yield (*path, "platforms"), f"the platform {platform} of the service is missing; add {platform}"
        yield from self._missing("secrets", [each.get("source", "") for each in build.get("secrets") or ()], "build")

    def _network_faults(self) -> Iterator[Fault]:
        service, mode = self._service, self._service.get("network_mode", "")
        if mode and service.get("networks"):
            yield (*self._path, "network_mode"), "network_mode and networks exclude each other; remove one of both"
        yield from self._missing("networks", list(service.get("networks") or {}))
        target = mode.removeprefix("service:")
        if mode.startswith("service:") and target not in self._parts.services:
            yield (*self._path, "network_mode"), self._absent(target)

    def _reference_faults(self) -> Iterator[Fault]:
        service, parts = self._service, self._parts
        for other, how in (service.get("depends_on") or {}).items():
            if other in parts.services or (other in parts.disabled and not how["required"]):
                continue
            text = f"{other} is a job; depend on a service" if other in parts.jobs else self._absent(other)
            yield (*self._path, "depends_on", other), text
        for index, mount in enumerate(service.get("volumes") or ()):
            source = mount.get("source", "")
            if mount.get("type") == "volume" and source and not self._is_declared("volumes", source):
                yield (*self._path, "volumes", index), self._undeclared("volumes", source)
        for section in ("configs", "secrets"):
            yield from self._missing(section, [each.get("source", "") for each in service.get(section) or ()])
        yield from self._missing("models", list(service.get("models") or {}))

    def _missing(self, section: str, names: list[str], below: str = "") -> Iterator[Fault]:
        """Yields the faults of names that the section of the project does not have."""
        path = (*self._path, below, section) if below else (*self._path, section)
        for index, name in enumerate(names):
            if not self._is_declared(section, name):
                yield (*path, name if section in ("networks", "models") else index), self._undeclared(section, name)

    def _is_declared(self, section: str, name: str) -> bool:
        # A reference to a variable that is not replaced may have any value.
        return name in self._parts.resources[section] or "${" in name

    def _undeclared(self, section: str, name: str) -> str:
        return f"{name} is not declared; add {name} to {section} of the file"

    def _absent(self, name: str) -> str:
        if name in self._parts.disabled:
            profiles = " or ".join(self._parts.disabled[name].get("profiles") or ())
            return f"the service {name} is not enabled; enable the profile {profiles}, or set required: false"
        return f"there is no service {name}{choices(name, list(self._parts.services))}"

    def _limit_faults(self) -> Iterator[Fault]:
        service = self._service
        deploy = service.get("deploy") or {}
        scale, replicas = service.get("scale"), deploy.get("replicas")
        if isinstance(scale, str) or isinstance(replicas, str):
            # References to variables that are not replaced.
            return
        if scale is not None and replicas is not None and scale != replicas:
            yield (*self._path, "scale"), "scale and deploy.replicas differ; remove one of both"
        for path, value in ((("scale",), scale), (("deploy", "replicas"), replicas)):
            if value is not None and value < 0:
                yield (*self._path, *path), "the number is negative; write 0 or more"
        limits, reservations = (deploy.get("resources", {}).get(name) for name in ("limits", "reservations"))
        for name, other, values in (
            ("cpus", "cpus", limits),
            ("mem_limit", "memory", limits),
            ("mem_reservation", "memory", reservations),
            ("pids_limit", "pids", limits),
        ):
            if service.get(name) and values is not None and values.get(other) != service[name]:
                where = "reservations" if values is reservations and name == "mem_reservation" else "limits"
                text = f"{name} and deploy.resources.{where}.{other} differ; remove one of both"
                yield (*self._path, name), text
        count = scale if scale is not None else replicas if replicas is not None else 1
        if count > 1 and service.get("container_name"):
            text = f"{count} containers cannot have the same name; remove container_name, or use one container"
            yield (*self._path, "container_name"), text

    def _mount_faults(self) -> Iterator[Fault]:
        targets: dict[str, str] = {}
        mounts = [("tmpfs", i, each.partition(":")[0]) for i, each in enumerate(self._service.get("tmpfs") or ())]
        mounts += [("volumes", i, each.get("target", "")) for i, each in enumerate(self._service.get("volumes") or ())]
        for section, index, target in mounts:
            if target in targets:
                text = f"{target} is already the target of {targets[target]}; use another target"
                yield (*self._path, section, index), text
            targets[target] = f"{section}[{index}]"


def _cycles(parts: Parts) -> Iterator[Fault]:
    """Yields the first service of each cycle of dependencies."""
    edges: dict[str, list[str]] = {
        name: [other for other in service.get("depends_on") or {} if other in parts.services]
        for name, service in parts.services.items()
    }
    done: set[str] = set()
    for start in sorted(edges):
        stack: list[tuple[str, Any]] = [(start, iter(edges[start]))]
        trail = [start]
        while stack and start not in done:
            name, others = stack[-1]
            other = next(others, None)
            if other is None:
                done.add(name)
                stack.pop()
                trail.pop()
            elif other in trail:
                cycle = [*trail[trail.index(other) :], other]
                text = f"the services wait for each other: {' -> '.join(cycle)}; remove one of these dependencies"
                yield ("services", name, "depends_on", other), text
                done.update(trail)
                break
            elif other not in done:
                stack.append((other, iter(edges[other])))
                trail.append(other)
