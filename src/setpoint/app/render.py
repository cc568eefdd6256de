"""Renders an app to objects: Services, Executables, Containers, Tasks and their dependencies. A pure function.

The names of objects derive from those in the file, and labels have the app, the session and the part of the app, so
that the objects of a changed file can be compared with the previous ones (`changes`). The objects are returned in the
order in which they should be applied.
"""

import hashlib
from collections.abc import Iterable, Mapping

from setpoint.app import forms
from setpoint.app.checks import check
from setpoint.app.container_args import shares_with
from setpoint.app.environment import AppEnvironment
from setpoint.app.faults import Fault, Where, nowhere, refuse
from setpoint.app.model import AppFile, Ipam, Network, Service, Task, Volume
from setpoint.app.ports import Ports, ServedPort, all_ports, with_numbers
from setpoint.app.specs import Specs, engine_labels, volume_name, without_empty
from setpoint.app.values import User, Values
from setpoint.app.watches import Watches
from setpoint.objects.tree import Object, copy
from setpoint.workload.dependencies import deadlocks
from setpoint.workload.kinds.api_names import (
    APP_LABEL,
    DISPLAY_NAME,
    GROUP,
    GROUP_LABEL,
    OWN_GROUP,
    PART_LABEL,
    SCHEME,
    SESSION_LABEL,
    VERSION,
)

_OVERLAPS = {"allow": "Allow", "forbid": "Forbid", "replace": "Replace"}


def render(app: AppFile, environment: AppEnvironment, where: Where = nowhere) -> list[Object]:
    """Returns the objects of an app with its profiles applied. Raises Mistakes."""
    app, faults = with_numbers(app, environment.variables)
    refuse([*faults, *check(app)], where)
    rendering = _Rendering(app, environment)
    objects = rendering.everything()
    refuse(rendering.faults, where)
    refuse(_circles(app, objects), where)
    return objects


def _circles(app: AppFile, objects: list[Object]) -> Iterable[Fault]:
    for found in deadlocks([tree for tree in objects if tree["apiVersion"].startswith((GROUP, OWN_GROUP))]):
        names = [name for _, name in found.keys if name in app.services or name in app.tasks]
        first = names[0] if names else ""
        section = "services" if first in app.services else "tasks"
        yield (section, first, "after"), f"circular dependency: {found.message}"


