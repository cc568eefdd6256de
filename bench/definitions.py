"""Measures the CPU of the server that the CustomResourceDefinitions of several large operators take.

    CRD_SOURCE=DIRECTORY python -m bench definitions

applies each definition in the YAML and JSON files of the directory with one POST, then creates one object of each. The
server is that of `bench.loop_gap`: `setpoint serve` with TLS and RBAC, in a process of its own. Without CRD_SOURCE the
definitions are made up: the number and the size are those of ten large operators, and pod templates occur again and
again in them as they do there.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from bench.figure import Figure
from bench.loop_gap import LIMIT_MS, Ask, Served, serving
from bench.loop_gap_schema import DEFINITIONS, large_definition
from setpoint.client.manifests import load_yaml

AIM_SECONDS = 5.0
_KIND = "CustomResourceDefinition"
# How many made-up definitions there are of how many parts; a part has about 100 KB.
_MADE_UP = ((6, 12), (20, 6), (53, 1))

Tree = dict[str, Any]


class Cost(NamedTuple):
    """The cost of some requests."""

    cpu_seconds: float
    gap_ms: float
    accepted: int


def figures() -> Iterator[Figure]:
    source = os.environ.get("CRD_SOURCE")
    trees = [each for each in load_yaml(source) if each["kind"] == _KIND] if source else list(_made_up())
    bodies = [msgspec.json.encode(tree) for tree in trees]
    with serving() as server:
        definitions = _cost(server, [Ask("POST", DEFINITIONS, body) for body in bodies])
        objects = _cost(server, [_first_object(tree) for tree in trees])
    yield Figure("definitions", len(trees), "")
    yield Figure("definitions, all of them as JSON", sum(map(len, bodies)) / 1e6, "MB")
    yield Figure("definitions accepted", definitions.accepted, "", met=definitions.accepted == len(trees))
    seconds = definitions.cpu_seconds
    aim = f"under {AIM_SECONDS:g}"
    yield Figure("definitions: CPU to apply all of them", seconds, "s", aim=aim, met=seconds < AIM_SECONDS)
    yield Figure("definitions: CPU of the first object of each", objects.cpu_seconds, "s")
    aim = f"under {LIMIT_MS:.0f}"
    for name, cost in (("apply", definitions), ("first objects", objects)):
        yield Figure(f"definitions: longest loop gap, {name}", cost.gap_ms, "ms", aim=aim, met=cost.gap_ms < LIMIT_MS)


def _cost(server: Served, asks: Iterable[Ask]) -> Cost:
    """Sends requests one after the other, and waits for the work that they leave behind."""
    server.until_idle()
    server.tell("reset")
    before = server.cpu_seconds()
    accepted = sum(status < 300 for status in server.ask(asks))
    gap = server.until_idle()
    return Cost(server.cpu_seconds() - before, gap.longest * 1000, accepted)


def _first_object(definition: Tree) -> Ask:
    """An object with nothing but its name. Where the schema requires more, the answer is 422; both read the schema."""
    spec = definition["spec"]
    version = next(each["name"] for each in spec["versions"] if each["storage"])
    names, group = spec["names"], spec["group"]
    namespace = "namespaces/default/" if spec["scope"] == "Namespaced" else ""
    tree = {"apiVersion": f"{group}/{version}", "kind": names["kind"], "metadata": {"name": "first"}, "spec": {}}
    return Ask("POST", f"/apis/{group}/{version}/{namespace}{names['plural']}", msgspec.json.encode(tree))


def _made_up() -> Iterator[Tree]:
    for count, parts in _MADE_UP:
        for number in range(count):
            yield large_definition(f"things{parts}x{number}", parts)
