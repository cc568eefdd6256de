"""The templates of stages: Go templates of YAML, with the functions of KWOK and Sprig."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from setpoint.gotemplate.builtins import Builtin
from setpoint.gotemplate.calls import check_calls
from setpoint.gotemplate.execution import ABSENT, Execution
from setpoint.gotemplate.nodes import Call, TemplateError
from setpoint.gotemplate.parser import parse
from setpoint.gotemplate.sprig import SPRIG
from setpoint.objects import yamltext
from setpoint.objects.errors import APIError
from setpoint.objects.gotext import compact_json, quote
from setpoint.objects.times import format_micro_time, format_time
from setpoint.objects.tree import Json, Object
from setpoint.version import VERSION

_CONDITIONS = (
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
)
_POD_FUNCTIONS = ("NodeIP", "PodIP", "NodeIPWith", "NodeIPsWith", "PodIPWith", "PodIPsWith")
_NODE_FUNCTIONS = ("NodeIP", "NodeName", "NodePort")
_GENERAL = ("Quote", "Now", "StartTime", "YAML", "Version", "NodeConditions")
_MOST_INDENT = 100


class Addresses(Protocol):
    """The addresses of the nodes and pods, for the functions of templates."""

    def node_address(self, name: str) -> str:
        """Returns the address of a node; empty if unknown."""

    def pod_address(self, pod: Object) -> str:
        """Returns the address of a pod on its node."""


class NoAddresses:
    """The addresses of objects that are neither pods nor nodes."""

    def node_address(self, name: str) -> str:
        return ""

    def pod_address(self, pod: Object) -> str:
        return ""


class TemplateScene(NamedTuple):
    """The values of functions: the times and the addresses."""

    now: datetime
    start: datetime
    addresses: Addresses


def functions_for(kind: str) -> Sequence[str]:
    """Returns the functions of KWOK and Sprig for objects of a kind."""
    own = _POD_FUNCTIONS if kind == "v1/Pod" else _NODE_FUNCTIONS if kind == "v1/Node" else ()
    return (*_GENERAL, *own, *SPRIG)


def check_template(text: str, kind: str) -> None:
    """Checks the syntax and the functions of a template. Raises TemplateError."""
    text = text.strip()
    check_calls(text, parse(text), functions_for(kind))


def rendered(text: str, kind: str, tree: Object, scene: TemplateScene) -> Json:
    """Returns the value of a template of YAML for an object. Raises ValueError."""
    text = text.strip()
    found = Execution(text, parse(text), _StageFunctions(text, kind, tree, scene), tree).run().text
    try:
        return yamltext.load(found).tree
    except APIError as error:
        raise ValueError(f"the rendered template is not YAML: {error.message}") from None


def _quoted(value: Json) -> str:
    encoded = compact_json(value)
    return encoded if encoded.startswith('"') else quote(encoded)


def _yaml(values: Sequence[Json]) -> str:
    text = yamltext.dump(values[0])
    indent = values[1] if len(values) > 1 else 0
    if isinstance(indent, int) and 0 < indent <= _MOST_INDENT:
        text = ("\n" + text).replace("\n", "\n" + "  " * indent)
    return text


def _moment(moment: datetime) -> str:
    """Returns a time with its fraction, as Go's RFC3339Nano does."""
    if not moment.microsecond:
        return format_time(moment)
    return format_micro_time(moment)[:-1].rstrip("0") + "Z"