class _Rendering:
    """The rendering of one app."""

    def __init__(self, app: AppFile, environment: AppEnvironment) -> None:
        self._app, self._environment = app, environment
        self.faults: list[Fault] = []
        self._ports: Ports = all_ports(app)
        self._values = Values(app, environment, self._ports, self.faults)
        self._specs = Specs(app, environment, self._values, self.faults)
        self._watches = Watches(app, self._specs.path_of)
        self._automatic = forms.automatic(app)
        self._cascading = self._cascade()
        self._users = [
            *(User("tasks", name, task) for name, task in app.tasks.items()),
            *(User("services", name, service) for name, service in app.services.items()),
        ]

    def everything(self) -> list[Object]:
        workloads = [tree for user in self._users for tree in self._workload(user)]
        return [
            self._app_object(),
            *self._secrets(),
            *(self._labelled(tree) for tree in self._environment.crds),
            *self._volumes(),
            *self._networks(),
            *(self._service(name, port) for name, ports in self._ports.items() for port in ports.values()),
            *self._tunnels(),
            *workloads,
            *(self._labelled(tree) for tree in self._environment.objects),
        ]

    def _object(self, kind: str, name: str, spec: Object, part: str = "", api: str = f"{GROUP}/{VERSION}") -> Object:
        workload = self._app.services.get(part) or self._app.tasks.get(part)
        groups = workload.groups if workload is not None and kind != "Service" else ()
        labels = self._labels(part) | {f"{GROUP_LABEL}{group}": "true" for group in groups}
        metadata = {"name": name, "labels": labels}
        return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}

    def _labels(self, part: str = "") -> dict[str, str]:
        return without_empty({APP_LABEL: self._app.app, SESSION_LABEL: self._environment.session, PART_LABEL: part})

    def _labelled(self, tree: Object) -> Object:
        made: Object = copy(tree)
        metadata = made.setdefault("metadata", {})
        metadata["labels"] = {**(metadata.get("labels") or {}), **self._labels()}
        return made

    def _app_object(self) -> Object:
        """Returns the App object, which describes the app."""
        controllers = [forms.controller(each) for each in self._app.controllers]
        spec = {
            "directory": self._environment.directory,
            "services": list(self._app.services),
            "tasks": list(self._app.tasks),
            "controllers": [without_empty({"module": each.module, "name": each.name}) for each in controllers],
        }
        return self._object("App", self._app.app, without_empty(spec), api=f"{OWN_GROUP}/{VERSION}")

    def _secrets(self) -> Iterable[Object]:
        if data := self._values.secret_data():
            metadata = {"name": self._app.app, "namespace": "default", "labels": self._labels()}
            yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}

    def _volumes(self) -> Iterable[Object]:
        for name in self._used_volumes():
            volume = self._app.volumes.get(name) or Volume()
            spec: Object = {"name": volume_name(self._app, name), "persistent": volume.keep or volume.external}
            spec |= without_empty(
                {
                    "existing": volume.external,
                    "driver": volume.driver,
                    "options": volume.driver_opts,
                    "labels": engine_labels(volume.labels),
                }
            )
            yield self._object("ContainerVolume", name, spec)

    def _used_volumes(self) -> list[str]:
        return sorted({name for user in self._users for name in self._volumes_of(user)})

    def _volumes_of(self, user: User) -> list[str]:
        sources = (mount.source for mount in self._specs.mounts(user) if mount.type in ("", "volume"))
        return [source for source in sources if source and not forms.is_path(source)]

    def _networks(self) -> Iterable[Object]:
        containers = [user for user in self._users if user.container]
        for name in sorted({network for user in containers for network in user.networks}):
            network = self._app.networks.get(name) or Network()
            kept = any(
                isinstance(user.workload, Service) and user.workload.keep and name in user.networks
                for user in containers
            )
            # Only a network that a later session uses again needs a fixed name in the engine.
            otherwise = name if network.external else f"{self._app.app}-{name}" if kept else ""
            spec = {
                "networkName": network.name or otherwise,
                "mode": "existing" if network.external else None,
                "persistent": kept and not network.external,
                "driver": network.driver,
                "subnet": network.subnet,
                "internal": network.internal,
                "ipv6": network.ipv6,
                "attachable": network.attachable,
                "options": network.driver_opts,
                "labels": engine_labels(network.labels),
                **_addresses(network.ipam),
            }
            yield self._object("ContainerNetwork", name, without_empty(spec))

    def _service(self, name: str, port: ServedPort) -> Object:
        spec: Object = {"protocol": port.protocol}
        if port.proxied:
            spec |= without_empty({"port": port.host, "address": port.address})
        else:
            number = port.host or (None if port.container else port.listens)
            spec |= without_empty({"addressAllocationMode": "Proxyless", "port": number})
        made = self._object("Service", port.service, spec, name)
        made["metadata"]["annotations"] = {SCHEME: port.scheme}
        return made

    def _tunnels(self) -> Iterable[Object]:
        """Yields the proxies through which containers reach processes, one for each network."""
        by_network: dict[str, list[Object]] = {}
        for (network, service), client in sorted(self._values.tunnels.items()):
            yield self._object("Service", client, {"protocol": "TCP", "addressAllocationMode": "Proxyless"})
            tunnel = {"name": service, "serverServiceName": service, "clientServiceName": client}
            by_network.setdefault(network, []).append(tunnel)
        for network, tunnels in by_network.items():
            name = f"{self._app.app}-{network}"
            spec = {"containerNetworkName": network, "aliases": [name], "tunnels": tunnels}
            yield self._object("ContainerNetworkTunnelProxy", name, spec)

    def _workload(self, user: User) -> list[Object]:
        """Returns the objects of a service or task: one, or one for each replica of a container."""
        replicas = user.workload.replicas if isinstance(user.workload, Service) and user.container else None
        if replicas is None:
            return [self._single(user, None)]
        return [self._single(user, number) for number in range(1, replicas + 1)]

    def _single(self, user: User, number: int | None) -> Object:
        ports = self._ports.get(user.name, {})
        lines = self._lines(user.name)
        if user.container:
            spec = self._specs.container(user, ports, lines, number)
        else:
            spec = self._specs.process(user, ports, lines)
        depends = self._depends(user)
        if isinstance(user.workload, Task):
            return self._task(user, user.workload, spec, depends)
        service = self._app.services[user.name]
        if depends:
            spec["dependsOn"] = depends
        spec |= self._watches.fields(service)
        if number is not None:
            replica = self._object("Container", f"{user.name}-{number}", spec, user.name)
            replica["metadata"]["annotations"] = {DISPLAY_NAME: f"{user.name}-{number}"}
            return replica
        if user.container or service.replicas is None:
            return self._object("Container" if user.container else "Executable", user.name, spec, user.name)
        template = {"labels": self._labels(user.name), "spec": spec}
        replicated = {"replicas": service.replicas, "updateStrategy": "RollingUpdate", "template": template}
        return self._object("ExecutableReplicaSet", user.name, replicated, user.name)

    def _task(self, user: User, task: Task, inner: Object, depends: list[Object]) -> Object:
        kind = "container" if user.container else "executable"
        spec: Object = {"template": {"labels": self._labels(user.name), kind: inner}}
        spec |= without_empty(
            {
                "dependsOn": depends,
                "schedule": task.schedule,
                "timeZone": task.time_zone,
                "concurrencyPolicy": _OVERLAPS[task.overlap] if task.schedule else "",
                "backoffLimit": task.retries or None,
                "activeDeadline": task.timeout,
                "suspend": user.name not in self._automatic,
            }
        )
        return self._object("Task", user.name, spec, user.name, f"{OWN_GROUP}/{VERSION}")

    def _depends(self, user: User) -> list[Object]:
        found = [
            without_empty(
                {
                    "kind": self._kind(wait.name),
                    "name": name,
                    "condition": wait.condition,
                    "restart": (wait.restart or wait.name in self._cascading) and isinstance(user.workload, Service),
                    "optional": not wait.required,
                }
            )
            for wait in self._waits(user)
            for name in self._objects_of(wait.name)
        ]
        volumes = self._volumes_of(user)
        return found + [{"kind": "ContainerVolume", "name": name, "condition": "Ready"} for name in sorted({*volumes})]

    def _waits(self, user: User) -> list[forms.Wait]:
        """Returns the dependencies of a service or task, also those on containers with shared namespaces."""
        waits = forms.waits(user.workload, self._app)
        known = {wait.name for wait in waits}
        shared = [name for name in shares_with(user.workload) if name not in known]
        return [*waits, *(forms.Wait(name, "Started") for name in dict.fromkeys(shared))]

    def _objects_of(self, name: str) -> list[str]:
        """Returns the names of the objects of a service or task."""
        service = self._app.services.get(name)
        if service is None or service.replicas is None or not forms.is_container(service):
            return [name]
        return [f"{name}-{number}" for number in range(1, service.replicas + 1)]

    def _cascade(self) -> set[str]:
        """Returns the services with a cascading restart: by their own setting, or through a dependency."""
        watches = {name: forms.watches(service.watch) for name, service in self._app.services.items()}
        found = {name for name, rules in watches.items() if any(watch.cascade for watch in rules)}
        grows = True
        while grows:
            later = {
                name
                for name, service in self._app.services.items()
                if any(wait.name in found for wait in forms.waits(service, self._app))
            }
            grows = not later <= found
            found |= later
        return found

    def _kind(self, name: str) -> str:
        if name in self._app.tasks:
            return "Task"
        service = self._app.services[name]
        if forms.is_container(service):
            return "Container"
        return "Executable" if service.replicas is None else "ExecutableReplicaSet"

    def _lines(self, name: str) -> Mapping[str, str]:
        """Returns the patterns of lines that other workloads wait for, by the names of their probes."""
        patterns = (
            wait.log for _, each in forms.everything(self._app) for wait in forms.waits(each, self._app)
            if wait.name == name and wait.log
        )  # fmt: skip
        return {f"line-{hashlib.sha256(pattern.encode()).hexdigest()[:8]}": pattern for pattern in patterns}


def _addresses(ipam: Ipam | None) -> Object:
    """Returns the fields of a network for the assignment of addresses."""
    if ipam is None:
        return {}
    pools = [
        {
            "subnet": pool.subnet,
            "gateway": pool.gateway,
            "ipRange": pool.ip_range,
            "auxiliaryAddresses": pool.aux_addresses,
        }
        for pool in ipam.config
    ]
    return {
        "ipamDriver": ipam.driver,
        "ipamOptions": ipam.options,
        "addressPools": [without_empty(pool) for pool in pools],
    }
