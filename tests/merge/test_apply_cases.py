"""Sequences of applies and updates, from tables: what becomes of the object, who owns what, who conflicts with whom.

Each case is played through the public face, the field manager of a custom resource whose schema the case names. Paths
are written as conflicts show them.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from tests.merge.documents import CASES, exactly, named

from setpoint.merge import fieldset
from setpoint.merge.fieldmanager import FieldManager
from setpoint.merge.fieldset import FieldSet
from setpoint.merge.types import Types
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import APIError, ApplyConflict
from setpoint.objects.tree import Object, copy
from setpoint.schema.builtin import definition

GROUP = "example.com"
TABLES = sorted(path.stem for path in (CASES / "apply").glob("*.yaml") if path.stem != "schemas")
SCHEMAS = yaml.safe_load((CASES / "apply" / "schemas.yaml").read_text())


class Player:
    """An object that a case is played on."""

    def __init__(self, case: Object) -> None:
        self.clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.served = ["v1", "v2"]
        self.schema = case["schema"]
        self.reset: FieldSet = case.get("reset fields", {})
        self.live: Object | None = None

    def manager(self, version: str) -> FieldManager:
        kind = Types(definition).custom_resource(SCHEMAS[self.schema])
        types = {f"{GROUP}/{served}": kind for served in self.served}
        return FieldManager(
            api_version=f"{GROUP}/{version}",
            kind="Thing",
            types=types,
            clock=self.clock,
            reset_fields=dict.fromkeys(types, self.reset),
        )

    def play(self, step: Object) -> None:
        self.clock.advance(60)
        if "schema" in step:
            self.schema = step["schema"]
        elif "no longer served" in step:
            self.served.remove(step["no longer served"])
        else:
            self.write(step)

    def write(self, step: Object) -> None:
        version = step.get("version", "v1")
        body = {"apiVersion": f"{GROUP}/{version}", "kind": "Thing", **copy(step.get("apply", step.get("update")))}
        # What is served is the version that is asked for; here all versions have the same fields.
        live = None if self.live is None else {**self.live, "apiVersion": f"{GROUP}/{version}"}
        given = copy(live), copy(body)
        fields = self.manager(version)
        if "update" in step:
            self.live = fields.update(live, body, step["by"])
            return
        new = outcome(fields, live, body, step)
        assert (live, body) == given, "a write changed what it was given"
        if isinstance(new, ApplyConflict):
            assert told(new) == step.get("conflicts")
        elif isinstance(new, APIError):
            assert new.code == 422
            assert (
                new.message
                == f"failed to create typed patch object (/; {body['apiVersion']}, Kind=Thing): {step['error']}"
            )
        else:
            assert {"conflicts", "error"}.isdisjoint(step)
            assert (bare(new) == bare(live or {})) == step.get("unchanged", False)
            if step.get("unchanged") and live is not None:
                times = {entry["manager"]: entry.get("time") for entry in entries(live)}
                assert all(entry.get("time") == times.get(entry["manager"]) for entry in entries(new))
            self.live = new


def outcome(fields: FieldManager, live: Object | None, body: Object, step: Object) -> Object | APIError:
    try:
        return fields.apply(live, body, step["by"], force=step.get("force", False))
    except APIError as error:
        return error


def told(conflict: ApplyConflict) -> dict[str, list[str]]:
    """The conflicting fields by manager, in the order they are told."""
    found: dict[str, list[str]] = {}
    for cause in conflict.causes:
        manager = cause.message.removeprefix('conflict with "').partition('"')[0]
        found.setdefault(manager, []).append(cause.field)
    return found


def entries(tree: Object) -> list[Object]:
    found: list[Object] = tree.get("metadata", {}).get("managedFields", [])
    return found


def bare(tree: Object) -> Object:
    return {name: value for name, value in tree.items() if name not in ("apiVersion", "kind", "metadata")}


def owners(tree: Object) -> dict[str, list[str]]:
    return {
        entry["manager"]: [fieldset.path_text(path) for path in fieldset.paths(entry["fieldsV1"])]
        for entry in entries(tree)
    }


@pytest.mark.parametrize("case", named(*(f"apply/{table}" for table in TABLES)))
def test_a_sequence_of_writes_ends_as_the_case_says(case: Any) -> None:
    player = Player(case)
    for step in case["steps"]:
        player.play(step)
    live = player.live or {}
    assert exactly(bare(live)) == exactly(case["object"])
    assert owners(live) == case["owners"]
