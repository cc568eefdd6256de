"""What a real server answered about metadata and selectors, asked of the functions that will answer here."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.objects import fields, labels
from setpoint.objects.errors import BadRequest, Invalid
from setpoint.objects.field import without_repeats
from setpoint.objects.gvk import GroupKind
from setpoint.objects.metavalidation import validate_create
from setpoint.objects.objectmeta import coerce
from setpoint.objects.status import from_status

from .tables import refusal

GOLDEN = Path(__file__).parents[1] / "golden" / "scenarios"

CONFIG_MAP = GroupKind("", "ConfigMap")


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    return list(recorded_steps())


def recorded_steps() -> Iterator[dict[str, Any]]:
    for path in sorted(GOLDEN.glob("*/*.yaml")):
        # The token of the run and its namespace stand as placeholders.
        text = path.read_text(encoding="utf-8").replace("{ns}", "ns-x").replace("{x}", "x")
        yield from yaml.load(text, Loader=yaml.CSafeLoader)["steps"]


def answer(step: dict[str, Any]) -> dict[str, Any]:
    body = step.get("expect", {}).get("body")
    return body if isinstance(body, dict) else {}


def test_every_recorded_failure_survives_the_way_through_an_error(steps: list[dict[str, Any]]) -> None:
    # Some were recorded in part only.
    whole = {"apiVersion", "metadata", "message", "code"}
    failures = [body for body in map(answer, steps) if body.get("kind") == "Status" and whole <= body.keys()]
    assert len(failures) > 100
    for body in failures:
        assert from_status(body, body["code"]).to_status() == body


def test_metadata_of_config_maps_is_judged_as_it_was(steps: list[dict[str, Any]]) -> None:
    judged = 0
    for step in steps:
        body, status = step.get("body"), step.get("expect", {}).get("status")
        if (
            step.get("method") != "POST"
            or not step.get("path", "").endswith("/configmaps")
            or not isinstance(body, dict)
        ):
            continue
        # The server makes managedFields its own, and generates names, before it judges.
        meta = {name: value for name, value in body.get("metadata", {}).items() if name != "managedFields"}
        if "generateName" in meta or "{repeat:" in str(meta) or body.get("kind") != "ConfigMap":
            continue
        if status == 400 and "ObjectMeta" in answer(step)["message"]:
            why = refusal(lambda given: coerce(given, within="metadata."), meta)
            assert BadRequest.not_decodable("ConfigMap", "v1", str(why)).to_status() == answer(step)
        elif status in (201, 422):
            metadata = coerce(meta).metadata | {"namespace": "d"}
            errors = without_repeats(validate_create(metadata, namespaced=True, needs_domains=True))
            expected = answer(step).get("details", {}).get("causes", []) if status == 422 else []
            if all(cause.get("field", "").startswith("metadata.") for cause in expected):
                found = Invalid.of(CONFIG_MAP, meta.get("name", ""), errors).causes
                assert sorted(found) == sorted(
                    (cause["reason"], cause["message"], cause["field"]) for cause in expected
                ), meta
        else:
            continue
        judged += 1
    assert judged > 50


def test_selectors_are_read_or_refused_as_they_were(steps: list[dict[str, Any]]) -> None:
    read = refused = 0
    for step in steps:
        query = step.get("query") or {}
        for name, parse in (("labelSelector", labels.parse), ("fieldSelector", fields.parse)):
            message = answer(step).get("message") if step.get("expect", {}).get("status") == 400 else None
            if name not in query or (message and re.search("selector:|not supported|strconv", message)):
                continue
            assert refusal(parse, str(query[name]), BadRequest) == message
            read, refused = read + (message is None), refused + (message is not None)
    assert read > 20
    assert refused >= 3
