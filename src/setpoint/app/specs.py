"""Converts services and tasks to the specs of Executables and Containers. Empty fields are omitted, so that objects
contain only the fields of the file."""

import os.path
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from setpoint.app import forms
from setpoint.app.commands import command, words
from setpoint.app.container_args import mount_arguments, run_args, shares_with
from setpoint.app.container_fields import Attachment, ContainerFields, File
from setpoint.app.environment import AppEnvironment
from setpoint.app.faults import Fault
from setpoint.app.model import AppFile, Service, Workload
from setpoint.app.part_checks import source_faults
from setpoint.app.parts import Build, BuildSecret, Limit, Mount
from setpoint.app.ports import ServedPort
from setpoint.app.probes import health_probes
from setpoint.app.values import User, Values
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Path
from setpoint.workload.engine.run_arg_values import size

_CONTAINER_RESTARTS = {"never": "no", "failure": "on-failure", "always": "always", "unless-stopped": "unless-stopped"}
# Fields with references to values that are known before the start.
_LITERAL_FIELDS = ("user", "tmpfs", "extra_hosts", "devices", "labels", "cap_add", "cap_drop", "networks", "resources")
_PROCESS_RESTARTS = {"never": "Never", "failure": "OnFailure", "always": "Always"}


def without_empty(fields: Mapping[str, Any]) -> Object:
    """Returns the fields with a non-empty value."""
    return {name: value for name, value in fields.items() if value not in (None, "", (), [], {}, False)}


