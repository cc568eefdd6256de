"""Recorded requests, damaged at random: the server answers every one of them, and never fails itself."""

import asyncio
import json
from functools import cache
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.server import golden
from tests.server.write.api import Api

from setpoint.objects.tree import Json, copy

REQUESTS = 500
JUNK: list[Json] = [
    *(None, 0, -1, 1.5, 2**63, 10**30, "", "x", "ü", "a/b", "{", "1Gi", "-", True),
    *([], {}, [None], {"a": None}, [[]], {"": ""}, {"$patch": "delete"}),
]
NAMES = ("zz", "metadata", "spec", "status", "name", "$patch", "")
# Faults of the client for which the real server takes the blame, in the same words.
BLAMED = (
    "failed to create typed patch object",
    "map: map[",
    "unknown patch type",
    "unable to find api field",
    "list element types are not identical",
    "The order in patch list",
    "expected a []interface {}",
    "expected slice or array type",
    "merging an object in json but data type is not struct",
    "precise strategic merge",
    "delete patch type with no merge key",
    "wrong format of delete list",
)


@cache
def recorded() -> list[tuple[str, str, Json, str, str]]:
    """Method, path, body, query and media type of every recorded write."""
    found = []
    for scenario_id in golden.scenario_ids():
        for step in golden.load(scenario_id)["steps"]:
            if "path" not in step or not isinstance(step.get("body"), dict | list):
                continue
            text = json.dumps([step["path"], step["body"], step.get("query") or {}])
            if "{repeat" in text:
                continue
            for placeholder, value in (("{ns}", "default"), ("{x}", "xx"), ("{var:rv}", "5")):
                text = text.replace(placeholder, value)
            path, body, query = json.loads(text)
            kind = (step.get("headers") or {}).get("Content-Type", "application/json")
            found.append((step.get("method", "GET"), path, body, urlencode(query, doseq=True), kind))
    return found


def places(tree: Json, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside a tree."""
    children = tree.items() if type(tree) is dict else enumerate(tree) if type(tree) is list else ()
    return [place for step, item in children for place in ((*above, step), *places(item, (*above, step)))]


def damaged(tree: Json, random: Random) -> Json:
    tree = copy(tree)
    for _ in range(random.randint(1, 3)):
        ways = places(tree)
        if not ways:
            return copy(random.choice(JUNK))
        *above, last = random.choice(ways)
        holder = tree
        for step in above:
            holder = holder[step]
        match random.randrange(4):
            case 0:
                del holder[last]
            case 1 if type(holder) is dict:
                holder[random.choice(NAMES)] = copy(random.choice(JUNK))
            case 2 if type(holder) is list:
                holder.append(copy(holder[last]))
            case _:
                holder[last] = copy(random.choice(JUNK))
    return tree


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_request_is_refused_and_never_breaks_the_server(seed: int) -> None:
    random = Random(seed)
    requests = recorded()

    async def main() -> None:
        api = Api()
        await api.server.start()
        for _ in range(REQUESTS):
            method, path, body, query, kind = random.choice(requests)
            data = json.dumps(damaged(body, random)).encode()
            if random.random() < 0.05:
                data = data[: random.randrange(len(data))]
            answer = await api(method, path, data, kind=kind, query=query)
            if answer.status >= 500:
                assert answer.body["message"].startswith(BLAMED), (method, path, kind, data, answer.body)

    asyncio.run(main())
