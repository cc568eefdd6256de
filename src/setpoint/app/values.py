"""Resolves the references in the texts of an app file: to values if they are known, otherwise to templates.

The result depends on the workload with the reference. A process reaches others at addresses of this machine. A
container reaches containers by name, at the ports they listen on, and processes through a tunnel of its network.
"""

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from setpoint.app import forms
from setpoint.app.commands import Word
from setpoint.app.environment import AppEnvironment
from setpoint.app.faults import Fault
from setpoint.app.model import AppFile, Workload
from setpoint.app.parts import Part
from setpoint.app.ports import Ports, ServedPort
from setpoint.app.references import BadReference, ValueReference, parse
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Path, choices
from setpoint.workload.templates import escaped

_WHAT = ("host", "address", "port", "url", "env")
_ROOTS = ("services", "port", "address", "env", "secret", "app")


class User(NamedTuple):
    """The workload that contains a text."""

    section: str
    name: str
    workload: Workload

    @property
    def container(self) -> bool:
        return forms.is_container(self.workload)

    @property
    def path(self) -> Path:
        return self.section, self.name

    @property
    def networks(self) -> tuple[str, ...]:
        return tuple(forms.networks(self.workload))


class _Template(NamedTuple):
    """A template, which is filled in when the workload starts."""

    text: str