class Specs:
    """Builds the specs of one app's workloads."""

    def __init__(self, app: AppFile, environment: AppEnvironment, values: Values, faults: list[Fault]) -> None:
        self._app, self._environment, self._values, self._faults = app, environment, values, faults
        # The services with containers of a known name.
        self._shared = {name for _, each in forms.everything(app) for name in shares_with(each)}

    def path_of(self, text: str) -> str:
        """Returns a path of the file as an absolute path."""
        home = self._environment.variables.get("HOME", "~")
        if text == "~" or text.startswith("~/"):
            text = home + text[1:]
        return os.path.normpath(os.path.join(self._environment.directory, text))

    def process(self, user: User, ports: Mapping[str, ServedPort], lines: Mapping[str, str]) -> Object:
        """Returns the spec of an Executable, without dependsOn and watch."""
        workload = user.workload
        directory = self.path_of(self._values.literal(workload.dir, user, (*user.path, "dir")))
        first, *rest = command(workload.run).words
        program = self._values.literal(first, user, (*user.path, "run"))
        spec: Object = {
            "executablePath": os.path.normpath(os.path.join(directory, program)) if "/" in program else program,
            "workingDirectory": directory,
            "args": [self._values.template(word, user, (*user.path, "run")) for word in rest] + self._args(user),
            "env": self._env(user),
            "envFiles": self._env_files(user),
            "ambientEnvironment": None if workload.inherit_env else {"behavior": "DoNotInherit"},
            "stdin": workload.stdin,
            **self._both(user),
        }
        if isinstance(workload, Service):
            restart = forms.restart(workload.restart)
            spec |= {
                "persistent": workload.keep,
                "restartPolicy": _PROCESS_RESTARTS[restart.on] if restart.on != "never" else None,
                "maxRestarts": restart.max,
                "serves": [without_empty({"service": port.service, "port": port.listens}) for port in ports.values()],
                "healthProbes": health_probes(workload, user, self._values, ports, lines),
            }
        return without_empty(spec)

    def container(
        self, user: User, ports: Mapping[str, ServedPort], lines: Mapping[str, str], number: int | None = None
    ) -> Object:
        """Returns the spec of a Container, without dependsOn and watch. `number` is that of a replica."""
        workload = self._resolved(user)
        entrypoint = [
            self._values.literal(word, user, (*user.path, "entrypoint")) for word in words(workload.entrypoint or ())
        ]
        mounts = [self._mount(mount) for mount in self.mounts(user)]
        spec: Object = {
            "image": self._values.literal(workload.image, user, (*user.path, "image")),
            "build": self._build(user),
            "command": entrypoint[0] if entrypoint else "",
            "args": entrypoint[1:] + self._args(user),
            "env": self._env(user),
            "envFiles": self._env_files(user),
            "workingDirectory": self._values.literal(workload.dir, user, (*user.path, "dir")),
            "volumeMounts": [mount for mount in mounts if isinstance(mount, dict)],
            "createFiles": create_files(workload.files, self._values.secret_key, (*user.path, "files")),
            "networks": [self._attachment(user.name, name, each) for name, each in forms.networks(workload).items()],
            "resources": self._resources(workload),
            "user": workload.user,
            "pullPolicy": workload.pull,
            "privileged": workload.privileged,
            "capAdd": list(workload.cap_add),
            "capDrop": list(workload.cap_drop),
            "tmpfs": list(forms.many(workload.tmpfs)),
            "ulimits": limits(workload.ulimits),
            "extraHosts": list(workload.extra_hosts),
            "devices": list(workload.devices),
            "labels": engine_labels(workload.labels),
            "containerName": self._container_name(user.name, number),
            "runArgs": [
                *run_args(workload, self._container_name),
                *(each for mount in mounts if isinstance(mount, list) for each in mount),
                *(f"--label={key}=" for key, value in workload.labels.items() if not value),
                *(["--entrypoint="] if workload.entrypoint is not None and not entrypoint else []),
            ],
            **self._both(user),
        }
        if isinstance(workload, Service):
            restart = forms.restart(workload.restart)
            name = user.name if number is None else f"{user.name}-{number}"
            spec |= {
                "persistent": workload.keep,
                "restartPolicy": _CONTAINER_RESTARTS[restart.on] if restart.on != "never" else None,
                "maxRestarts": restart.max,
                "ports": [_published(port) for port in ports.values()],
                "serves": [{"service": port.service, "port": _mapped(port, ports)} for port in ports.values()],
                "healthProbes": health_probes(workload, user, self._values, ports, lines, name),
            }
        return without_empty(spec)

    def _resolved(self, user: User) -> Workload:
        """Returns the workload with resolved references in the fields that the engine interprets."""
        names = (*ContainerFields.__struct_fields__, *_LITERAL_FIELDS)
        made = {
            name: self._values.literals(getattr(user.workload, name), user, (*user.path, name))
            for name in names
            if getattr(user.workload, name)
        }
        return msgspec.structs.replace(user.workload, **made)

    def _container_name(self, name: str, number: int | None = None) -> str:
        """Returns the fixed name of a container in the engine, or an empty text if the controller may choose one."""
        workload = self._app.services.get(name) or self._app.tasks[name]
        kept = isinstance(workload, Service) and workload.keep
        user = User("services" if name in self._app.services else "tasks", name, workload)
        given = self._values.literals(workload.container_name, user, (*user.path, "container_name"))
        fixed = given or (f"{self._app.app}-{name}" if kept or name in self._shared else "")
        return f"{fixed}-{number}" if fixed and number is not None else fixed

    def _attachment(self, name: str, network: str, given: Attachment) -> Object:
        linked = [
            alias
            for _, other in forms.everything(self._app)
            if network in forms.networks(other)
            for target, alias in forms.linked(other).items()
            if target == name
        ]
        return without_empty(
            {
                "name": network,
                "aliases": list(dict.fromkeys([name, *given.aliases, *linked])),
                "ipv4Address": given.ipv4_address,
                "ipv6Address": given.ipv6_address,
                "linkLocalAddresses": list(given.link_local_ips),
                "macAddress": given.mac_address,
                "driverOptions": given.driver_opts,
                "gatewayPriority": given.gw_priority,
            }
        )

    def _both(self, user: User) -> Object:
        workload = user.workload
        stop, logs, terminal = workload.stop, workload.logs, forms.terminal(workload.terminal)
        return {
            "stopSignal": forms.signal(stop.signal) if stop and stop.signal else "",
            "stopTimeout": stop.grace if stop else "",
            "terminal": {"cols": terminal.cols, "rows": terminal.rows} if terminal else None,
            "logs": without_empty({"maxBytes": logs.max_bytes, "maxFiles": logs.max_files}) if logs else None,
            "restartBackoff": self._backoff(workload),
        }

    @staticmethod
    def _backoff(workload: Workload) -> Object | None:
        if not isinstance(workload, Service):
            return None
        restart = forms.restart(workload.restart)
        first, longest = forms.backoff(restart.backoff)
        return without_empty({"initial": first, "max": longest or first, "resetAfter": restart.reset})

    def _args(self, user: User) -> list[str]:
        path: Path = (*user.path, "args")
        return [self._values.template(word, user, path) for word in words(user.workload.args)]

    def _env(self, user: User) -> list[Object]:
        """Returns the variables of the app, overridden by those of the workload."""
        found: dict[str, Object] = {}
        for prefix, env in (((), self._app.env), (user.path, user.workload.env)):
            for name, value in env.items():
                text = self._environment.variables.get(name) if value is None else str(value)
                if value is None:
                    text = None if text is None else text.replace("$", "$$")
                if text is not None:
                    filled = self._values.template(text, user, (*prefix, "env", name))
                    found[name] = {"name": name, "value": filled}
        return list(found.values())

    def _env_files(self, user: User) -> list[str]:
        return [self.path_of(file) for file in forms.many(user.workload.env_file)]

    def _build(self, user: User) -> Object | None:
        given = forms.build(user.workload.build)
        if given is None:
            return None
        build: Build = self._values.literals(given, user, (*user.path, "build"))
        args = [{"name": name, "value": str(value)} for name, value in build.args.items() if value is not None]
        return without_empty(
            {
                "context": self.path_of(build.context),
                "dockerfile": build.dockerfile,
                "dockerfileInline": build.dockerfile_inline,
                "stage": build.target,
                "args": args,
                "platform": build.platform,
                "tags": list(build.tags),
                "cacheFrom": list(build.cache_from),
                "extraHosts": list(build.extra_hosts),
                "labels": engine_labels(build.labels),
                "network": build.network,
                "noCache": build.no_cache,
                "pull": build.pull,
                "shmSize": self._bytes(build.shm_size, (*user.path, "build", "shm_size")),
                "ulimits": limits(build.ulimits),
                "secrets": [self._build_secret(each) for each in build.secrets],
            }
        )

    def _build_secret(self, secret: BuildSecret) -> Object:
        if secret.file:
            return {"id": secret.id, "type": "file", "source": self.path_of(secret.file)}
        value = self._environment.variables.get(secret.environment, "")
        return {"id": secret.id, "type": "env", "source": secret.environment, **({"value": value} if value else {})}

    def _bytes(self, given: str | int, path: Path) -> int:
        try:
            return size(str(given)) if given else 0
        except ValueError as error:
            self._faults.append((path, f"invalid size {given!r}: {error}"))
            return 0

    def mounts(self, user: User) -> list[Mount]:
        """Returns the mounts of a container. References are resolved first, because their values may contain colons."""
        found = []
        for index, value in enumerate(user.workload.volumes):
            path: Path = (*user.path, "volumes", index)
            try:
                if isinstance(value, Mount):
                    found.append(self._values.literals(value, user, path))
                elif text := self._values.literal(value, user, path):
                    found.append(forms.mount(text))
            except ValueError as error:
                self._faults.append((path, str(error)))
            else:
                self._faults += (
                    fault
                    for mount in found[-1:]
                    if mount.type in ("", "volume")
                    for fault in source_faults(path, mount.source)
                )
        return found

    def _mount(self, mount: Mount) -> Object | list[str]:
        """Returns the mount as an entry of `volumeMounts`, or as arguments if these lack an option of the mount."""
        kind = mount.type or ("bind" if forms.is_path(mount.source) else "volume")
        source = mount.source
        if kind == "bind":
            source = self.path_of(source)
        elif kind == "volume" and source:
            source = volume_name(self._app, source)
        if arguments := mount_arguments(mount, kind, source):
            return arguments
        return without_empty({"type": kind, "source": source, "target": mount.target, "readOnly": mount.read_only})

    @staticmethod
    def _resources(workload: Workload) -> Object | None:
        given = workload.resources
        return None if given is None else without_empty({"cpus": _text(given.cpus), "memory": _text(given.memory),
                                                "pids": given.pids})  # fmt: skip


