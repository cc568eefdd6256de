"""The functions of templates, and their access to other objects.

| function | value |
|---|---|
| `portForServing "svc"` | the port on which this workload must serve the Service |
| `addressForServing "svc"` | the address on which this workload must serve the Service |
| `portFor "svc"`, `addressFor "svc"` | port and address where the Service is reached |
| `hostFor "svc"` | the address in the form of a URL, e.g. `[::1]` |
| `urlFor "svc" ["https" ["/path"]]` | `http://address:port` |
| `envOf "Executable" "api" "PORT"` | a variable of another workload |
| `fieldOf "Container" "db" "status.containerId"` | a field of another object |
| `secret "name" "key"` | the value of a key in a Secret; the namespace is default, or part of the name: `ns/name` |
| `default "x"` | the piped value, or x if that is empty |

The predefined functions of Go (`printf`, `index`, `eq`, `and` …) are in `template_builtins`.
"""

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from setpoint.gotemplate.execution import MASK, Needs
from setpoint.gotemplate.nodes import Call, TemplateError
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Json, Object
from setpoint.workload.proxy.addresses import in_url
from setpoint.workload.service_producers import Producer, producers


class Needed(NamedTuple):
    """An object that a value waits for, and the missing part."""

    kind: str
    name: str
    missing: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.missing}"


class NotYet(Needs):
    """A value is not known yet, because other objects are not ready."""

    def __init__(self, needs: Iterable[Needed]) -> None:
        self.needs: tuple[Needed, ...] = tuple(dict.fromkeys(needs))
        super().__init__("waits for " + "; ".join(map(str, self.needs)))


class Lookup(Protocol):
    """Looks up objects for templates. None means that the object does not exist (yet)."""

    def object(self, kind: str, name: str) -> Object | None:
        """Returns a workload object."""

    def secret(self, namespace: str, name: str) -> Object | None:
        """Returns a core Secret."""

    def reserved_port(self, service: str) -> int | None:
        """Returns the port that is reserved for the workload to serve the Service."""


class TemplateContext:
    """The rendering of a template, as seen by its functions."""

    def __init__(self, text: str, subject: Object, lookup: Lookup) -> None:
        self.text, self.subject, self.lookup = text, subject, lookup
        # True: the current value must be masked.
        self.is_secret = False

    def error(self, message: str, at: int) -> TemplateError:
        return TemplateError(message, self.text, at)

    def found(self, kind: str, name: str) -> Object:
        """Returns an existing object of the API. Raises NotYet."""
        tree = self.lookup.object(kind, name)
        if tree is None:
            raise NotYet([Needed(kind, name, "it does not exist")])
        return tree

    def producer(self, call: Call, service: str) -> Producer:
        """Returns the entry of this workload for a served Service. Raises TemplateError."""
        try:
            found = next((each for each in producers(self.subject) if each.service == service), None)
        except ValueError as error:
            raise self.error(str(error), call.at) from None
        if found is None:
            message = f"this object does not serve {service}; add it to spec.serves"
            raise self.error(f"{call.function}: {message}", call.at)
        return found


def service_name(text: str) -> str:
    """Returns the name of a Service given as `name` or `namespace/name`; Services have no namespaces."""
    return text.rpartition("/")[2]


def _text(context: TemplateContext, call: Call, value: Json) -> str:
    if isinstance(value, str) and value:
        return value
    raise context.error(f"{call.function} takes names as strings in double quotes", call.at)


def _service(context: TemplateContext, call: Call, arguments: list[Json]) -> Object:
    return context.found("Service", service_name(_text(context, call, arguments[0])))


def _port_for(context: TemplateContext, call: Call, arguments: list[Json]) -> Json:
    service = _service(context, call, arguments)
    port = service.get("status", {}).get("effectivePort")
    if not port:
        raise NotYet([Needed("Service", service["metadata"]["name"], "its port is unknown")])
    return int(port)


def _address_for(context: TemplateContext, call: Call, arguments: list[Json]) -> str:
    service = _service(context, call, arguments)
    address = service.get("status", {}).get("effectiveAddress")
    if not address:
        raise NotYet([Needed("Service", service["metadata"]["name"], "its address is unknown")])
    return str(address)


def _host_for(context: TemplateContext, call: Call, arguments: list[Json]) -> str:
    return in_url(_address_for(context, call, arguments))


def _url_for(context: TemplateContext, call: Call, arguments: list[Json]) -> str:
    host, port = _host_for(context, call, arguments), _port_for(context, call, arguments)
    scheme = _text(context, call, arguments[1]) if len(arguments) > 1 else "http"
    path = str(arguments[2]) if len(arguments) > 2 else ""
    return f"{scheme}://{host}:{port}{'' if not path or path.startswith('/') else '/'}{path}"


