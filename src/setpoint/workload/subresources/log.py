"""`GET …/executables/name/log`: the output of a workload as text, to its end or following.

The parameters are DCP's (see `logs.options`); Kubernetes' names are supported as well. The parameter `with`, given once
for each further object as `RESOURCE/NAME`, merges their logs into the response; the user needs the same right for each.
"""

from collections.abc import Callable, Mapping

from setpoint.objects import meta
from setpoint.objects.errors import BadRequest, NotFound
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.attributes import authorize_reading
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.verbs.get import read
from setpoint.server.verbs.text_stream import TextStream
from setpoint.workload.kinds.api_names import GROUP, LOGGED, VERSION
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.logs.options import LogOptions, parse
from setpoint.workload.logs.selected_lines import MOST_LOGS, LogOf, selected
from setpoint.workload.subresources.presence import present

_STARTUP = frozenset(("startup_stdout", "startup_stderr"))
# The logs that the objects of a kind never have. Clients of DCP read them for every kind, and get an empty log.
ABSENT: Mapping[str, frozenset[str]] = {"Executable": _STARTUP, "ContainerExec": _STARTUP, "Container": frozenset()}
NAME = "log"
TEXT = "text/plain; charset=utf-8"


class LogEndpoint:
    """Serves the logs of all kinds with logs. `store` returns them once available."""

    def __init__(self, store: Callable[[], LogStore | None]) -> None:
        self._store = store

    async def get(self, context: Context, resource: Resource) -> Response:
        """Returns the requested log. Raises BadRequest, NotFound or ServiceUnavailable."""
        store = present(self._store())
        options = parse({name: values[-1] for name, values in context.query.items()})
        tree = resource.item(await read(context, resource))
        check(resource.kind, tree, options)
        if options.source in ABSENT[resource.kind] and "with" not in context.query:
            return Response(200, TEXT, b"")
        others = await _others(context, options)
        options = options if others else _of_start(tree, options)
        if options.selects_attempt:
            for each in (tree, *others):
                store.of(meta.uid(each)).attempts.window(options.attempt, previous=options.previous)
        if not others and not options.selects_lines:
            return Response(200, TEXT, TextStream(store.read(meta.uid(tree), options)))
        logs = [LogOf(meta.uid(each), meta.name(each)) for each in (tree, *others)]
        kind = "application/x-ndjson" if options.format == "json" else TEXT
        return Response(200, kind, TextStream(selected(store, logs, options, context.services.clock)))


def _of_start(tree: Object, options: LogOptions) -> LogOptions:
    """Returns the options that read the output of the build or pull instead of all output, if a container could not be
    started. The container itself has no output then."""
    is_failed = tree["kind"] == "Container" and (tree.get("status") or {}).get("state") == "FailedToStart"
    if options.source != "all" or options.follow or not is_failed:
        return options
    return options._replace(source="startup_stdout", sources=False)


async def _others(context: Context, options: LogOptions) -> list[Object]:
    """Returns the objects of the parameter `with`, after a check of the user's right to each of their logs. Raises
    BadRequest, Forbidden or NotFound."""
    named = dict.fromkeys(context.query.get("with", ()))
    if len(named) >= MOST_LOGS:
        raise BadRequest(f"with: at most {MOST_LOGS - 1} other objects are supported")
    found = []
    for text in named:
        plural, _, name = text.partition("/")
        if plural not in LOGGED or not name:
            raise BadRequest(f"with: invalid value {text!r}; expected RESOURCE/NAME, with {', '.join(sorted(LOGGED))}")
        resource = context.services.registry.resource(GROUP, VERSION, plural)
        assert resource is not None, "all kinds with logs are installed together"
        await authorize_reading(context, resource, "", name, NAME)
        item = await context.services.store.get(resource.storage.key("", name))
        if item is None:
            raise NotFound.of(resource.group_resource, name)
        tree = resource.item(item)
        check(resource.kind, tree, options)
        found.append(tree)
    return found


def check(kind: str, tree: Object, options: LogOptions) -> None:
    """Raises BadRequest if the log of an object cannot be read."""
    name = f"{kind} {meta.name(tree)}"
    if options.source == "system":
        return
    if meta.is_being_deleted(tree):
        raise BadRequest(f"{name} is being deleted with its log")
    if tree["spec"].get("terminal") is not None:
        raise BadRequest(f"{name} has a terminal and therefore no log: attach to the terminal instead")
    if kind == "Container" and (tree.get("status") or {}).get("state") == "Unknown":
        raise BadRequest(f"{name} no longer exists: its container was removed with its log")
