"""The worst requests for schemas: large definitions, large objects, expensive rules.

Each case is a name, the definitions and objects that it needs, and the request that is measured. The harness of the
table (`bench/loop_gap.py`) runs them with all others:

    python bench/loop_gap_schema.py [part of a name]

runs them alone and prints the longest gap between two iterations of the event loop, and the CPU of the loop's thread.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from setpoint.server.app import Server
from setpoint.server.message import Request, Response
from setpoint.store.memory import MemoryStore

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "gap.example.com"

Tree = dict[str, Any]
_encode = msgspec.json.encode


class Case(NamedTuple):
    """One request. `setup` brings the server into the state that the request needs."""

    name: str
    setup: Callable[[Server], Awaitable[None]]
    request: Request


def definition(schema: Tree, plural: str = "things", **version: Any) -> Tree:
    """A CustomResourceDefinition with one version."""
    kind = plural.capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}} | version
            ],
        },
    }


def with_spec(spec: Tree, **more: Any) -> Tree:
    """The schema of an object whose spec is given."""
    return {"type": "object", "properties": {"spec": spec}} | more


def post(path: str, tree: Tree) -> Request:
    return Request("POST", path, "", {"content-type": "application/json"}, _encode(tree))


def create_definition(tree: Tree) -> Request:
    return post(DEFINITIONS, tree)


def create_object(spec: Any, plural: str = "things", name: str = "one", **more: Any) -> Request:
    tree = {"apiVersion": f"{GROUP}/v1", "kind": plural.capitalize(), "metadata": {"name": name}, "spec": spec} | more
    return post(f"/apis/{GROUP}/v1/namespaces/default/{plural}", tree)


def after(*requests: Request) -> Callable[[Server], Awaitable[None]]:
    """A setup that sends requests, which must succeed."""

    async def setup(server: Server) -> None:
        for request in requests:
            response = await server(request)
            if response.status >= 300:
                raise RuntimeError(f"{response.status}: {response.body!r:.500}")

    return setup


async def nothing(server: Server) -> None:
    """No setup."""


def cases() -> Sequence[Case]:
    """All cases, the ones of the issue first."""
    return [*_rules(), *_wide(), *_alternatives(), *_large_objects(), *_many_definitions()]


# --- CEL ---


def _rules() -> list[Case]:
    # Each rule costs somewhat less than one call may, and all of them as much as one object may.
    unique = {
        "type": "array",
        "maxItems": 300,
        "items": {"type": "string", "maxLength": 8},
        "x-kubernetes-validations": [{"rule": "self.all(x, self.exists_one(y, y == x))"}],
    }
    blocks = with_spec({"type": "object", "properties": {f"t{number}": unique for number in range(14)}})
    full = {f"t{number}": [f"{text:x}" for text in range(290)] for number in range(14)}
    one = {
        "type": "object",
        "properties": {"numbers": {"type": "array", "items": {"type": "integer"}, "maxItems": 1000}},
        "x-kubernetes-validations": [{"rule": "self.numbers.all(x, self.numbers.exists(y, y == x + 500000))"}],
    }
    strings = {
        "type": "object",
        "properties": {"texts": {"type": "array", "items": {"type": "string", "maxLength": 64}, "maxItems": 500}},
        "x-kubernetes-validations": [
            {"rule": "self.texts.all(x, self.texts.exists_one(y, y == x) && x.matches('^[a-z0-9]+$'))"}
        ],
    }
    hundred = {
        "type": "object",
        "properties": {f"f{number}": {"type": "string", "maxLength": 100} for number in range(1000)},
        "x-kubernetes-validations": [{"rule": f"self.f{number}.size() < 50"} for number in range(1000)],
    }
    return [
        Case("CEL at the budget of an object", after(create_definition(definition(blocks))), create_object(full)),
        Case(
            "CEL at the budget of a call",
            after(create_definition(definition(with_spec(one)))),
            create_object({"numbers": list(range(1000))}),
        ),
        Case(
            "CEL over all pairs of strings",
            after(create_definition(definition(with_spec(strings)))),
            create_object({"texts": [f"{number:x}" for number in range(500)]}),
        ),
        Case("definition with 1,000 rules", nothing, create_definition(definition(with_spec(hundred)))),
        Case(
            "first object under 1,000 rules",
            after(create_definition(definition(with_spec(hundred)))),
            create_object({f"f{number}": "x" for number in range(1000)}),
        ),
    ]


# --- wide and large definitions ---


def _wide() -> list[Case]:
    wide = with_spec(
        {
            "type": "object",
            "properties": {
                f"p{number}": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
                for number in range(15_000)
            },
        }
    )
    every = {f"p{number}": {"a": "x", "b": 1} for number in range(15_000)}
    defaults = with_spec(
        {
            "type": "object",
            "properties": {f"p{number}": {"type": "string", "default": "x"} for number in range(15_000)},
        }
    )
    return [
        Case("definition with 15,000 properties", nothing, create_definition(definition(wide))),
        Case(
            "first object, one of 15,000 properties",
            after(create_definition(definition(wide))),
            create_object({"p1": {"a": "x"}}),
        ),
        Case(
            "first object, all of 15,000 properties", after(create_definition(definition(wide))), create_object(every)
        ),
        Case("first object, 15,000 defaults", after(create_definition(definition(defaults))), create_object({})),
        Case("definition of 2.4 MB", nothing, create_definition(large_definition())),
        Case(
            "first object of a definition of 2.4 MB",
            after(create_definition(large_definition())),
            create_object({"templates0": [{"containers": [{"name": "a", "f1": {"name": "x"}}]}]}),
        ),
    ]


def large_definition(plural: str = "things", parts: int = 24) -> Tree:
    """A definition of the size of large operators': pod templates again and again, with long descriptions."""
    return definition(with_spec({"type": "object", "properties": dict(_parts(parts))}), plural)