def _text(value: str | int | float) -> str:
    return str(value)


def engine_labels(labels: Mapping[str, str]) -> list[Object]:
    """Returns the labels of a resource in the container engine. Objects have no labels without a value."""
    return [{"key": key, "value": str(value)} for key, value in labels.items() if str(value)]


def limits(given: Mapping[str, int | Limit]) -> list[Object]:
    """Returns the limits of processes."""
    long = ((name, each if isinstance(each, Limit) else Limit(soft=each, hard=each)) for name, each in given.items())
    return [{"name": name, "soft": each.soft, "hard": each.hard} for name, each in long]


def create_files(files: Iterable[File], secret_key: Callable[[str, Path], Object], path: Path) -> list[Object]:
    """Returns the files that are written into a container, by directory."""
    found: dict[str, list[Object]] = {}
    for index, file in enumerate(files):
        directory, _, name = file.target.rpartition("/")
        content: Object = {"contents": file.content}
        if file.secret:
            content = {"secret": secret_key(file.secret, (*path, index, "secret"))}
        entry = {"name": name, "owner": int(file.uid), "group": int(file.gid), "mode": int(file.mode, 8), **content}
        found.setdefault(directory or "/", []).append(entry)
    return [{"destination": directory, "entries": entries} for directory, entries in found.items()]


def _mapped(port: ServedPort, ports: Mapping[str, ServedPort]) -> int | None:
    """Returns the port by which the published address is found: on this machine if the container publishes the same
    port several times."""
    same = [each for each in ports.values() if each.listens == port.listens]
    return port.host if len(same) > 1 and port.host and not port.proxied else port.listens


def _published(port: ServedPort) -> Object:
    """Returns the published port. Behind our proxy, the engine chooses the port."""
    return without_empty(
        {
            "containerPort": port.listens,
            "hostPort": None if port.proxied else port.host,
            "protocol": port.protocol if port.protocol != "TCP" else "",
            "hostIP": "" if port.proxied else port.address,
        }
    )


def volume_name(app: AppFile, name: str) -> str:
    """Returns the name of a volume in the container engine."""
    declared = app.volumes.get(name)
    return (declared.name if declared else "") or f"{app.app}-{name}"