def _port_for_serving(context: TemplateContext, call: Call, arguments: list[Json]) -> Json:
    name = service_name(_text(context, call, arguments[0]))
    producer = context.producer(call, name)
    if context.subject.get("kind") == "Container":
        return _container_port(context, call, producer)
    if producer.port:
        return producer.port
    context.found("Service", name)  # its protocol determines which ports are free
    port = context.lookup.reserved_port(name)
    if port is None:
        raise NotYet([Needed("Service", name, "no port is reserved for this workload")])
    return port


def _container_port(context: TemplateContext, call: Call, producer: Producer) -> int:
    if not producer.port:
        message = f"a Container requires a port to serve {producer.service}; set the port in spec.serves"
        raise context.error(message, call.at)
    ports = context.subject.get("spec", {}).get("ports") or ()
    for key in ("hostPort", "containerPort"):
        for port in ports:
            if port.get(key) == producer.port:
                return int(port["containerPort"])
    message = f"port {producer.port} of Service {producer.service} is not in spec.ports; add the port there"
    raise context.error(message, call.at)


def _address_for_serving(context: TemplateContext, call: Call, arguments: list[Json]) -> str:
    producer = context.producer(call, service_name(_text(context, call, arguments[0])))
    return producer.address or "localhost"


def _env_of(context: TemplateContext, call: Call, arguments: list[Json]) -> str:
    kind, name, variable = (_text(context, call, each) for each in arguments)
    other = context.found(kind, name)
    for each in other.get("status", {}).get("effectiveEnv") or ():
        if each["name"] == variable:
            value = str(each.get("value", ""))
            if MASK in value:
                message = f"{variable} of {kind} {name} is a secret; use the function secret with the Secret itself"
                raise context.error(message, call.at)
            return value
    if not other.get("status", {}).get("effectiveEnv"):
        raise NotYet([Needed(kind, name, "its environment is unknown")])
    raise context.error(f"{kind} {name} has no variable {variable}", call.at)


def _field_of(context: TemplateContext, call: Call, arguments: list[Json]) -> Json:
    kind, name, path = (_text(context, call, each) for each in arguments)
    here: Any = context.found(kind, name)
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(here, list | tuple):
            here = here[int(step)] if step.isdecimal() and int(step) < len(here) else None
        else:
            here = here.get(step) if isinstance(here, dict) else None
        if here is None:
            raise NotYet([Needed(kind, name, f"it has no {path}")])
    return thaw(here)


def _secret(context: TemplateContext, call: Call, arguments: list[Json]) -> str:
    given, key = (_text(context, call, each) for each in arguments)
    namespace, _, name = given.rpartition("/")
    namespace = namespace or "default"
    secret = context.lookup.secret(namespace, name)
    if secret is None:
        raise NotYet([Needed("Secret", f"{namespace}/{name}", "it does not exist")])
    encoded = (secret.get("data") or {}).get(key)
    if encoded is None:
        raise NotYet([Needed("Secret", f"{namespace}/{name}", f"it has no key {key}")])
    context.is_secret = True
    try:
        return base64.b64decode(encoded).decode()
    except ValueError:
        message = f"key {key} of Secret {namespace}/{name} is not UTF-8 text; mount it as a file instead"
        raise context.error(message, call.at) from None


def _default(context: TemplateContext, call: Call, arguments: list[Json]) -> Json:
    fallback, value = arguments
    return value if value not in (None, "", 0, False, [], {}) else fallback


class Function(NamedTuple):
    """A function: its body, its number of arguments, the kind of the object that the first argument names, and its
    usage."""

    body: Callable[[TemplateContext, Call, list[Json]], Json]
    least: int
    most: int
    kind: str
    usage: str


FUNCTIONS: Mapping[str, Function] = {
    "portForServing": Function(_port_for_serving, 1, 1, "Service", '{{ portForServing "service" }}'),
    "addressForServing": Function(_address_for_serving, 1, 1, "Service", '{{ addressForServing "service" }}'),
    "portFor": Function(_port_for, 1, 1, "Service", '{{ portFor "service" }}'),
    "addressFor": Function(_address_for, 1, 1, "Service", '{{ addressFor "service" }}'),
    "hostFor": Function(_host_for, 1, 1, "Service", '{{ hostFor "service" }}'),
    "urlFor": Function(_url_for, 1, 3, "Service", '{{ urlFor "service" "https" "/path" }}'),
    "envOf": Function(_env_of, 3, 3, "*", '{{ envOf "Executable" "name" "VARIABLE" }}'),
    "fieldOf": Function(_field_of, 3, 3, "*", '{{ fieldOf "Executable" "name" "status.pid" }}'),
    "secret": Function(_secret, 2, 2, "Secret", '{{ secret "namespace/name" "key" }}'),
    "default": Function(_default, 2, 2, "", '{{ .Spec.WorkingDirectory | default "/srv" }}'),
}
