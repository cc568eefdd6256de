"""Recorded scenarios of a real API server, read as what rules are asked: schemas and objects, with their causes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import json_merge_patch
import jsonpatch
import yaml

from setpoint.objects.field import FieldError
from setpoint.objects.tree import Json, copy

SCENARIOS = Path(__file__).parents[2] / "golden" / "scenarios"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Causes that come from the schema itself, not from a rule.
_NOT_RULES = (
    *("in body", "Unsupported value", "Too long", "Too many", "were not checked"),
    *("must be empty to be structural", "must be specified for an update"),
)


class Acceptance(NamedTuple):
    """A schema that was sent to the server, and the causes it gave."""

    schema: Json
    causes: list[tuple[str, str, str]]


class Validation(NamedTuple):
    """An object under a schema, on an update with the one before, the causes the server gave and its warnings."""

    schema: Json
    new: Json
    old: Json
    causes: list[tuple[str, str, str]]
    warnings: list[str]


def steps(path: Path) -> Iterator[Acceptance | Validation]:
    """What a scenario asks of the rules, step by step."""
    schema: Json = None
    stored: Json = None
    for step in yaml.safe_load(path.read_text())["steps"]:
        expected = step.get("expect") or {}
        if "method" not in step or "body" not in step:
            continue
        causes = _causes(expected)
        if step["path"] == _DEFINITIONS:
            schema = step["body"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            if not any(_from_schema(message) for _, _, message in causes):
                yield Acceptance(schema, causes)
        elif step["path"].startswith(_DEFINITIONS):
            patched = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
            schema = _patched(patched, step)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        else:
            new = with_defaults(_next(stored, step), schema)
            if not any(_from_schema(message) for _, _, message in causes):
                yield Validation(schema, new, None if step["method"] == "POST" else stored, causes, _warnings(expected))
            if expected["status"] < 300 and (step.get("query") or {}).get("dryRun") is None:
                stored = new


def shown(error: FieldError) -> tuple[str, str, str]:
    return error.field, error.type.reason, error.message


def _causes(expected: Any) -> list[tuple[str, str, str]]:
    body = expected.get("body")
    found = ((body.get("details") or {}).get("causes") or []) if isinstance(body, dict) else []
    return sorted((cause["field"], cause["reason"], cause["message"]) for cause in found)


def _from_schema(message: str) -> bool:
    return any(word in message for word in _NOT_RULES)


def _warnings(expected: Any) -> list[str]:
    found = (expected.get("headers") or {}).get("Warning") or []
    return [found] if isinstance(found, str) else found


def _next(stored: Json, step: Any) -> Json:
    if step["method"] in ("POST", "PUT"):
        return copy(step["body"])
    patched = _patched(stored, step)
    if step["path"].endswith("/status"):
        return {**copy(stored), "status": patched.get("status")}
    return patched


def _patched(tree: Json, step: Any) -> Json:
    if step["headers"]["Content-Type"] == "application/json-patch+json":
        return jsonpatch.apply_patch(tree, step["body"])
    return json_merge_patch.merge(copy(tree), copy(step["body"]))


def with_defaults(tree: Json, schema: Any) -> Json:
    """The tree with the schema's defaults, and without nulls where the schema has none."""
    if isinstance(tree, dict):
        properties = schema.get("properties") or {}
        for name, below in properties.items():
            if "default" in below and (name not in tree or (tree[name] is None and not below.get("nullable"))):
                tree[name] = copy(below["default"])
        for name, value in tree.items():
            below = properties.get(name) or schema.get("additionalProperties")
            if isinstance(below, dict):
                with_defaults(value, below)
    elif isinstance(tree, list) and isinstance(schema.get("items"), dict):
        for value in tree:
            with_defaults(value, schema["items"])
    return tree
