"""Follows recorded scenarios as far as the rules of the core kinds are at work in them.

Each write to a core kind is done again through `writes`; each Table is made again from what was written. What was sent
in a form that only the whole server reads (apply, JSON patch, subresources with a kind of their own) is passed over,
and with it everything about that object that comes later.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tests.server.kinds.writes import Place, Writes, parse_path

from setpoint.merge import mergepatch
from setpoint.objects.tree import Json, Object, copy
from setpoint.server.registry.kinds import strategy_for

SCENARIOS = Path(__file__).parents[2] / "golden" / "scenarios"
AREAS = ("crud", "errors", "lifecycle", "listwatch", "negotiation")
# Scenarios about other objects, about the query, about the decoding of a body, about an object as sent, about the
# volumes that admission adds to pods, about fields that the write path drops, or about a create through the status.
_ELSEWHERE = (
    "crud/crud-pod-serviceaccount-admission",
    "errors/err-fieldmanager-invalid",
    "errors/err-order-of-checks",
    "crud/crud-managers-and-embedded-structs",
    "crud/crud-eviction-responders",
    "crud/crud-pod-disabled-features",
    "crud/crud-service-from-status",
    "crud/crud-service-status-no-addresses",
    "errors/errors-ephemeral-container-empty-list",
    "errors/err-empty-lists",
    "errors/err-empty-lists-inside",
    "errors/err-pod-addresses",
    "errors/err-pod-status",
    "errors/err-pod-subresource-metadata",
    "lifecycle/life-pod-orphan-while-terminating",
    "lifecycle/lifecycle-further-service-ranges",
)
NOW = datetime(2024, 5, 1, 10, 5, tzinfo=UTC)
_TOKEN = "abcdefgh"
_MERGE = "application/merge-patch+json"
_PLACEHOLDER = re.compile(r"<[a-z]+(?::\d+)?>\Z")
_REPEAT = re.compile(r"\{repeat:(\d+):(.*?):end\}", re.S)
# What only the server as a whole decides: identities, revisions, who manages what.
_OTHERS = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp")
# What rules of admission add; they have tests of their own.
_ADMITTED = {
    "Node": (("spec", "taints"),),
    "PersistentVolume": (("metadata", "finalizers"),),
    "PersistentVolumeClaim": (("metadata", "finalizers"),),
    "Pod": (("spec", "tolerations"), ("spec", "priority"), ("spec", "preemptionPolicy")),
}


class Step(NamedTuple):
    """A difference between what was recorded and what came out; equal if there is none."""

    name: str
    expected: Any
    found: Any


@cache
def scenario_ids() -> list[str]:
    """`area/id` of the scenarios that write a core kind."""
    if not SCENARIOS.exists():
        return []
    found = [
        f"{path.parent.name}/{path.stem}"
        for area in AREAS
        for path in sorted((SCENARIOS / area).glob("*.yaml"))
        if "/api/v1/" in (text := path.read_text()) or "events.k8s.io" in text
    ]
    return [scenario for scenario in found if scenario not in _ELSEWHERE]


def follow(scenario_id: str) -> Iterator[Step]:
    """The steps of a scenario that the rules have a say in."""
    scenario = _filled(yaml.load((SCENARIOS / f"{scenario_id}.yaml").read_text(), Loader=yaml.CSafeLoader))
    writes = Writes()
    lost: set[tuple[str, str, str]] = set()
    for position, step in enumerate(scenario["steps"]):
        place = parse_path(step.get("path", "")) if "method" in step else None
        expected = step.get("expect") or {}
        if place is None or step.get("as") or "status" not in expected:
            continue
        name = f"{position} {step['method']} {step['path']}"
        if step["method"] == "GET":
            yield from _tables(name, place, expected, writes, lost)
        else:
            yield from _write(name, place, step, expected, writes, lost)


def _write(
    name: str, place: Place, step: Any, expected: Any, writes: Writes, lost: set[tuple[str, str, str]]
) -> Iterator[Step]:
    body, status = step.get("body"), expected["status"]
    key = place.key if place.name else (place.kind, place.namespace, _name(body))
    method = step["method"]
    media = (step.get("headers") or {}).get("Content-Type", "application/json")
    dry = (step.get("query") or {}).get("dryRun")
    if key in lost or status in (404, 405, 409, 415) or (type(body) is not dict and method != "DELETE"):
        return
    if method == "DELETE":
        lost.add(key)
        return
    readable = media == ("application/json" if method != "PATCH" else _MERGE)
    if not readable or place.subresource not in ("", "status") or "generateName" in (body.get("metadata") or {}):
        lost.add(key)
        return
    if status == 400 and "cannot unmarshal" not in str(expected.get("body")):
        return
    kept = dict(writes.objects)
    try:
        if method == "POST":
            written = writes.create(place, body)
        elif key not in writes.objects:
            written = writes.create(place._replace(name=""), body)
        else:
            new = body if method == "PUT" else mergepatch.apply(copy(writes.objects[key]), body)
            written = writes.update(place, new)
    except ValueError as error:
        yield Step(name, (expected.get("body") or {}).get("message", ""), _refused(place, str(error)))
        return
    if dry:
        writes.objects = kept
    found = {(error.field, error.type.reason, error.message) for error in written.errors}
    if status == 422:
        causes = ((expected.get("body") or {}).get("details") or {}).get("causes") or []
        wanted = {(cause["field"], cause["reason"], cause["message"]) for cause in causes}
        if wanted or "body" in expected:
            yield Step(name, wanted, found)
    elif status in (200, 201):
        yield Step(name, set(), found)
        whole = "select" not in step and "ignore" not in step
        if whole and type(expected.get("body")) is dict and expected["body"].get("kind") == place.kind:
            yield Step(name, _bare(expected["body"]), _shown(_bare(expected["body"]), _bare(written.tree)))


def _tables(name: str, place: Place, expected: Any, writes: Writes, lost: set[tuple[str, str, str]]) -> Iterator[Step]:
    body = expected.get("body")
    if type(body) is not dict or body.get("kind") != "Table" or not body.get("columnDefinitions"):
        return
    strategy = strategy_for(place.group, place.kind)
    assert strategy is not None
    wanted = [
        (column["name"], column["type"], column["format"], column["priority"]) for column in body["columnDefinitions"]
    ]
    yield Step(name, wanted, [(it.name, it.type, it.format, it.priority) for it in strategy.columns])
    trees = [
        tree
        for key, tree in sorted(writes.objects.items())
        if key[:2] == (place.kind, place.namespace) and key not in lost and place.name in ("", key[2])
    ]
    if len(trees) == len(body["rows"]):
        for row, tree in zip(body["rows"], trees, strict=True):
            cells = [column.cell(tree, NOW) for column in strategy.columns]
            yield Step(name, row["cells"], [_as(want, got) for want, got in zip(row["cells"], cells, strict=True)])


def _filled(value: Any) -> Any:
    if type(value) is str:
        value = _REPEAT.sub(lambda found: found[2] * int(found[1]), value)
        return value.replace("{ns}", f"ns-{_TOKEN}").replace("{x}", _TOKEN)
    if type(value) is dict:
        return {_filled(name): _filled(item) for name, item in value.items()}
    return [_filled(item) for item in value] if type(value) is list else value


def _name(body: Any) -> str:
    metadata = body.get("metadata") if type(body) is dict else None
    return str((metadata or {}).get("name", ""))


def _refused(place: Place, why: str) -> str:
    return f'{place.kind} in version "v1" cannot be handled as a {place.kind}: {why}'


def _bare(tree: Object) -> Object:
    """An object without what the rules have no say in."""
    made: Object = json.loads(json.dumps(tree))
    for name in _OTHERS:
        made.get("metadata", {}).pop(name, None)
    for part, name in _ADMITTED.get(made.get("kind", ""), ()):
        made.get(part, {}).pop(name, None)
    return made


def _shown(expected: Json, found: Json) -> Json:
    """What was found, with the placeholders of the recording in the places of real values."""
    if type(expected) is dict and type(found) is dict:
        return {name: _shown(expected.get(name), item) for name, item in found.items()}
    if type(expected) is list and type(found) is list and len(expected) == len(found):
        return [_shown(want, got) for want, got in zip(expected, found, strict=True)]
    return _as(expected, found)


def _as(expected: Json, found: Json) -> Json:
    is_any = type(expected) is str and _PLACEHOLDER.match(expected) is not None
    return expected if is_any and found not in (None, "") and not str(found).startswith("<") else found
