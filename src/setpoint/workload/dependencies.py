"""The dependencies of workloads: by `dependsOn`, by templates, and by the network or container of a workload.

`requirements` returns those of one object; `waiting_for` returns the unmet ones with their reasons; `deadlocks` finds
cyclic dependencies before any workload starts; `needs` and `needed_by` list the dependencies and dependents of an
object; `stop_order` and `shutdown_order` return the order of deletion. No I/O.

A Service is ready when one of the workloads that serve the Service has started, and a Proxyless Service has no address
before. A dependency on a Service is therefore a dependency on any one of its producers.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from setpoint.objects.tree import Object
from setpoint.workload.progress import has_failed, progress
from setpoint.workload.service_producers import producers

if TYPE_CHECKING:
    from setpoint.workload.kinds.parts import DependencyCondition

Key: TypeAlias = tuple[str, str]
FindObject: TypeAlias = Callable[[str, str], Object | None]

# The order in which kinds are deleted at a shutdown; the kinds of one line together.
SHUTDOWN: tuple[tuple[str, ...], ...] = (
    ("ContainerExec", "ExecutableReplicaSet", "Task", "Service", "ContainerNetworkTunnelProxy"),
    ("Container", "Executable"),
    ("ContainerNetworkConnection",),
    ("ContainerNetwork", "ContainerVolume"),
    ("Endpoint",),
)


# The reason of a workload that waits for its dependencies, and the number of dependencies that its message lists.
WAITING = "WaitingForDependencies"
_LISTED = 5


class Requirement(NamedTuple):
    """A condition of another object that must be met. `why` names the field that requires the object."""

    kind: str
    name: str
    condition: "DependencyCondition"
    why: str
    optional: bool = False

    @property
    def key(self) -> Key:
        return self.kind, self.name


class Waiting(NamedTuple):
    """A requirement that is not met. `why` describes the current state of the other object."""

    kind: str
    name: str
    condition: "DependencyCondition"
    why: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} to be {self.condition}: {self.why}"


class Deadlock(NamedTuple):
    """Objects that depend on each other in a cycle, with the first one repeated at the end."""

    keys: tuple[Key, ...]
    message: str


def requirements(tree: Object) -> list[Requirement]:
    """Returns the requirements of an object, without duplicates. Invalid templates are ignored: rendering them reports
    the error."""
    found: dict[tuple[Key, DependencyCondition], Requirement] = {}
    for each in _requirements(tree):
        found.setdefault((each.key, each.condition), each)
    return list(found.values())


def waiting_for(tree: Object, find: FindObject) -> list[Waiting]:
    """Returns the unmet requirements of an object; `find` looks up other objects."""
    found = []
    for kind, name, condition, _, optional in requirements(tree):
        other = find(kind, name)
        if other is None:
            found.append(Waiting(kind, name, condition, "it does not exist"))
            continue
        how_far = progress(other)
        if not how_far.has(condition) and not (optional and has_failed(other)):
            found.append(Waiting(kind, name, condition, how_far.says))
    return found


def waiting_message(waiting: Sequence[object]) -> str:
    """Returns the message about unmet requirements: the first ones, and the number of the others."""
    listed = "; ".join(map(str, waiting[:_LISTED]))
    others = len(waiting) - _LISTED
    return f"waits for {listed}; and {others} more" if others > 0 else f"waits for {listed}"


def _requirements(tree: Object) -> Iterator[Requirement]:
    kind, spec = tree["kind"], tree.get("spec") or {}
    for each in spec.get("dependsOn") or ():
        optional = bool(each.get("optional"))
        yield Requirement(each["kind"], each["name"], each.get("condition", "Ready"), "dependsOn", optional)
    if kind == "ContainerExec":
        yield Requirement("Container", spec["containerName"], "Started", "containerName")
    if kind == "ContainerNetworkTunnelProxy":
        yield Requirement("ContainerNetwork", spec["containerNetworkName"], "Ready", "containerNetworkName")
    for each in spec.get("networks") or ():
        yield Requirement("ContainerNetwork", each["name"], "Ready", "networks")
    for where, text in _templates(spec):
        yield from _referred(where, text)


def _templates(spec: Object) -> Iterator[tuple[str, str]]:
    """Yields the templates that are rendered before the start; those of probes are rendered later."""
    for each in spec.get("env") or ():
        yield f"env {each['name']}", each.get("value", "")
    for index, text in enumerate(spec.get("args") or ()):
        yield f"args[{index}]", text


def _referred(where: str, text: str) -> Iterator[Requirement]:
    if "{{" not in text:
        return
    # Imported here, because commands in the terminal use this module and many apps have no templates.
    from setpoint.gotemplate.nodes import TemplateError
    from setpoint.workload.templates import references

    try:
        found = references(text, certain=True)
    except TemplateError:
        return
    for each in found:
        # A served Service must only exist; the same holds for a Secret.
        if each.kind != "Secret" and not each.function.endswith("ForServing"):
            yield Requirement(each.kind, each.name, "Started", f"{each.function} in {where}")


class _Step(NamedTuple):
    """A state that an object reaches: started, or ready."""

    kind: str
    name: str
    ready: bool


# For each step: True if any one preceding step is enough, and these steps with the kind of dependency.
_Before: TypeAlias = Mapping[_Step, tuple[bool, list[tuple[_Step, str]]]]


class _Graph:
    """The steps, and their preceding steps: all of them are required, or any one for a Service that waits for its
    producers."""

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
        """Returns True if any one of the preceding steps is enough, and the steps with the kind of dependency."""
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
        """Returns the object of a template with the dependencies of the template."""
        spec = tree.get("spec") or {}
        template = spec.get("template")
        if not template:
            return tree
        inner = template.get("spec") or template.get("executable") or template.get("container") or {}
        depends = [*(spec.get("dependsOn") or ()), *(inner.get("dependsOn") or ())]
        return {**tree, "spec": {**inner, "dependsOn": depends}}


def _served(tree: Object) -> list[str]:
    """Returns the Services that an object serves; none if the annotation is invalid."""
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
    """Returns the dependency cycles, each once. Dependencies outside of the given objects are assumed to be met."""
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
    """Returns the steps that can be reached, in time linear in the number of dependencies."""
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
    """Returns the cycle that an unreachable step depends on."""
    path: list[tuple[_Step, str]] = []
    seen: dict[_Step, int] = {}
    here = start
    while here not in seen:
        seen[here] = len(path)
        following, how = next((step, how) for step, how in before[here][1] if step not in possible)
        path.append((here, how))
        here = following
    circle = path[seen[here] :]
    # The cycle begins with its first object by name, so that the message is deterministic.
    links = [(step, how) for step, how in circle if how]
    first = min(range(len(links)), key=lambda index: (links[index][0].kind, links[index][0].name))
    links = links[first:] + links[:first]
    keys = tuple((step.kind, step.name) for step, _ in links)
    message = "".join(f"{step.kind} {step.name} {how} " for step, how in links) + " ".join(keys[0])
    return Deadlock((*keys, keys[0]), f"{message}; remove one of these dependencies")


def stop_order(objects: Collection[Object]) -> list[list[Object]]:
    """Returns the order in which objects are stopped: each before its dependencies; the objects of one list are stopped
    together. Objects in a cycle come last, together."""
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
    """Yields the dependencies of an object, including the workloads that serve the required Services."""
    for step, _ in graph.before(_Step(*key, False))[1]:
        yield step.kind, step.name
        if step.kind == "Service":
            yield from _serving(graph, step.name)


def _serving(graph: _Graph, service: str) -> Iterator[Key]:
    """Yields a Service and the workloads that serve the Service."""
    yield "Service", service
    for step, _ in graph.before(_Step("Service", service, True))[1]:
        yield step.kind, step.name


def needed(objects: Collection[Object]) -> dict[Key, set[Key]]:
    """Returns the direct dependencies of each object, including the workloads that serve the required Services."""
    graph = _Graph(objects)
    keys = [(tree["kind"], tree["metadata"]["name"]) for tree in objects]
    return {key: set(_needed(graph, key)) & {*keys} for key in keys}


def needs(objects: Collection[Object], key: Key) -> set[Key]:
    """Returns the object and all its direct and indirect dependencies."""
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
    """Returns the objects that depend on an object, or on a Service that the object serves."""
    return [each for each, others in needed(objects).items() if each != key and each[0] != "Service" and key in others]


def shutdown_order(objects: Iterable[Object]) -> list[list[Object]]:
    """Returns the order of deletion at a shutdown: kind by kind, and dependents before their dependencies."""
    everything = list(objects)
    graph = _Graph(everything)
    found: list[list[Object]] = []
    known = {kind for kinds in SHUTDOWN for kind in kinds}
    for kinds in SHUTDOWN:
        found += _stop_order(graph, [tree for tree in everything if tree["kind"] in kinds])
    rest = [tree for tree in everything if tree["kind"] not in known]
    return [*found, *([rest] if rest else [])]