class Values:
    """Resolves the texts of one app, and records the secrets and tunnels they need. Collects faults."""

    def __init__(self, app: AppFile, environment: AppEnvironment, ports: Ports, faults: list[Fault]) -> None:
        self._app, self._environment, self._ports, self._faults = app, environment, ports, faults
        self.secrets: dict[str, str] = {}
        # The Services that containers reach through a tunnel, by network.
        self.tunnels: dict[tuple[str, str], str] = {}

    def template(self, text: str | Word, user: User, path: Path) -> str:
        """Returns the text as a template, for a field that supports templates."""
        found = self._pieces(text, user, path)
        return "".join(piece.text if isinstance(piece, _Template) else escaped(piece) for piece in found)

    def literal(self, text: str | Word, user: User, path: Path) -> str:
        """Returns the text for a field that must be known before the app starts."""
        found = self._pieces(text, user, path)
        if any(isinstance(piece, _Template) for piece in found):
            message = "this must be known before the app starts; only ${env.NAME} and ${app.name} are supported here"
            self._faults.append((path, message))
            return ""
        return "".join(map(str, found))

    def literals(self, value: Any, user: User, path: Path) -> Any:
        """Returns a value with all texts in lists, maps and parts resolved, for fields that must be known before the
        app starts."""
        if isinstance(value, str):
            return self.literal(value, user, path) if "$" in value else value
        if isinstance(value, tuple):
            return tuple(self.literals(each, user, (*path, index)) for index, each in enumerate(value))
        if isinstance(value, dict):
            return {name: self.literals(each, user, (*path, name)) for name, each in value.items()}
        if isinstance(value, Part):
            fields = ((each.name, each.encode_name) for each in msgspec.structs.fields(value))
            made = {name: self.literals(getattr(value, name), user, (*path, key)) for name, key in fields}
            return msgspec.structs.replace(value, **made)
        return value

    def secret_key(self, name: str, path: Path) -> Object:
        """Returns the place of a secret for a file of a container, and records the secret."""
        try:
            self._secret(name)
        except BadReference as fault:
            self._faults.append((path, str(fault)))
        return {"name": self._app.app, "key": name}

    def secret_data(self) -> dict[str, str]:
        """Returns the referenced secrets as the data of a Secret."""
        return {name: base64.b64encode(value.encode()).decode() for name, value in sorted(self.secrets.items())}

    def _pieces(self, text: str | Word, user: User, path: Path) -> list[str | _Template]:
        try:
            parts: Sequence[str | ValueReference] = parse(text) if isinstance(text, str) else text
            return [part if isinstance(part, str) else self._value(part, user, ()) for part in parts]
        except BadReference as fault:
            self._faults.append((path, str(fault)))
            return []

    def _value(self, reference: ValueReference, user: User, inside: tuple[str, ...]) -> str | _Template:
        """Resolves a reference. `inside` are the variables being resolved. Raises BadReference."""
        root, *rest = reference.path
        if root == "env" and len(rest) == 1:
            return self._variable(reference, rest[0])
        if reference.default is not None:
            raise BadReference(f"{reference}: only ${{env.NAME:-default}} has a default")
        if root == "secret" and len(rest) == 1:
            return self._secret(rest[0])
        if root in ("port", "address") and len(rest) == 1:
            return self._own(root, rest[0], user)
        if root == "services" and len(rest) >= 2:
            return self._other(reference, rest[0], rest[1], rest[2:], user, inside)
        if reference.path == ("app", "name"):
            return self._app.app
        if reference.path == ("app", "dir"):
            return self._environment.directory
        raise BadReference(f"unknown reference {reference}{_suggestion(reference, root)}")

    def _variable(self, reference: ValueReference, name: str) -> str:
        value = self._environment.variables.get(name)
        if value or (value is not None and reference.default is None):
            return value
        if reference.default is None:
            message = f"the variable {name} is not set; set the variable in the environment or in an env_file"
            raise BadReference(f"{message}, or write ${{env.{name}:-default}}")
        return reference.default

    def _secret(self, name: str) -> _Template:
        self.secrets[name] = self._secret_value(name)
        return _Template(f"{{{{ secret {quote(self._app.app)} {quote(name)} }}}}")

    def _secret_value(self, name: str) -> str:
        declared = self._app.secrets.get(name)
        if declared is not None and declared.file:
            return self._environment.secrets.get(name, "")
        if declared is not None:
            wanted = [declared.environment]
        else:
            wanted = [name, name.upper().replace("-", "_")]
        for variable in wanted:
            if variable in self._environment.variables:
                return self._environment.variables[variable]
        message = f"the secret {name} has no value: set {wanted[-1]} in the environment or in an env_file"
        raise BadReference(f"{message}, or declare its source under secrets")

    def _own(self, root: str, name: str, user: User) -> str | _Template:
        ports = self._ports.get(user.name, {})
        if name not in ports:
            known = choices(name, list(ports)) if ports else "; add the port under ports"
            raise BadReference(f"{user.name} has no port {name}{known}")
        port = ports[name]
        if root == "address":
            return "0.0.0.0" if port.container else _Template(f"{{{{ addressForServing {quote(port.service)} }}}}")
        if port.listens:
            return str(port.listens)
        return _Template(f"{{{{ portForServing {quote(port.service)} }}}}")

    def _other(
        self, reference: ValueReference, name: str, field: str, rest: list[str], user: User, inside: tuple[str, ...]
    ) -> str | _Template:
        if name not in self._app.services:
            known = choices(name, list(self._app.services)) if self._app.services else ""
            raise BadReference(f"{reference}: unknown service {name}{known}")
        if field == "env" and len(rest) == 1:
            return self._env_of(reference, name, rest[0], user, inside)
        if field not in _WHAT[:-1] or len(rest) > 1:
            raise BadReference(f"{reference}: a service has no {field}{choices(field, _WHAT)}")
        port = self._port_of(reference, name, rest)
        if user.container and port.container:
            self._share_network(reference, name, user)
            return {"port": str(port.listens), "url": f"{port.scheme}://{name}:{port.listens}"}.get(field, name)
        service = port.service
        if user.container:
            service = self._tunnel(port, user)
        name = quote(service)
        return _Template(
            {
                "host": f"{{{{ hostFor {name} }}}}",
                "address": f"{{{{ addressFor {name} }}}}",
                "port": f"{{{{ portFor {name} }}}}",
                "url": f"{{{{ urlFor {name} {quote(port.scheme)} }}}}",
            }[field]
        )

    def _port_of(self, reference: ValueReference, name: str, rest: list[str]) -> ServedPort:
        ports = self._ports[name]
        if not ports:
            raise BadReference(f"{reference}: the service {name} has no ports; add one under services.{name}.ports")
        if rest:
            if rest[0] not in ports:
                raise BadReference(f"{reference}: {name} has no port {rest[0]}{choices(rest[0], list(ports))}")
            return ports[rest[0]]
        if len(ports) > 1:
            message = f"{reference}: {name} has several ports; choose one: {str(reference)[:-1]}.{next(iter(ports))}}}"
            raise BadReference(message)
        return next(iter(ports.values()))

    def _share_network(self, reference: ValueReference, name: str, user: User) -> None:
        theirs = forms.networks(self._app.services[name])
        if not {*user.networks} & {*theirs}:
            message = f"{reference}: {user.name} and {name} share no network"
            raise BadReference(f"{message}; add one of {', '.join(theirs)} to the networks of {user.name}")

    def _tunnel(self, port: ServedPort, user: User) -> str:
        if not user.networks:
            raise BadReference(f"{port.service}: {user.name} has no network of its own; remove network_mode")
        network = user.networks[0]
        found = self.tunnels[network, port.service] = f"{port.service}-in-{network}"
        return found

    def _env_of(
        self, reference: ValueReference, name: str, variable: str, user: User, inside: tuple[str, ...]
    ) -> str | _Template:
        """Resolves a variable of another service; values that only that service knows become a template."""
        env = {**self._app.env, **self._app.services[name].env}
        if variable not in env:
            raise BadReference(f"{reference}: {name} has no variable {variable}{choices(variable, list(env))}")
        here = f"{name}.{variable}"
        if here in inside:
            raise BadReference(f"{reference}: the value of {' needs that of '.join([*inside, here])}")
        parts = parse(str(env[variable] if env[variable] is not None else f"${{env.{variable}}}"))
        own_references = [
            part for part in parts if isinstance(part, ValueReference) and part.path[0] in ("port", "address")
        ]
        service = self._app.services[name]
        if own_references:
            if service.replicas is not None:
                raise BadReference(f"{reference}: every replica of {name} has its own {own_references[0]}")
            kind = "Container" if forms.is_container(service) else "Executable"
            return _Template(f"{{{{ envOf {quote(kind)} {quote(name)} {quote(variable)} }}}}")
        pieces = [part if isinstance(part, str) else self._value(part, user, (*inside, here)) for part in parts]
        if all(isinstance(piece, str) for piece in pieces):
            return "".join(map(str, pieces))
        return _Template("".join(each.text if isinstance(each, _Template) else escaped(each) for each in pieces))


def _suggestion(reference: ValueReference, root: str) -> str:
    """Returns a suggestion for an unknown reference."""
    if len(reference.path) == 1 and root not in _ROOTS:
        return f"; write ${{env.{root}}} for a variable of the environment, or $${{{root}}} to leave it to a shell"
    if root not in _ROOTS:
        return choices(root, _ROOTS)
    examples = {"services": "services.NAME.url", "app": "app.name or app.dir"}
    return f"; write ${{{examples.get(root, f'{root}.NAME')}}}"
