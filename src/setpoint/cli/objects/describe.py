"""`setpoint describe`: shows the details of an object: state and reason, spec and status, dependents, events, and last
log lines. Secrets are masked.
"""

from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.table import Cell
from setpoint.cli.output.terminal import Terminal, harmless, meaning_of, terminal
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import NOT_FOUND, Failure

if TYPE_CHECKING:
    from setpoint.cli.support.resource_args import Kinds
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object

_LAST_LINES = 10
_EVENTS = 20
_GOOD_WHEN_TRUE = ("Ready", "Started", "Available", "Healthy", "Established", "Complete", "Succeeded")
# Resources without owners, or that need not be searched.
_UNOWNED = frozenset(("events", "componentstatuses", "namespaces", "nodes", "apiservices", "leases"))


@click.command()
@click.argument("what", metavar="KIND [NAME...] | KIND/NAME...", nargs=-1, required=True,
                shell_complete=kinds_and_names)  # fmt: skip
@click.option("-A", "--all-namespaces", is_flag=True, help="Select from all namespaces.")
@click.option("-l", "--selector", metavar="LABELS", default="", help="Selector (label query) to filter on.")
@server_options
def describe(what: tuple[str, ...], all_namespaces: bool, selector: str, server: Server) -> None:
    """Show details of objects: state, reason, dependents and events.

    \b
      setpoint describe exe/api
      setpoint describe pods -l app=web
    """
    run(_describe(server, what, all_namespaces, selector))


async def _describe(server: Server, what: tuple[str, ...], all_namespaces: bool, selector: str) -> None:
    from setpoint.cli.objects.get import raise_failures, read_objects
    from setpoint.cli.objects.tables import TableOptions
    from setpoint.cli.support.resource_args import Kinds, select
    from setpoint.client.requests import query_of

    async with connect(server) as client:
        kinds = await Kinds.of(client)
        options = TableOptions("" if all_namespaces else client.namespace, tuple(query_of(labelSelector=selector)))
        found, failures = await read_objects(client, select(kinds, what), options)
        place = terminal()
        pages = [await page(client, kinds, tree, place) for tree in found]
        place.echo("\n\n".join("\n".join(lines) for lines in pages)) if pages else None
        raise_failures(failures, ignore_missing=False)
        if not found:
            raise Failure("No resources found.", NOT_FOUND)


async def page(client: "Client", kinds: "Kinds", tree: "Object", place: Terminal) -> list[str]:
    """Returns the lines about one object."""
    from setpoint.past.secret_mask import masked
    from setpoint.workload.judgement import is_workload

    # Sequentially on one connection: a TLS handshake takes longer than many of these requests.
    children = await _owned(client, kinds, tree)
    happened = await _events(client, tree)
    last_lines = await _last_lines(client, tree) if is_workload(tree) else []
    lines = [*_head(tree, client, place), *_conditions(tree, client, place)]
    hidden = masked(tree)
    for name in ("spec", "status"):
        lines += _section(name.capitalize(), _yaml(_shown(hidden, name)), place)
    rest = {name: hidden[name] for name in tree if name not in ("apiVersion", "kind", "metadata", "spec", "status")}
    lines += _section("Data" if "data" in rest else "More", _yaml(_sizes(tree, rest)), place)
    lines += _section("Owns", children, place)
    lines += _section("Events", happened, place)
    return lines + _section("Last output", last_lines, place)


def _head(tree: "Object", client: "Client", place: Terminal) -> list[str]:
    from setpoint.cli.objects.tables import age
    from setpoint.workload.judgement import judged

    metadata = tree["metadata"]
    judgement = judged(tree, client.clock)
    owners = [f"{each['kind']}/{each['name']}" for each in metadata.get("ownerReferences") or ()]
    facts = [
        ("Name", metadata["name"]),
        ("Namespace", metadata.get("namespace", "")),
        ("Kind", f"{tree['kind']} ({tree['apiVersion']})"),
        ("State", place.paint(judgement.state, judgement.meaning)),
        ("Why", harmless(judgement.why)),
        ("Age", f"{age(metadata.get('creationTimestamp'), client.clock.now())} ({metadata.get('creationTimestamp')})"),
        ("Deleted", metadata.get("deletionTimestamp", "")),
        ("Finalizers", ", ".join(metadata.get("finalizers") or ())),
        ("Owned by", ", ".join(owners)),
        ("Labels", ", ".join(f"{name}={value}" for name, value in (metadata.get("labels") or {}).items())),
        ("Annotations", ""),
    ]
    lines = [f"{place.paint(f'{name}:', 'heading')}{' ' * (12 - len(name))}{value}" for name, value in facts if value]
    annotations = metadata.get("annotations") or {}
    if annotations:
        lines.append(place.paint("Annotations:", "heading"))
        lines += [f"  {name}: {_short(harmless(str(value)), place)}" for name, value in annotations.items()]
    return lines


def _short(text: str, place: Terminal) -> str:
    from setpoint.cli.output.terminal import shortened

    return shortened(text.replace("\n", " "), (place.width or 200) - 4)


def _section(title: str, lines: list[str], place: Terminal) -> list[str]:
    return ["", place.paint(f"{title}:", "heading"), *(f"  {line}" for line in lines)] if lines else []