def _parts(parts: int) -> list[tuple[str, Tree]]:
    text = "Describes a field in the words of its authors, at some length, as the documentation of operators does. "
    reference = {
        "type": "object",
        "description": text * 3,
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": text, "default": ""},
            "key": {"type": "string", "description": text},
            "optional": {"type": "boolean", "description": text},
            "limit": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
        "x-kubernetes-map-type": "atomic",
    }
    container = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}} | {f"f{number}": reference for number in range(90)},
    }
    listed = {
        "type": "array",
        "items": container,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    template = {"type": "object", "properties": {"containers": listed, "labels": {"type": "object"}}}
    return [(f"templates{number}", {"type": "array", "items": template}) for number in range(parts)]


# --- alternatives, enums, required ---


def _alternatives() -> list[Case]:
    branches = [{"required": [f"p{number}"]} for number in range(20_000)]
    fields = {f"p{number}": {"type": "string"} for number in range(2_000)}
    nothing_wrong = [{"not": {"required": [f"q{number}"]}} for number in range(20_000)]
    few = [{"required": [f"p{number}"]} for number in range(2_000)]
    found = []
    for name, spec, value in (
        ("allOf of 20,000 branches, none met", {"allOf": branches}, {}),
        ("allOf of 20,000 branches, all met", {"allOf": nothing_wrong}, {"p1": "x"}),
        ("oneOf of 20,000 branches, one met", {"oneOf": branches}, {"p1": "x"}),
        ("anyOf of 20,000 branches, last met", {"anyOf": branches}, {"p1999": "x"}),
        ("not of 20,000 branches", {"not": {"anyOf": branches}}, {}),
        ("20,000 required fields", {"required": [f"p{number}" for number in range(20_000)]}, {}),
    ):
        schema = with_spec({"type": "object", "properties": fields} | spec)
        found.append(Case(f"definition: {name}", nothing, create_definition(definition(schema))))
        found.append(Case(name, after(create_definition(definition(schema))), create_object(value)))
    texts = {"type": "string", "enum": [f"value-{number}" for number in range(10_000)]}
    listed = with_spec({"type": "array", "items": texts})
    found.append(
        Case(
            "enum of 10,000 values, 10,000 times",
            after(create_definition(definition(listed))),
            create_object([f"value-{number}" for number in range(9_999, -1, -1)]),
        )
    )
    per_item = with_spec({"type": "array", "items": {"type": "object", "allOf": few, "properties": fields}})
    found.append(
        Case(
            "allOf of 2,000 branches for 2,000 items",
            after(create_definition(definition(per_item))),
            create_object([{} for _ in range(2_000)]),
        )
    )
    return found


# --- large objects ---


def _large_objects() -> list[Case]:
    objects = {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "integer"}}}
    by_name = {
        "type": "array",
        "items": objects | {"required": ["name"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    unique = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    texts = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}}
    defaulted = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {f"d{n}": {"type": "string", "default": "some text"} for n in range(10)},
        },
    }
    opaque = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    items = [{"name": f"n{number}", "value": number} for number in range(40_000)]
    found = []
    for name, spec, value in (
        ("map list of 40,000 items", by_name, items),
        ("map list of 40,000 items, one twice", by_name, [*items[:-1], items[0]]),
        ("set of 100,000 strings", unique, [f"v{number}" for number in range(100_000)]),
        ("set of 100,000 strings, one twice", unique, ["v1", *(f"v{number}" for number in range(100_000))]),
        ("map of 100,000 strings", texts, {f"k{number}": "x" for number in range(100_000)}),
        ("map of 100,000 strings, all wrong", texts, {f"k{number}": "wrong-" for number in range(100_000)}),
        ("map of 100,000 unknown fields", {"type": "object"}, {f"k{number}": "x" for number in range(100_000)}),
        ("10 defaults in 20,000 items", defaulted, [{} for _ in range(20_000)]),
        ("preserved object of 3 MB", opaque, {f"k{number}": {"a": [1, "x"]} for number in range(100_000)}),
    ):
        found.append(Case(name, after(create_definition(definition(with_spec(spec)))), create_object(value)))
    columns = [{"name": f"c{number}", "type": "string", "jsonPath": ".spec[*].name"} for number in range(20)]
    columned = definition(with_spec(by_name), additionalPrinterColumns=columns)
    table = Request(
        "GET",
        f"/apis/{GROUP}/v1/namespaces/default/things",
        "",
        {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
        b"",
    )
    found.append(
        Case(
            "table with 20 columns over 30,000 items",
            after(create_definition(columned), create_object(items[:30_000])),
            table,
        )
    )
    return found


# --- many definitions ---


def _many_definitions() -> list[Case]:
    small = with_spec({"type": "object", "properties": {"size": {"type": "integer"}}})
    others = [create_definition(definition(small, f"many{number}")) for number in range(500)]
    return [
        Case("definition 501", after(*others), create_definition(definition(small, "last"))),
        Case(
            "OpenAPI v2 of 500 definitions",
            after(*others),
            Request("GET", "/openapi/v2", "", {}, b""),
        ),
        Case(
            "discovery of 500 definitions",
            after(*others),
            Request(
                "GET",
                "/apis",
                "",
                {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
                b"",
            ),
        ),
    ]


# --- the harness ---


def gap_cases() -> Iterator[Any]:
    """The cases for `bench.loop_gap`: each with definitions of its own, as all share one server."""
    harness = import_module("bench.loop_gap")  # which imports this module

    recorded: list[Request] = []

    async def record(request: Request) -> Response:
        recorded.append(request)
        return Response(200, "", b"", ())

    def ask(request: Request, number: int) -> Any:
        own = f"gap{number}.example.com"
        body, path = request.body.replace(GROUP.encode(), own.encode()), request.path.replace(GROUP, own)
        headers = dict(request.headers)
        kind = headers.pop("content-type", "application/json")
        return harness.Ask(request.method, path, body, kind, tuple(headers.items()))

    for number, case in enumerate(cases()):
        recorded.clear()
        asyncio.run(case.setup(record))  # type: ignore[arg-type]
        before = tuple(ask(request, number) for request in recorded)
        yield harness.GapCase(case.name, f"{len(case.request.body):,} B", (ask(case.request, number),), before)


# --- a run without the harness ---


class Gap(NamedTuple):
    """What a request did to the loop, in seconds."""

    longest: float
    # The most CPU of the loop's thread between two ticks: what is left of the gap on an idle machine.
    worst: float
    took: float
    # The CPU of all threads.
    cpu: float
    status: int


async def measure(case: Case) -> Gap:
    """Runs a case on a server of its own."""
    server = Server(MemoryStore())
    await server.start()
    await server(post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}))
    await case.setup(server)
    gc.collect()
    gc.freeze()
    longest, worst = 0.0, 0.0

    async def tick() -> None:
        nonlocal longest, worst
        last, last_cpu = time.perf_counter(), time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now, cpu = time.perf_counter(), time.thread_time()
            longest, worst = max(longest, now - last), max(worst, cpu - last_cpu)
            last, last_cpu = now, cpu

    ticking = asyncio.ensure_future(tick())
    await asyncio.sleep(0.01)
    longest = worst = 0.0
    began, cpu = time.perf_counter(), time.process_time()
    response: Response = await server(case.request)
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    await asyncio.sleep(0.01)
    ticking.cancel()
    server.close()
    return Gap(longest, worst, took, cpu, response.status)


def main() -> None:
    wanted = " ".join(sys.argv[1:])
    for case in cases():
        if wanted in case.name:
            found = asyncio.run(measure(case))
            print(
                f"{case.name:<48} gap {found.longest * 1000:8.1f} ms   loop CPU {found.worst * 1000:8.1f} ms   "
                f"took {found.took * 1000:8.1f} ms   CPU {found.cpu * 1000:8.1f} ms   "
                f"{len(case.request.body):>9,} bytes   {found.status}",
                flush=True,
            )


if __name__ == "__main__":
    main()
