"""What must be before a workload can start: by `dependsOn`, by its templates, by the network or container it is in.

`requirements` reads them off one object; `waiting_for` says which do not hold, and why; `deadlocks` finds those that
can never hold because objects wait for each other, before anything starts; `needs` and `needed_by` say who depends on
whom, `stop_order` and `shutdown_order` in which order objects go. All of it is pure.

A Service is ready when one of those who serve it has started, and a Proxyless one has no address before: so who depends
on a Service depends on one of its producers, whichever.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from setpoint.objects.tree import Object
from setpoint.workload.progress import progress
from setpoint.workload.service_producers import producers
from setpoint.workload.template_parser import TemplateError
from setpoint.workload.templates import references

if TYPE_CHECKING:
    from setpoint.workload.kinds.parts import DependencyCondition

Key: TypeAlias = tuple[str, str]
FindObject: TypeAlias = Callable[[str, str], Object | None]

# Kinds go in this order at a shutdown; those of one line together.
SHUTDOWN: tuple[tuple[str, ...], ...] = (
    ("ContainerExec", "ExecutableReplicaSet", "Task", "Service", "ContainerNetworkTunnelProxy"),
    ("Container", "Executable"),
    ("ContainerNetworkConnection",),
    ("ContainerNetwork", "ContainerVolume"),
    ("Endpoint",),
)


class Requirement(NamedTuple):
    """Another object that must have come so far. `why` says where the object asks for it."""

    kind: str
    name: str
    condition: "DependencyCondition"
    why: str

    @property
    def key(self) -> Key:
        return self.kind, self.name


class Waiting(NamedTuple):
    """A requirement that does not hold. `why` says what the other object does instead."""

    kind: str
    name: str
    condition: "DependencyCondition"
    why: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} to be {self.condition}: {self.why}"


class Deadlock(NamedTuple):
    """Objects that wait for each other in a circle, the first one again at the end."""

    keys: tuple[Key, ...]
    message: str


def requirements(tree: Object) -> list[Requirement]:
    """What an object needs before it starts, each once. Templates that cannot be read need nothing: they never have a
    value, which whoever fills them in says better."""
    found: dict[tuple[Key, DependencyCondition], Requirement] = {}
    for each in _requirements(tree):
        found.setdefault((each.key, each.condition), each)
    return list(found.values())


def waiting_for(tree: Object, find: FindObject) -> list[Waiting]:
    """The requirements of an object that do not hold, given how to find others."""
    found = []
    for kind, name, condition, _ in requirements(tree):
        other = find(kind, name)
        if other is None:
            found.append(Waiting(kind, name, condition, "it does not exist"))
            continue
        how_far = progress(other)
        if not how_far.has(condition):
            found.append(Waiting(kind, name, condition, how_far.says))
    return found


def _requirements(tree: Object) -> Iterator[Requirement]:
    kind, spec = tree["kind"], tree.get("spec") or {}
    for each in spec.get("dependsOn") or ():
        yield Requirement(each["kind"], each["name"], each.get("condition", "Ready"), "dependsOn")
    if kind == "ContainerExec":
        yield Requirement("Container", spec["containerName"], "Started", "containerName")
    if kind == "ContainerNetworkTunnelProxy":
        yield Requirement("ContainerNetwork", spec["containerNetworkName"], "Ready", "containerNetworkName")
    for each in spec.get("networks") or ():
        yield Requirement("ContainerNetwork", each["name"], "Ready", "networks")
    for where, text in _templates(spec):
        yield from _referred(where, text)


def _templates(spec: Object) -> Iterator[tuple[str, str]]:
    """The values that are filled in before the start; those of probes are later."""
    for each in spec.get("env") or ():
        yield f"env {each['name']}", each.get("value", "")
    for index, text in enumerate(spec.get("args") or ()):
        yield f"args[{index}]", text


def _referred(where: str, text: str) -> Iterator[Requirement]:
    try:
        found = references(text)
    except TemplateError:
        return
    for each in found:
        # To serve it a Service must only exist; of a Secret there is nothing to know but that.
        if each.kind != "Secret" and not each.function.endswith("ForServing"):
            yield Requirement(each.kind, each.name, "Started", f"{each.function} in {where}")


class _Step(NamedTuple):
    """That an object has come so far."""

    kind: str
    name: str
    ready: bool


# Of every step: whether any of those before it is enough, and which they are, with what they are for.
_Before: TypeAlias = Mapping[_Step, tuple[bool, list[tuple[_Step, str]]]]


class _Graph:
    """Steps, and those that must come before: all of them, or for a Service that waits to be served any of them."""

    def __init__(self, objects: Collection[Object]) -> None:
        self._trees = {(tree["kind"], tree["metadata"]["name"]): tree for tree in objects}
        self._serving: dict[str, list[Key]] = {}
        for key, tree in self._trees.items():
            for service in _served(tree):
                self._serving.setdefault(service, []).append(key)

    def steps(self) -> Iterator[_Step]:
        for kind, name in self._trees:
            yield _Step(kind, name, False)
            yield _Step(kind, name, True)

    def before(self, step: _Step) -> tuple[bool, list[tuple[_Step, str]]]:
        """Whether any is enough, and the steps with what they are for."""
        tree = self._trees[step.kind, step.name]
        if step.kind == "Service":
            spec = tree.get("spec") or {}
            if not step.ready and (spec.get("addressAllocationMode") != "Proxyless" or spec.get("port")):
                return False, []  # its address follows from its own spec
            serving = [_Step(*key, False) for key in self._serving.get(step.name, ())]
            return bool(serving), [(each, "is served by") for each in serving]
        if step.ready:
            return False, [(_Step(step.kind, step.name, False), "")]
        found = []
        for each in requirements(self._inner(tree)):
            if each.key in self._trees:
                ready = each.condition != "Started"
                found.append((_Step(each.kind, each.name, ready), f"waits ({each.why}) for"))
        return False, found

    @staticmethod
    def _inner(tree: Object) -> Object:
        """For what is made from a template: the object with all that the template needs."""
        spec = tree.get("spec") or {}
        template = spec.get("template")
        if not template:
            return tree
        inner = template.get("spec") or template.get("executable") or template.get("container") or {}
        depends = [*(spec.get("dependsOn") or ()), *(inner.get("dependsOn") or ())]
        return {**tree, "spec": {**inner, "dependsOn": depends}}


def _served(tree: Object) -> list[str]:
    """The Services that an object serves; an annotation that cannot be read says of none."""
    spec = tree.get("spec") or {}
    try:
        found = producers(tree)
        if "template" in spec:
            found += producers(spec["template"])
    except ValueError:
        return []
    if tree["kind"] == "ContainerNetworkTunnelProxy":
        return [each["clientServiceName"] for each in spec.get("tunnels") or ()]
    return [each.service for each in found]


def deadlocks(objects: Collection[Object]) -> list[Deadlock]:
    """The circles in which objects wait for each other, each once. What an object needs and is not among them may yet
    come, and holds up nobody here."""
    graph = _Graph(objects)
    before = {step: graph.before(step) for step in graph.steps()}
    possible = _possible(before)
    found: dict[frozenset[Key], Deadlock] = {}
    for step in before:
        if step not in possible:
            circle = _circle(step, before, possible)
            found.setdefault(frozenset(circle.keys), circle)
    return list(found.values())


def _possible(before: _Before) -> set[_Step]:
    """The steps that can come to be, each looked at once for every step that it waits for."""
    after: dict[_Step, list[_Step]] = {}
    missing: dict[_Step, int] = {}
    for step, (any_is_enough, steps) in before.items():
        missing[step] = 1 if any_is_enough else len(steps)
        for earlier, _ in steps:
            after.setdefault(earlier, []).append(step)
    ready = [step for step, count in missing.items() if count == 0]
    found: set[_Step] = set(ready)
    while ready:
        for later in after.get(ready.pop(), ()):
            missing[later] -= 1
            if missing[later] == 0:
                found.add(later)
                ready.append(later)
    return found


def _circle(start: _Step, before: _Before, possible: Collection[_Step]) -> Deadlock:
    """The circle that a step which can never be leads into."""
    path: list[tuple[_Step, str]] = []
    seen: dict[_Step, int] = {}
    here = start
    while here not in seen:
        seen[here] = len(path)
        following, how = next((step, how) for step, how in before[here][1] if step not in possible)
        path.append((here, how))
        here = following
    circle = path[seen[here] :]
    # It begins with its first object by name, so that the same circle always reads the same.
    links = [(step, how) for step, how in circle if how]
    first = min(range(len(links)), key=lambda index: (links[index][0].kind, links[index][0].name))
    links = links[first:] + links[:first]
    keys = tuple((step.kind, step.name) for step, _ in links)
    message = "".join(f"{step.kind} {step.name} {how} " for step, how in links) + " ".join(keys[0])
    return Deadlock((*keys, keys[0]), f"{message}; take one of these out")


def stop_order(objects: Collection[Object]) -> list[list[Object]]:
    """In which order objects are stopped: each before what it depends on, those of one list together. Objects that wait
    for each other in a circle come last, together."""
    return _stop_order(_Graph(objects), objects)


def _stop_order(graph: _Graph, objects: Collection[Object]) -> list[list[Object]]:
    trees = {(tree["kind"], tree["metadata"]["name"]): tree for tree in objects}
    needs = {key: set(_needed(graph, key)) & trees.keys() - {key} for key in trees}
    found: list[list[Object]] = []
    while needs:
        wanted = set().union(*needs.values())
        free = [key for key in needs if key not in wanted] or list(needs)
        found.append([trees[key] for key in free])
        for key in free:
            del needs[key]
    return found


def _needed(graph: _Graph, key: Key) -> Iterator[Key]:
    """The objects that one depends on, with those who serve the Services it depends on."""
    for step, _ in graph.before(_Step(*key, False))[1]:
        yield step.kind, step.name
        if step.kind == "Service":
            yield from _serving(graph, step.name)


def _serving(graph: _Graph, service: str) -> Iterator[Key]:
    """A Service, and those who serve it."""
    yield "Service", service
    for step, _ in graph.before(_Step("Service", service, True))[1]:
        yield step.kind, step.name


def needed(objects: Collection[Object]) -> dict[Key, set[Key]]:
    """What each object depends on itself, with those who serve the Services that it depends on."""
    graph = _Graph(objects)
    keys = [(tree["kind"], tree["metadata"]["name"]) for tree in objects]
    return {key: set(_needed(graph, key)) & {*keys} for key in keys}


def needs(objects: Collection[Object], key: Key) -> set[Key]:
    """All that must be there for an object to start, whether it depends on that itself or on what does; with it."""
    graph = _Graph(objects)
    trees = {(tree["kind"], tree["metadata"]["name"]): tree for tree in objects}
    found, left = {key}, [key]
    while left:
        here = left.pop()
        tree = trees[here]
        tunnels = (tree.get("spec") or {}).get("tunnels") or ()
        services = {("Service", name) for name in (*_served(tree), *(each["serverServiceName"] for each in tunnels))}
        behind = {serving for _, name in services & trees.keys() for serving in _serving(graph, name)}
        new = ({*_needed(graph, here), *behind} & trees.keys()) - found
        found |= new
        left += new
    return found


def needed_by(objects: Collection[Object], key: Key) -> list[Key]:
    """Those who depend on an object, or on a Service that it serves."""
    return [each for each, others in needed(objects).items() if each != key and each[0] != "Service" and key in others]


def shutdown_order(objects: Iterable[Object]) -> list[list[Object]]:
    """In which order everything is deleted at a shutdown: kind by kind, and what depends on others before them."""
    everything = list(objects)
    graph = _Graph(everything)
    found: list[list[Object]] = []
    known = {kind for kinds in SHUTDOWN for kind in kinds}
    for kinds in SHUTDOWN:
        found += _stop_order(graph, [tree for tree in everything if tree["kind"] in kinds])
    rest = [tree for tree in everything if tree["kind"] not in known]
    return [*found, *([rest] if rest else [])]
