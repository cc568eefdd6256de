"""The requests of the recorded scenarios, without their answers."""

import json
from functools import cache

from tests.server import golden
from tests.server.damage import Asked
from tests.server.hostile import JSON


@cache
def recorded() -> list[list[Asked]]:
    """The requests of every scenario."""
    found = []
    for scenario_id in golden.scenario_ids():
        steps = []
        for step in golden.load(scenario_id)["steps"]:
            if "path" not in step or "{repeat" in json.dumps([step.get("body"), step.get("rawBody")]):
                continue
            steps.append(_asked(step))
        found.append(steps)
    return found


def _asked(step: dict[str, object]) -> Asked:
    text = json.dumps([step["path"], step.get("query") or {}, step.get("headers") or {}, step.get("body")])
    for placeholder, value in (("{ns}", "default"), ("{x}", "xx"), ("{var:rv}", "5")):
        text = text.replace(placeholder, value)
    path, query, headers, body = json.loads(text)
    raw = step.get("rawBody")
    pairs = [(name, value) for name, given in query.items() for value in (given if type(given) is list else [given])]
    return Asked(
        str(step.get("method", "GET")),
        path,
        tuple((name, str(value)) for name, value in pairs),
        {"content-type": JSON, "accept": JSON, "user-agent": "golden/1.0"}
        | {name.lower(): str(value) for name, value in headers.items() if value is not None},
        raw.encode() if isinstance(raw, str) else body,
    )
