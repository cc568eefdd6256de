"""What runs, read off the server: workloads, who belongs to whom, their addresses and how they are."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from setpoint.cli.support.errors import NOT_FOUND, Failure
from setpoint.cli.support.object_status import Judgement, judged
from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.objects import meta
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import DISPLAY_NAME, GROUP, OWN_GROUP, OWNER_LABEL, SCHEME, TASK, VERSION
from setpoint.workload.service_producers import cannot_listen, serves, template_of

# What a person calls a part of an app, in the order in which it is looked for.
RUNNING = ("Container", "Executable", "ExecutableReplicaSet", "Task")
SERVICE = "Service"


def ref(kind: str) -> KindRef:
    """A workload kind."""
    return KindRef(GroupVersionKind(OWN_GROUP if kind == "Task" else GROUP, VERSION, kind))


class Workload(NamedTuple):
    """Something that runs, or should."""

    tree: Object
    judgement: Judgement
    # What it owns that runs: the replicas of a set, the runs of a task.
    children: "tuple[Workload, ...]" = ()
    urls: tuple[str, ...] = ()
    # Why nobody can reach it, although it may run well: of a port that it should have, somebody else listens there.
    unreachable: str = ""

    @property
    def kind(self) -> str:
        return str(self.tree["kind"])

    @property
    def name(self) -> str:
        return meta.name(self.tree)

    @property
    def called(self) -> str:
        """What people call it: replicas by their numbers, `api.2`."""
        return _replica(self.tree) or self.name

    @property
    def status(self) -> Object:
        status: Object = self.tree.get("status") or {}
        return status

    @property
    def restarts(self) -> int:
        own: int = self.status.get("restartCount", 0)
        return own + sum(child.restarts for child in self.children)

    @property
    def replicas(self) -> int:
        """How many there should be."""
        found: int = self.tree["spec"].get("replicas", 1)
        return found

    @property
    def ready(self) -> str:
        """How many of how many are ready; nothing of what is done when it ends."""
        if self.kind == "Task":
            return "-"
        if self.kind == "ExecutableReplicaSet":
            return f"{sum(child.judgement.ready for child in self.children)}/{self.replicas}"
        return f"{int(self.judgement.ready)}/1"


async def read_workloads(client: Client, *, labels: str = "") -> list[Workload]:
    """Everything that runs, by kind and name; what is owned by another stands below it. Raises Failure where the
    server knows no workloads."""
    kinds = (*RUNNING, SERVICE)
    # One after the other, on one connection: a handshake takes longer than all of these together.
    trees = [await _list(client, kind, labels if kind != SERVICE else "") for kind in kinds]
    return arranged(tree for listed in trees for tree in listed)


def arranged(trees: Iterable[Object]) -> list[Workload]:
    """What runs among some objects, in their order; what is owned by another stands below it."""
    found = list(trees)
    services = {meta.name(tree): tree for tree in found if tree["kind"] == SERVICE}
    running = [tree for tree in found if tree["kind"] in RUNNING]
    owned: dict[str, list[Object]] = {}
    uids = {meta.uid(tree) for tree in running}
    top = []
    for tree in running:
        owner = next((each["uid"] for each in meta.owner_references(tree) if each["uid"] in uids), None)
        if owner is None:
            top.append(tree)
        else:
            owned.setdefault(owner, []).append(tree)
    return [_workload(tree, owned, services) for tree in top]


async def _list(client: Client, kind: str, labels: str) -> Sequence[Object]:
    from setpoint.client.mapper import NoMatch

    try:
        return (await client.list(ref(kind), labels=labels or None)).items
    except NoMatch:
        raise Failure(
            "this server runs no workloads: start one with `setpoint up`, or `setpoint serve --workloads`", NOT_FOUND
        ) from None


def _workload(tree: Object, owned: Mapping[str, list[Object]], services: Mapping[str, Object]) -> Workload:
    children = tuple(_workload(child, owned, services) for child in owned.get(meta.uid(tree), ()))
    served = [services[name] for name in serves(tree) if name in services]
    judgement, unreachable = judged(tree), next(filter(None, map(cannot_listen, served)), "")
    if unreachable and judgement.ready:
        judgement = Judgement(False, "Unreachable", "bad", unreachable)
    return Workload(tree, judgement, children, tuple(urls_of(tree, services)), unreachable)


def called(tree: Object) -> str:
    """What people call a workload: `api.2` is the second replica of `api`, and a run has the name of its task."""
    return _replica(tree) or meta.annotations(tree).get(TASK) or meta.name(tree)


def _replica(tree: Object) -> str:
    """What people call a replica; empty where it is none."""
    name, _, number = meta.annotations(tree).get(DISPLAY_NAME, "").rpartition("-")
    return f"{name}.{number}" if name else ""


async def read_again(client: Client, workload: Workload) -> Workload | None:
    """A workload as it is now, with what it owns but without its addresses; None where it is gone."""
    from setpoint.objects.errors import NotFound

    try:
        tree: Object = await client.get(ref(workload.kind), workload.name)
    except NotFound:
        return None
    children: list[Object] = []
    for kind in {"ExecutableReplicaSet": ("Executable",), "Task": ("Executable", "Container")}.get(workload.kind, ()):
        children += (await client.list(ref(kind), labels={OWNER_LABEL: meta.uid(tree)})).items
    return _workload(tree, {meta.uid(tree): children}, {})


def urls_of(tree: Object, services: Mapping[str, Object]) -> list[str]:
    """Where the services are that a workload serves."""
    found = [url_of(services[name], template_of(tree)) for name in serves(tree) if name in services]
    return [url for url in found if url]


def url_of(service: Object, producer: Object | None = None) -> str:
    """The address of a service; empty while it has none. What it speaks is what its annotation says, else HTTP where a
    probe of its producer does."""
    status = service.get("status") or {}
    address, port = status.get("effectiveAddress", ""), status.get("effectivePort", 0)
    if not address or not port:
        return ""
    scheme = meta.annotations(service).get(SCHEME) or _guessed(service, producer)
    return f"{scheme}://{f'[{address}]' if ':' in address else address}:{port}"


def _guessed(service: Object, producer: Object | None) -> str:
    if service["spec"].get("protocol") == "UDP":
        return "udp"
    probes = (producer or {}).get("spec", {}).get("healthProbes") or ()
    return "http" if any(probe.get("type") == "HTTP" for probe in probes) else "tcp"


def find(workloads: Sequence[Workload], name: str) -> list[Workload]:
    """The workloads that a name means: `api`, `exe/api`, or a replica by its number (`api.2`) or its own name. Raises
    Failure."""
    kind, slash, bare = name.rpartition("/")
    everything = [each for workload in workloads for each in (workload, *workload.children)]
    found = [each for each in everything if bare in (each.name, each.called) and (not slash or _is_kind(each, kind))]
    if found:
        return found
    from setpoint.cli.output.words import did_you_mean

    known = [each.name for each in workloads]
    there = f"there are: {', '.join(known)}" if known else "none runs"
    hint = did_you_mean(bare, (each.name for each in everything)) or there
    raise Failure(f"there is no workload {name}; {hint}", NOT_FOUND)


_SHORT = {"exe": "Executable", "ctr": "Container", "exers": "ExecutableReplicaSet", "tsk": "Task"}


def _is_kind(workload: Workload, word: str) -> bool:
    word = word.lower().partition(".")[0]
    kind = workload.kind.lower()
    return word in (kind, f"{kind}s") or _SHORT.get(word) == workload.kind


def outputs(workload: Workload) -> list[Workload]:
    """Those with an output of their own: itself, or what it runs."""
    if workload.kind in ("Executable", "Container"):
        return [workload]
    return [each for child in workload.children for each in outputs(child)]
