"""Reads recorded scenarios about custom resources as far as only the schema is at work.

A scenario is followed step by step: definitions and objects that the server accepted are kept, so that each write comes
out as what it was judged by (the schema, the new tree, the old one) together with what the server answered.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonpatch
import yaml

from setpoint.objects.tree import copy

SCENARIOS = Path(__file__).parents[1] / "golden" / "scenarios"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Definition(NamedTuple):
    """A schema that was sent in a definition."""

    id: str
    schema: Any
    path: str
    status_subresource: bool
    # None where the server accepted the definition.
    causes: list[dict[str, str]] | None


class Write(NamedTuple):
    """A write of a custom resource, as far as the schema has a say in it."""

    id: str
    schema: Any
    tree: Any
    old: Any
    status: int
    message: str
    causes: list[dict[str, str]]
    # The unknown fields the server warned of; None where it was asked not to.
    unknown: list[str] | None
    # What else the server warned of.
    warnings: list[str]
    # The parts of the object that the server answered with, as far as they were recorded.
    result: Any


def scenarios(*areas: str) -> Iterator[tuple[str, Any]]:
    for area in areas:
        for file in sorted((SCENARIOS / area).glob("*.yaml")):
            yield file.stem, yaml.load(file.read_text(), Loader=yaml.CSafeLoader)


def read(name: str, scenario: Any) -> Iterator[Definition | Write]:
    world = _World(name)
    for number, step in enumerate(scenario["steps"]):
        if step.get("method") in ("POST", "PUT", "PATCH"):
            yield from world.step(number, step)


class _World:
    def __init__(self, name: str) -> None:
        self.name = name
        self.definitions: dict[str, Any] = {}
        self.objects: dict[str, Any] = {}

    def step(self, number: int, step: Any) -> Iterator[Definition | Write]:
        path, body = step["path"], _body(step)
        if body is None or "expect" not in step:
            return
        where = f"{self.name} step {number}"
        if path.startswith(_CRDS):
            if not path.endswith("/status"):
                yield from self.define(where, step, body)
        elif path.startswith("/apis/{x}."):
            yield from self.write(where, step, body)

    def define(self, where: str, step: Any, body: Any) -> Iterator[Definition]:
        if step["method"] == "PATCH":
            body = _patched(self.definitions.get(step["path"].rsplit("/", 1)[1]), step, body)
        status = step["expect"]["status"]
        if not isinstance(body, dict) or not isinstance(body.get("spec"), dict) or status not in (200, 201, 422):
            return
        accepted = status != 422
        if accepted and "dryRun" not in step.get("query", {}):
            self.definitions[body["metadata"]["name"]] = body
        versions = body["spec"].get("versions") or []
        schemas = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]
        common = bool(schemas) and all(schema == schemas[0] for schema in schemas)
        for position, schema in enumerate(schemas[:1] if common else schemas):
            path = f"spec.versions[{position}].schema.openAPIV3Schema"
            if common:
                path = "spec.validation.openAPIV3Schema"
            with_status = any("status" in (version.get("subresources") or {}) for version in versions)
            causes = None if accepted else [c for c in _causes(step) if c["field"].startswith(path)]
            if schema is not None and (accepted or "body" in step["expect"]):
                yield Definition(where, schema, path, with_status, causes)

    def write(self, where: str, step: Any, body: Any) -> Iterator[Write]:
        _, _, group, version, *rest = step["path"].split("/")
        if rest[:1] == ["namespaces"]:
            rest = rest[2:]
        plural, names = rest[0], rest[1:]
        served = self.schema_of(f"{plural}.{group}", version)
        if served is None:
            return
        if len(names) > 1:
            self.remember(f"{plural}.{group}/{names[0]}", step)
            return
        schema, has_status = served
        name = names[0] if names else (body.get("metadata") or {}).get("name") if isinstance(body, dict) else None
        key = f"{plural}.{group}/{name}"
        old = self.objects.get(key) if step["method"] != "POST" else None
        tree = _patched(old, step, body) if step["method"] == "PATCH" else body
        if not isinstance(tree, dict) or (step["method"] != "POST" and old is None):
            return
        tree = copy(tree)
        if has_status:
            tree.pop("status", None)
            if old and "status" in old:
                tree["status"] = copy(old["status"])
        expect = step["expect"]
        status, result = expect["status"], expect.get("body")
        done = status in (200, 201)
        yield Write(
            where,
            schema,
            copy(tree),
            old,
            status,
            str(result.get("message") or "") if isinstance(result, dict) else "",
            [] if done else _causes(step),
            _unknown(step),
            [text for text in _warnings(step) if not text.startswith("unknown field")],
            {name: value for name, value in result.items() if value is not None} if done and result else {},
        )
        if done and "dryRun" not in (step.get("query") or {}):
            self.objects[key] = tree
            self.remember(key, step)

    def remember(self, key: str, step: Any) -> None:
        """Keeps the object as the server has it, where it was recorded whole."""
        result = step["expect"].get("body")
        if step["expect"]["status"] in (200, 201) and isinstance(result, dict) and "select" not in step:
            self.objects[key] = copy(result)

    def schema_of(self, definition: str, version: str) -> tuple[Any, bool] | None:
        found = self.definitions.get(definition)
        for served in found["spec"]["versions"] if found else []:
            if served["name"] == version:
                return served["schema"]["openAPIV3Schema"], "status" in (served.get("subresources") or {})
        return None


def _body(step: Any) -> Any:
    if "body" in step:
        return step["body"]
    text = step.get("rawBody", "")
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return None


def _warnings(step: Any) -> list[str]:
    headers = (step["expect"].get("headers") or {}).get("Warning", [])
    return [text.removeprefix('299 - "').removesuffix('"').replace('\\"', '"') for text in headers]


def _unknown(step: Any) -> list[str] | None:
    if (step.get("query") or {}).get("fieldValidation") in ("Ignore", "Strict"):
        return None
    return [text.split('"')[1] for text in _warnings(step) if text.startswith("unknown field")]


def _causes(step: Any) -> list[dict[str, str]]:
    body = step["expect"].get("body")
    if not isinstance(body, dict):
        return []
    return (body.get("details") or {}).get("causes") or []


def _patched(target: Any, step: Any, patch: Any) -> Any:
    kind = (step.get("headers") or {}).get("Content-Type")
    if target is None:
        return None
    if kind == "application/merge-patch+json":
        return _merged(target, patch)
    return jsonpatch.apply_patch(target, patch) if kind == "application/json-patch+json" else None


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result
