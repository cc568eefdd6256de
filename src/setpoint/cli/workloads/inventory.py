"""Reads the workloads of a server, and finds them by the names that users give."""

from collections.abc import Sequence

from setpoint.cli.support.errors import NOT_FOUND, Failure
from setpoint.client.client import Client
from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.workload.inventory import RUNNING as RUNNING
from setpoint.workload.inventory import SERVICE as SERVICE
from setpoint.workload.inventory import Workload as Workload
from setpoint.workload.inventory import arranged as arranged
from setpoint.workload.inventory import called as called
from setpoint.workload.inventory import outputs as outputs
from setpoint.workload.inventory import ref as ref
from setpoint.workload.inventory import replica_name as replica_name
from setpoint.workload.inventory import url_of as url_of
from setpoint.workload.inventory import urls_of as urls_of
from setpoint.workload.inventory import workload_of as workload_of
from setpoint.workload.kinds.api_names import GROUP_LABEL, OWNER_LABEL, PART_LABEL


async def read_workloads(client: Client, *, labels: str = "") -> list[Workload]:
    """Returns all workloads by kind and name, with their owned workloads as children. Raises Failure if the server has
    no workload kinds.
    """
    kinds = (*RUNNING, SERVICE)
    # Sequentially on one connection: a TLS handshake takes longer than all these requests.
    trees = [await _list(client, kind, labels if kind != SERVICE else "") for kind in kinds]
    return arranged(tree for listed in trees for tree in listed)


async def _list(client: Client, kind: str, labels: str) -> Sequence[Object]:
    from setpoint.client.mapper import NoMatch

    try:
        return (await client.list(ref(kind), labels=labels or None)).items
    except NoMatch:
        raise Failure(
            "this server does not run workloads: use `setpoint up` or `setpoint serve --workloads`", NOT_FOUND
        ) from None


async def read_again(client: Client, workload: Workload) -> Workload | None:
    """Returns the current state of a workload with its children, but without URLs; None if deleted."""
    from setpoint.objects.errors import NotFound

    try:
        tree: Object = await client.get(ref(workload.kind), workload.name)
    except NotFound:
        return None
    children: list[Object] = []
    for kind in {"ExecutableReplicaSet": ("Executable",), "Task": ("Executable", "Container")}.get(workload.kind, ()):
        children += (await client.list(ref(kind), labels={OWNER_LABEL: meta.uid(tree)})).items
    return workload_of(tree, {meta.uid(tree): children}, {})


def find(workloads: Sequence[Workload], name: str) -> list[Workload]:
    """Returns the workloads that a name selects: `api`, `exe/api`, or a replica by its number (`api.2`) or its own
    name. Raises Failure.
    """
    kind, slash, bare = name.rpartition("/")
    everything = [each for workload in workloads for each in (workload, *workload.children)]
    of_kind = [each for each in everything if not slash or _is_kind(each, kind)]
    found = [each for each in of_kind if bare in (each.name, each.called)]
    # The replicas of a container have no object of their own together.
    found = found or [each for each in of_kind if each in workloads and meta.labels(each.tree).get(PART_LABEL) == bare]
    if found:
        return found
    from setpoint.cli.output.words import did_you_mean

    known = [each.name for each in workloads]
    there = f"available workloads: {', '.join(known)}" if known else "no workloads are running"
    hint = did_you_mean(bare, (each.name for each in everything)) or there
    raise Failure(f"workload {name} not found; {hint}", NOT_FOUND)


def find_all(workloads: Sequence[Workload], names: Sequence[str]) -> list[Workload]:
    """Returns the workloads that some names select, each once, or all if no name is given. Raises Failure."""
    found = [each for name in names for each in find(workloads, name)] if names else list(workloads)
    return list({meta.uid(each.tree): each for each in found}.values())


def in_groups(workloads: Sequence[Workload], groups: Sequence[str]) -> list[Workload]:
    """Returns the workloads in any of the groups, or all if no group is given. Raises Failure for an unknown group."""
    from setpoint.session.selection import groups_of

    known = groups_of(each.tree for each in workloads)
    for group in groups:
        if group not in known:
            there = f"available groups: {', '.join(known)}" if known else "no part of the app has a group"
            raise Failure(f"group {group} not found; {there}", NOT_FOUND)
    wanted = {f"{GROUP_LABEL}{group}" for group in groups}
    return [each for each in workloads if not groups or wanted & meta.labels(each.tree).keys()]


_SHORT = {"exe": "Executable", "ctr": "Container", "exers": "ExecutableReplicaSet", "tsk": "Task"}


def _is_kind(workload: Workload, word: str) -> bool:
    word = word.lower().partition(".")[0]
    kind = workload.kind.lower()
    return word in (kind, f"{kind}s") or _SHORT.get(word) == workload.kind