def _conditions(tree: "Object", client: "Client", place: Terminal) -> list[str]:
    from setpoint.cli.objects.tables import age
    from setpoint.cli.output.table import render_with_texts

    status = tree.get("status")
    conditions = (status.get("conditions") if isinstance(status, dict) else None) or []
    if not conditions:
        return []
    now = client.clock.now()
    rows: list[list[str | Cell]] = [
        [
            str(each.get("type", "")),
            _status(each),
            str(each.get("reason") or ""),
            age(each.get("lastTransitionTime"), now),
        ]
        for each in conditions
    ]
    messages = {"MESSAGE": [str(each.get("message") or "") for each in conditions]}
    lines = render_with_texts(("TYPE", "STATUS", "REASON", "SINCE"), rows, messages, _narrower(place))
    return _section("Conditions", lines, place)


def _status(condition: "Object") -> Cell:
    """Returns the cell for the status of a condition. Only conditions that are good when true are coloured."""
    text = str(condition.get("status", ""))
    return Cell(text, meaning_of(text) if condition.get("type") in _GOOD_WHEN_TRUE else "")


def _narrower(place: Terminal) -> Terminal:
    """Returns the terminal without the two columns of a section's indentation."""
    return place._replace(width=place.width - 2 if place.width is not None else None)


def _shown(tree: "Object", name: str) -> Any:
    """Returns a field of the object, without the parts shown elsewhere or too large to show."""
    part = tree.get(name)
    if name == "status" and isinstance(part, dict):
        return {key: part[key] for key in part if key not in ("conditions", "effectiveEnv")}
    return part


def _sizes(tree: "Object", rest: "Object") -> "Object":
    """Replaces the values of a Secret by their sizes."""
    if tree["kind"] != "Secret":
        return rest
    import base64

    data = {name: f"{len(base64.b64decode(value or ''))} bytes" for name, value in (tree.get("data") or {}).items()}
    return {**rest, "data": data} if data else rest


def _yaml(tree: Any) -> list[str]:
    if not tree:
        return []
    from setpoint.objects import yamltext

    return harmless(yamltext.dump(tree)).splitlines()


async def _owned(client: "Client", kinds: "Kinds", tree: "Object") -> list[str]:
    """Returns the objects owned by an object, directly or indirectly, as a tree."""
    from setpoint.client.kinds import metadata_only
    from setpoint.objects import meta
    from setpoint.objects.errors import APIError

    uid, namespace = meta.uid(tree), meta.namespace(tree)
    # Owners and dependents are always in the same namespace.
    resources = [
        each for each in kinds.listable() if each.plural not in _UNOWNED and (each.namespaced or not namespace)
    ]
    everywhere = client.with_options(namespace=namespace)
    # The user did not name these kinds, so warnings that some are deprecated are of no use.
    everywhere.on_warning = lambda _: None

    async def listed(resource: Any) -> "list[tuple[str, Object]]":
        try:
            found = await everywhere.list(metadata_only(resource.gvk))
        except APIError:
            return []  # the user may not be allowed to list all kinds
        return [(kinds.word_for(resource), item) for item in found.items if meta.owner_references(item)]

    by_owner: dict[str, list[tuple[str, Object]]] = {}
    for resource in resources:
        for word, item in await listed(resource):
            for owner in meta.owner_references(item):
                by_owner.setdefault(owner["uid"], []).append((word, item))

    def branch(owner: str, indent: str, seen: frozenset[str]) -> list[str]:
        lines = []
        children = [each for each in by_owner.get(owner, ()) if meta.uid(each[1]) not in seen]
        for number, (word, item) in enumerate(children, 1):
            is_last = number == len(children)
            lines.append(f"{indent}{'└─' if is_last else '├─'} {word}/{meta.name(item)}")
            below = f"{indent}{'   ' if is_last else '│  '}"
            lines += branch(meta.uid(item), below, seen | {meta.uid(item)})
        return lines

    return branch(uid, "", frozenset({uid}))


async def _events(client: "Client", tree: "Object") -> list[str]:
    """Returns the Events of an object, newest last."""
    from setpoint.cli.objects.tables import age
    from setpoint.cli.output.table import render_with_texts
    from setpoint.objects import meta
    from setpoint.objects.errors import APIError

    fields = {"involvedObject.uid": meta.uid(tree)}
    try:
        found = (await client.with_options(namespace="").list("v1/Event", fields=fields)).items
    except APIError:
        return []

    def last(event: "Object") -> str:
        series = event.get("series") or {}
        return str(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or "")

    now, shown = client.clock.now(), sorted(found, key=last)[-_EVENTS:]
    rows = [
        [
            age(last(event), now) if last(event) else "",
            event.get("type", ""),
            event.get("reason", ""),
            (event.get("source") or {}).get("component") or event.get("reportingComponent", ""),
        ]
        for event in shown
    ]
    messages = {"MESSAGE": [str(event.get("message", "")) for event in shown]}
    return render_with_texts(("AGE", "TYPE", "REASON", "FROM"), rows, messages, _narrower(terminal())) if rows else []


async def _last_lines(client: "Client", tree: "Object") -> list[str]:
    """Returns the last log lines of a workload."""
    from setpoint.client.kinds import ref_of
    from setpoint.objects import meta
    from setpoint.objects.errors import APIError

    resource = await client.resource(ref_of(tree))
    if "log" not in resource.subresources:
        return []
    query = [("source", "all"), ("tail", str(_LAST_LINES))]
    try:
        answer = await client.raw("GET", resource.path(name=meta.name(tree), subresource="log"), query=query)
    except APIError:
        return []
    return [harmless(line) for line in answer.body.decode("utf-8", "replace").splitlines()]
