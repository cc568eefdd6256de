"""Selects and reads the objects of a list: at the requested revision, with a limit, from a continue token on."""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects.errors import BadRequest, Expired
from setpoint.server.access.past_access import is_within_reach
from setpoint.server.registry.object_page import ObjectPage
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.selectors import ObjectSelector
from setpoint.server.request import continuation
from setpoint.server.request.context import Context
from setpoint.server.request.continuation import NEWEST, Position
from setpoint.server.request.list_options import EXACT, ListOptions, list_options
from setpoint.server.request.slices import COMPARED, indexed, ranged
from setpoint.server.watch import freshness
from setpoint.store.cached import Range
from setpoint.store.contract import Item, StateReads, TooEarly, TooLate
from setpoint.store.uncounted import uncounted_page

# The number of keys per read if most of them may not match.
_CHUNK = 500


class _Start(NamedTuple):
    """The start of a list: its revision (None: the newest), the key to start after, and the limit."""

    at: int | None
    after: str
    limit: int


async def select(context: Context, resource: Resource) -> ObjectPage:
    """Reads the objects of a list. Raises BadRequest, Invalid, Expired or Timeout."""
    options = await list_options(context)
    selector = ObjectSelector(resource, context.info.namespace, options.label_selector, options.field_selector)
    # A continued list is that of the first page, whatever its resourceVersion.
    store = context.services.reads("" if options.continue_token else options.resource_version)
    scope = selector.scope
    start = await _start(context, store, resource, options, scope, named=selector.key is not None)
    try:
        if selector.key is not None:
            return await _select_one(store, resource, selector, selector.key, start)
        if selector.is_everything:
            page = await ranged(context, store, scope, start.after, start.limit, start.at)
            return _selected(resource, scope, page.items, page.revision, page.remaining, counted=True)
        return await _select_matching(context, store, resource, selector, scope, start)
    except TooLate as late:
        if options.continue_token:
            position = continuation.decode(options.continue_token)
            raise Expired.listing(continuation.encode(position._replace(revision=NEWEST))) from None
        raise Expired(str(late) if options.at is not None else freshness.TOO_OLD) from None
    except TooEarly as early:
        error = freshness.too_large(early.revision, early.current)
        if options.continue_token:
            error.retry_after_seconds = 0  # the token does not come from this server: a retry does not help
        raise error from None


async def _start(
    context: Context, store: StateReads, resource: Resource, options: ListOptions, scope: str, *, named: bool
) -> _Start:
    clock = context.services.clock
    if options.continue_token:
        position = continuation.decode(options.continue_token)
        if options.resource_version not in ("", "0"):
            raise BadRequest("specifying resource version is not allowed when using continue")
        at = position.revision if position.revision > NEWEST else None
        if at is not None and not await is_within_reach(context, resource, at):
            raise Expired.listing(continuation.encode(position._replace(revision=NEWEST)))
        return _Start(at, scope + position.last, options.limit)
    revision = options.revision
    # A list with resource version 0 ignores the limit, as clients fill their caches this way; not a list of Events,
    # which kube-apiserver does not cache.
    is_cached = resource.strategy.retry_after_seconds > 0
    limit = 0 if options.resource_version == "0" and is_cached else options.limit
    if options.at is not None:
        return _Start(options.at, "", limit)
    if revision:
        is_limited = limit and not options.match
        is_exact = options.match == EXACT or (is_limited and not named)
        # kube-apiserver reads such a single object from its store, which does not ask the client to wait.
        seconds = 0 if named and (is_exact or is_limited) else resource.strategy.retry_after_seconds
        await freshness.wait_for(store, clock, revision, retry_after_seconds=seconds)
        if is_exact:
            if not await is_within_reach(context, resource, revision):
                raise Expired(freshness.TOO_OLD)
            return _Start(revision, "", limit)
    return _Start(None, "", limit)


def _selected(
    resource: Resource, scope: str, items: Sequence[Item], revision: int, remaining: int, *, counted: bool
) -> ObjectPage:
    if not remaining or not items:
        return ObjectPage(resource, items, revision)
    token = continuation.encode(Position(revision, items[-1].key.removeprefix(scope)))
    return ObjectPage(resource, items, revision, token, remaining if counted else None)


async def _select_one(
    store: StateReads, resource: Resource, selector: ObjectSelector, key: str, start: _Start
) -> ObjectPage:
    """Reads the only object that can match. The revision is read first, so that a watch from there reports all later
    changes."""
    revision = await store.revision() if start.at is None else start.at
    item = await store.get(key, revision)
    if item is None or key <= start.after:
        return ObjectPage(resource, (), revision)
    matches = await resource.converting(lambda: selector.matches(key, item.value, item.revision))
    return ObjectPage(resource, (item,) if matches else (), revision)


async def _select_matching(
    context: Context, store: StateReads, resource: Resource, selector: ObjectSelector, scope: str, start: _Start
) -> ObjectPage:
    """Reads until there are enough matches, all at one revision. The number of remaining matches is unknown: counting
    would require reading them."""
    at, after, limit = start
    found: list[Item] = []
    chunk = max(limit, _CHUNK) if limit else 0
    while True:
        page = await indexed(context, store, selector.wanted, Range(selector.prefix, after, chunk, at))
        is_from_index = page is not None
        if page is None:
            page = await ranged(context, store, selector.prefix, after, chunk, at, scope)
        held = () if resource.fetch is None else await resource.prepare(selector.unread(page.items))
        for place, item in enumerate(page.items):
            if place and place % COMPARED == 0:
                await context.pause()
            if selector.matches(item.key, item.value, item.revision):
                found.append(item)
                if len(found) == limit:
                    more = len(page.items) - place - 1 + page.remaining
                    if not more and is_from_index:
                        # As without an index, a page is the last one if there is no object after its objects.
                        more = len((await uncounted_page(store, selector.prefix, item.key, 1, page.revision)).items)
                    return _selected(resource, scope, found, page.revision, more, counted=False)
        del held
        if not page.remaining:
            return ObjectPage(resource, found, page.revision)
        at, after = page.revision, page.items[-1].key
