"""Serves summaries of objects.

    GET /apis/setpoint.dev/v1/[namespaces/{namespace}/]{plural}[.{group}]/{name}/summary
    GET /apis/setpoint.dev/v1/[namespaces/{namespace}/]summaries?resource={plural}[.{group}][&labelSelector=][&at=]
    GET /apis/setpoint.dev/v1/summaries[?at=]      the parts of the app
    ...&watch=true[&resourceVersion=]              changes, as of any other resource

A summary requires the rights that its object requires: to get the object, or to list or watch the resource. The parts
of the app are the workloads of the kinds that the user may list; that collection requires the right to list or watch
`summaries.setpoint.dev` as well.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from setpoint.objects.errors import BadRequest, Expired
from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.attributes import authorize_verb, is_allowed
from setpoint.server.access.past_access import authorize_past, is_within_reach
from setpoint.server.codec.response import json_answer, list_metadata
from setpoint.server.message import Response
from setpoint.server.registry.resource import CREATE_ONLY, Resource
from setpoint.server.request.context import Context
from setpoint.server.request.inner_context import inner_context
from setpoint.server.request.list_options import at_revision, list_options, parse_revision
from setpoint.server.request.slices import ranged
from setpoint.server.verbs.get import read
from setpoint.server.verbs.selection import select
from setpoint.server.verbs.watch import WatchStream
from setpoint.server.watch import freshness
from setpoint.store.contract import Item, TooEarly, TooLate
from setpoint.workload.inventory import RUNNING, SERVICE
from setpoint.workload.kinds.api_names import GROUP, OWN_GROUP
from setpoint.workload.summaries.parts_stream import PartsStream, summaries_of
from setpoint.workload.summaries.summary import (
    API_VERSION,
    is_running_kind,
    object_summary,
)
from setpoint.workload.summaries.summary_form import SummaryForm

_JSON = "application/json"
# The number of objects between two pauses.
_SLICE = 50


async def summary(context: Context, resource: Resource) -> Response:
    """Returns the summary of an object. Raises NotFound, and Forbidden for a revision that the user may not read."""
    info = context.info
    namespace = info.namespace if resource.namespaced else ""
    inner = inner_context(context, resource, "get", namespace, info.name)
    if (at := at_revision(context)) is not None:
        await authorize_past(inner, resource, at)
    tree = await inner.decoded(resource, await read(inner, resource))
    if is_running_kind(tree):
        kinds = await part_resources(context, "list")
        trees = [each for listed in (await _read_parts(context, kinds, at)).values() for each in listed]
        found = (await summaries_of(context, trees)).get(tree["metadata"]["uid"])
        if found is not None:
            return await json_answer(context, _named(found, resource))
    return await json_answer(context, _named(object_summary(tree, context.services.clock.now()), resource))


async def list_summaries(context: Context) -> Response:
    """Returns the summaries of the objects of a resource, or of the parts of the app."""
    if context.parameter("resource"):
        return await _of_resource(context)
    at = at_revision(context)
    kinds = await part_resources(context, "list")
    if at is not None:
        for resource in kinds:
            await authorize_past(inner_context(context, resource, "list"), resource, at)
    revision = at if at is not None else await context.services.store.revision()
    by_kind = await _read_parts(context, kinds, at if at is not None else revision)
    found = await summaries_of(context, [tree for trees in by_kind.values() for tree in trees])
    items = [_named(each, _resource_of(kinds, each)) for each in found.values()]
    metadata = {"resourceVersion": str(revision)}
    return await json_answer(context, _list(metadata, items))


async def watch_summaries(context: Context) -> Response:
    """Watches the summaries of the objects of a resource, or of the parts of the app."""
    if context.parameter("resource"):
        resource, inner = await _inner(context, "watch")
        options = await list_options(inner, watch=True)
        after = options.revision or await context.services.reads(options.resource_version).revision()
        form = SummaryForm(resource, context.services.clock)
        return Response(200, _JSON, WatchStream(inner, resource, options, after, form))
    kinds = await part_resources(context, "watch")
    since = parse_revision(context.parameter("resourceVersion"))
    current = await context.services.store.revision()
    if since > current:
        raise freshness.too_large(since, current)
    for resource in kinds if since else ():
        if not await is_within_reach(inner_context(context, resource, "watch"), resource, since):
            raise Expired(freshness.TOO_OLD)
    start = since or current
    read_at = partial(_read_parts, context, kinds)
    return Response(200, _JSON, PartsStream(context, kinds, await read_at(start), start, sends_existing=not since))


async def _of_resource(context: Context) -> Response:
    resource, inner = await _inner(context, "list")
    if (at := at_revision(context)) is not None:
        await authorize_past(inner, resource, at)
    page = await select(inner, resource)
    now, items = context.services.clock.now(), list[Object]()
    for place, item in enumerate(page.items):
        if place and place % _SLICE == 0:
            await context.pause()
        items.append(_named(object_summary(await inner.decoded(resource, item), now), resource))
    return await json_answer(context, _list(list_metadata(page), items))


async def _inner(context: Context, verb: str) -> tuple[Resource, Context]:
    """Returns the resource that the request names, and the context to read it. Raises BadRequest and Forbidden."""
    name, namespace = context.parameter("resource"), context.info.namespace
    resource = context.registry.group_resources.get(GroupResource.parse(name))
    if resource is None or resource.verbs == CREATE_ONLY or resource.is_replaceable:
        raise BadRequest(f"resource: the server stores no {name!r}; use PLURAL.GROUP, such as deployments.apps")
    if namespace and not resource.namespaced:
        raise BadRequest(f"resource: {name} is not in namespaces; use the path without a namespace")
    resource = resource.in_storage_version
    inner = inner_context(context, resource, verb, namespace)
    await authorize_verb(inner)
    return resource, inner


async def part_resources(context: Context, verb: str) -> list[Resource]:
    """Returns the resources of workloads and their services that the user may list or watch."""
    if context.info.namespace and not context.info.name:
        raise BadRequest("resource: required in a namespace; the parts of an app are in no namespace")
    found = []
    for resource in context.registry.group_resources.values():
        is_part = resource.group in (GROUP, OWN_GROUP) and resource.kind in (*RUNNING, SERVICE)
        if is_part and await is_allowed(inner_context(context, resource, verb)):
            found.append(resource.in_storage_version)
    return found


async def _read_parts(context: Context, resources: Sequence[Resource], at: int | None) -> Mapping[str, list[Object]]:
    """Returns the objects of the resources at a revision, by the prefix of their keys. Raises Expired."""
    found: dict[str, list[Object]] = {}
    for resource in resources:
        prefix = resource.storage.prefix
        try:
            page = await ranged(context, context.services.store, prefix, at=at)
        except TooLate as late:
            raise Expired(str(late)) from None
        except TooEarly as early:
            raise freshness.too_large(early.revision, early.current) from None
        found[prefix] = await _decoded(context, resource, page.items)
    return found


async def _decoded(context: Context, resource: Resource, items: Sequence[Item]) -> list[Object]:
    found = []
    for place, item in enumerate(items):
        if place and place % _SLICE == 0:
            await context.pause()
        found.append(await context.decoded(resource, item))
    return found


def _resource_of(resources: Sequence[Resource], found: Object) -> Resource:
    kind = found["object"]["kind"]
    return next(each for each in resources if each.kind == kind and each.kind != SERVICE)


def _named(found: Object, resource: Resource) -> Object:
    """Returns a summary with the resource of its object."""
    found["object"] |= {"resource": resource.resource, "group": resource.group}
    return found


def _list(metadata: Object, items: list[Object]) -> Object:
    return {"kind": "SummaryList", "apiVersion": API_VERSION, "metadata": metadata, "items": items}
