"""The kinds that a server currently serves. An unresponsive aggregated API does not hide the others."""

from typing import NamedTuple

from setpoint.client import discovery
from setpoint.client.client import Client
from setpoint.client.discovery import APIResource, Group
from setpoint.client.transport import Answer
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.gvk import GroupKind, GroupVersion


class Served(NamedTuple):
    """The listable resources, each kind in the server's preferred version, and the versions of unresponsive servers."""

    resources: dict[GroupKind, APIResource]
    unknown: frozenset[GroupVersion]


async def served(client: Client) -> Served:
    """Reads the served resources. Raises APIError or TransportError if the server itself does not respond."""
    resources: dict[GroupKind, APIResource] = {}
    unknown: set[GroupVersion] = set()
    for call in discovery.root_calls():
        for group in await _groups(client, await client.send(call)):
            for version in group.versions:
                found = group.resources.get(version, ())
                if not found:
                    unknown.add(GroupVersion(group.name, version))
                for resource in found:
                    if "list" in resource.verbs and resource.gvk.group == group.name:
                        resources.setdefault(resource.gvk.group_kind, resource)
    return Served(resources, frozenset(unknown))


async def _groups(client: Client, answer: Answer) -> list[Group]:
    if discovery.is_aggregated(answer):
        return discovery.aggregated_groups(answer)
    found = []
    for name, versions in discovery.group_versions(answer):
        resources: dict[str, tuple[APIResource, ...]] = {}
        for version in versions:
            group_version = GroupVersion(name, version)
            try:
                response = await client.send(discovery.version_call(group_version))
            except NotFound:
                continue  # removed meanwhile
            except APIError:
                resources[version] = ()
            else:
                resources[version] = discovery.version_resources(group_version, response)
        found.append(Group(name, tuple(resources), resources))
    return found
