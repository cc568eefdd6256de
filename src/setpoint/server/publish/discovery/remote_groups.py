"""The order of groups and versions with those of extension API servers, by the priorities of their APIServices."""

from collections.abc import Mapping, Sequence

from setpoint.objects.gvk import GroupVersion, version_priority
from setpoint.server.bootstrap.api_services import group_priority, local_version_priority
from setpoint.server.registry.remote_version import RemoteVersions


def with_remote(
    groups: Mapping[str, Sequence[GroupVersion]], remote: RemoteVersions
) -> Mapping[str, Sequence[GroupVersion]]:
    """Returns the versions of each group in the order of discovery: the groups of this server in their order, and each
    other group before the first group with a lower priority."""
    merged = {name: list(versions) for name, versions in groups.items()}
    for gv in remote:
        versions = merged.setdefault(gv.group, [])
        if gv not in versions:
            versions.append(gv)
    for name in {gv.group for gv in remote}:
        merged[name].sort(key=lambda gv: _version_order(gv, remote))
    order = list(groups)
    for name in sorted(set(merged) - set(groups)):
        own = _group_order(name, merged, remote)
        before = (place for place, other in enumerate(order) if _group_order(other, merged, remote) > own)
        order.insert(next(before, len(order)), name)
    return {name: merged[name] for name in order}


def _group_order(name: str, groups: Mapping[str, Sequence[GroupVersion]], remote: RemoteVersions) -> tuple[int, str]:
    priorities = (remote[gv].group_priority if gv in remote else group_priority(gv) for gv in groups[name])
    return -max(priorities), name


def _version_order(gv: GroupVersion, remote: RemoteVersions) -> tuple[object, ...]:
    priority = remote[gv].version_priority if gv in remote else local_version_priority(gv)
    return -priority, *version_priority(gv.version)