class _StageFunctions:
    """The functions of one template: `gotemplate.execution.Functions`."""

    is_secret = False

    def __init__(self, text: str, kind: str, tree: Object, scene: TemplateScene) -> None:
        self._text, self._tree, self._scene = text, tree, scene
        self._known = frozenset(functions_for(kind))
        self._name = tree["metadata"].get("name", "") if kind == "v1/Node" else tree.get("spec", {}).get("nodeName", "")

    def has(self, name: str) -> bool:
        return name in self._known

    def known(self) -> Sequence[str]:
        return sorted(self._known)

    def entry(self, tree: dict[str, Json], name: str) -> Any:
        return tree.get(name, ABSENT)

    def root_field(self, names: tuple[str, ...], at: int) -> Json:
        raise AssertionError(names)

    def call(self, call: Call, arguments: list[Json]) -> Json:
        function = SPRIG.get(call.function) or _OWN[call.function]
        if not function.least <= len(arguments) <= function.most:
            message = f"wrong number of arguments for {call.function}; usage: {function.usage}"
            raise TemplateError(message, self._text, call.at)
        try:
            if call.function in SPRIG:
                return function.body(arguments)
            return _BODIES[call.function](self, arguments)
        except ValueError as error:
            raise TemplateError(f"{call.function}: {error}", self._text, call.at) from None

    def node_address(self, values: Sequence[Json]) -> str:
        return self._scene.addresses.node_address(str(values[0]) if values else self._name)

    def pod_address(self, values: Sequence[Json]) -> str:
        if len(values) > 1 and values[1] is True:
            return self.node_address(values)
        return self._scene.addresses.pod_address(self._tree)

    def now(self, values: Sequence[Json]) -> str:
        return _moment(self._scene.now)

    def start(self, values: Sequence[Json]) -> str:
        return _moment(self._scene.start)

    def node_name(self, values: Sequence[Json]) -> str:
        return str(self._name)


def _conditions(values: Sequence[Json]) -> Json:
    names = ("type", "status", "reason", "message")
    return [dict(zip(names, each, strict=True)) for each in _CONDITIONS]


def _listed(text: str) -> list[str]:
    return [text] if text else []


_Body = Callable[[_StageFunctions, Sequence[Json]], Json]
_BODIES: Mapping[str, _Body] = {
    "Quote": lambda functions, values: _quoted(values[0]),
    "Now": _StageFunctions.now,
    "StartTime": _StageFunctions.start,
    "YAML": lambda functions, values: _yaml(values),
    "Version": lambda functions, values: VERSION,
    "NodeConditions": lambda functions, values: _conditions(values),
    "NodeIP": _StageFunctions.node_address,
    "NodeName": _StageFunctions.node_name,
    # No node has a kubelet that listens.
    "NodePort": lambda functions, values: 0,
    "PodIP": _StageFunctions.pod_address,
    "NodeIPWith": _StageFunctions.node_address,
    "NodeIPsWith": lambda functions, values: list(_listed(functions.node_address(values))),
    "PodIPWith": _StageFunctions.pod_address,
    "PodIPsWith": lambda functions, values: list(_listed(functions.pod_address(values))),
}


def _signature(least: int, most: int, usage: str) -> Builtin:
    return Builtin(lambda values: None, least, most, usage)


_POD_USAGE = ".spec.nodeName HOST_NETWORK .metadata.uid .metadata.name .metadata.namespace"
_OWN: Mapping[str, Builtin] = {
    "Quote": _signature(1, 1, "Quote VALUE"),
    "Now": _signature(0, 0, "Now"),
    "StartTime": _signature(0, 0, "StartTime"),
    "YAML": _signature(1, 2, "YAML VALUE INDENT"),
    "Version": _signature(0, 0, "Version"),
    "NodeConditions": _signature(0, 0, "NodeConditions"),
    "NodeIP": _signature(0, 0, "NodeIP"),
    "NodeName": _signature(0, 0, "NodeName"),
    "NodePort": _signature(0, 0, "NodePort"),
    "PodIP": _signature(0, 0, "PodIP"),
    "NodeIPWith": _signature(1, 1, "NodeIPWith .spec.nodeName"),
    "NodeIPsWith": _signature(1, 1, "NodeIPsWith .spec.nodeName"),
    "PodIPWith": _signature(5, 5, f"PodIPWith {_POD_USAGE}"),
    "PodIPsWith": _signature(5, 5, f"PodIPsWith {_POD_USAGE}"),
}
