"""The workloads among the objects of a server: owners, URLs and states. Pure functions."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from setpoint.client.kinds import KindRef
from setpoint.objects import meta
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.workload.judgement import Judgement, judged
from setpoint.workload.kinds.api_names import (
    DISPLAY_NAME,
    GROUP,
    OWN_GROUP,
    SCHEME,
    TASK,
    VERSION,
)
from setpoint.workload.proxy.addresses import in_url
from setpoint.workload.service_producers import listen_error, serves, template_of

# The kinds of parts, in the order in which names are searched.
RUNNING = ("Container", "Executable", "ExecutableReplicaSet", "Task")
SERVICE = "Service"


def ref(kind: str) -> KindRef:
    """Returns the reference of a workload kind."""
    return KindRef(GroupVersionKind(OWN_GROUP if kind == "Task" else GROUP, VERSION, kind))


class Workload(NamedTuple):
    """A workload: a process, container, replica set or task."""

    tree: Object
    judgement: Judgement
    # The owned workloads: replicas of a set, runs of a task.
    children: "tuple[Workload, ...]" = ()
    urls: tuple[str, ...] = ()
    # The reason why clients cannot reach a running workload, such as another program on its port.
    unreachable: str = ""

    @property
    def kind(self) -> str:
        return str(self.tree["kind"])

    @property
    def name(self) -> str:
        return meta.name(self.tree)

    @property
    def called(self) -> str:
        """The display name: a replica is called by its number, `api.2`."""
        return replica_name(self.tree) or self.name

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
        """The desired number of replicas."""
        found: int = self.tree["spec"].get("replicas", 1)
        return found

    @property
    def ready(self) -> str:
        """The ready and the desired number of replicas; `-` for tasks."""
        if self.kind == "Task":
            return "-"
        if self.kind == "ExecutableReplicaSet":
            return f"{sum(child.judgement.ready for child in self.children)}/{self.replicas}"
        return f"{int(self.judgement.ready)}/1"


def arranged(trees: Iterable[Object]) -> list[Workload]:
    """Returns the workloads among the objects in order, with their owned workloads as children."""
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
    return [workload_of(tree, owned, services) for tree in top]


def workload_of(tree: Object, owned: Mapping[str, list[Object]], services: Mapping[str, Object]) -> Workload:
    found = (workload_of(child, owned, services) for child in owned.get(meta.uid(tree), ()))
    children = tuple(sorted(found, key=_number))
    served = [services[name] for name in serves(tree) if name in services]
    judgement, unreachable = judged(tree), next(filter(None, map(listen_error, served)), "")
    if unreachable and judgement.is_settled:
        judgement = Judgement(False, "Unreachable", "bad", unreachable)
    return Workload(tree, judgement, children, tuple(urls_of(tree, services)), unreachable)


def called(tree: Object) -> str:
    """Returns the display name of a workload: `api.2` is the second replica of `api`; a run has the name of its
    task.
    """
    return replica_name(tree) or meta.annotations(tree).get(TASK) or meta.name(tree)


def replica_name(tree: Object) -> str:
    """Returns the display name of a replica, `api.2`, or an empty string for other objects."""
    name, _, number = meta.annotations(tree).get(DISPLAY_NAME, "").rpartition("-")
    return f"{name}.{number}" if name else ""


def _number(workload: Workload) -> int:
    """Returns the number of a replica; 0 for other workloads, which keep their order."""
    number = replica_name(workload.tree).rpartition(".")[2]
    return int(number) if number.isdecimal() else 0


def urls_of(tree: Object, services: Mapping[str, Object]) -> list[str]:
    """Returns the URLs of the services of a workload."""
    found = [url_of(services[name], template_of(tree)) for name in serves(tree) if name in services]
    return [url for url in found if url]


def url_of(service: Object, producer: Object | None = None) -> str:
    """Returns the URL of a service, or an empty string without address. The scheme comes from the annotation, or is
    `http` if the producer has an HTTP probe.
    """
    status = service.get("status") or {}
    address, port = status.get("effectiveAddress", ""), status.get("effectivePort", 0)
    if not address or not port:
        return ""
    scheme = meta.annotations(service).get(SCHEME) or _guessed(service, producer)
    return f"{scheme}://{in_url(address)}:{port}"


def _guessed(service: Object, producer: Object | None) -> str:
    if service["spec"].get("protocol", "").upper() == "UDP":
        return "udp"
    probes = (producer or {}).get("spec", {}).get("healthProbes") or ()
    return "http" if any(probe.get("type") == "HTTP" for probe in probes) else "tcp"


def outputs(workload: Workload) -> list[Workload]:
    """Returns the workloads with their own log: the workload itself, or its children."""
    if workload.kind in ("Executable", "Container"):
        return [workload]
    return [each for child in workload.children for each in outputs(child)]
