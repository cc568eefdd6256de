"""An app file becomes objects that the server takes, always the same; a changed one is a difference."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.app.apps import by_name, cases, rendered, written
from tests.workload.kinds.conftest import Plane

from setpoint.app.changes import changes, is_built
from setpoint.controller.child_names import child_name
from setpoint.objects.errors import APIError

RENDERS = cases("renders")


def shop(directory: Path, case: dict[str, Any]) -> Path:
    return written(directory, f"app: shop\n{case['text']}", case.get("files"))


def covers(found: Any, wanted: Any, path: str = "") -> list[str]:
    """Where something is not as wanted; fields that are not named may be anything, null is one that is absent."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [fault for key in wanted for fault in covers(found.get(key), wanted[key], f"{path}.{key}")]
    return [] if found == wanted else [f"{path}: {found} is not {wanted}"]


@pytest.mark.parametrize("case", RENDERS, ids=lambda case: str(case["name"]))
def test_an_app_becomes_objects(tmp_path: Path, case: dict[str, Any]) -> None:
    objects = by_name(rendered(shop(tmp_path, case), case.get("environ")))
    for name, wanted in case["objects"].items():
        assert (name in objects) is (wanted is not None)
        if wanted is None:
            continue
        endpoint = child_name("b", "Container", "b-https")
        text = json.dumps(objects[name]).replace(str(tmp_path), "DIR").replace(endpoint, "b-ENDPOINT")
        assert covers(json.loads(text), wanted) == []


def test_every_object_is_one_that_the_server_takes(tmp_path: Path, served: Plane) -> None:
    refused = []
    for number, case in enumerate(RENDERS):
        for tree in rendered(shop(tmp_path / str(number), case), case.get("environ")):
            try:
                served.run(served.client.create(tree, dry_run=True))
            except APIError as error:
                refused.append(f"{case['name']}: {error}")
    assert refused == []


def test_the_same_file_gives_the_same_objects_in_the_same_order(tmp_path: Path) -> None:
    for number, case in enumerate(RENDERS):
        file = shop(tmp_path / str(number), case)
        assert rendered(file, case.get("environ")) == rendered(file, case.get("environ"))


def test_objects_stand_in_the_order_in_which_they_can_be_made(tmp_path: Path) -> None:
    [case] = [case for case in RENDERS if case["name"].startswith("definitions come first")]
    kinds = [tree["kind"] for tree in rendered(shop(tmp_path, case))]
    assert kinds == ["App", "CustomResourceDefinition", "Executable", "ConfigMap"]


@pytest.mark.parametrize("case", cases("changes"), ids=lambda case: str(case["name"]))
def test_a_changed_file_says_what_it_does_to_what_runs(tmp_path: Path, case: dict[str, Any]) -> None:
    environs = case.get("environ", [{}, {}])
    old, new = (
        rendered(shop(tmp_path, {"text": case[when]}), environ)
        for when, environ in zip(("before", "after"), environs, strict=True)
    )
    assert list(map(str, changes(old, new))) == case["found"]


def test_workloads_are_replaced_on_request_even_if_they_did_not_change(tmp_path: Path) -> None:
    text = """
services:
  db: { image: postgres }
  api: { build: . }
  web: { run: sleep 600 }
  pool: { run: sleep 600, replicas: 2 }
tasks:
  seed: { run: echo seeded, auto: true }
  test: { run: echo tested }
"""
    before, after = (rendered(shop(tmp_path, {"text": each})) for each in (text, text.replace("postgres }", "mysql }")))
    built = changes(before, before, lambda tree: "--build" if is_built(tree) else "")
    assert list(map(str, built)) == ["changed Container api (is recreated): --build"]
    # A change that replaces the workload anyway keeps its own reason.
    assert sorted(map(str, changes(before, after, lambda _: "--force-recreate"))) == [
        "changed Container api (is recreated): --force-recreate",
        "changed Container db (is recreated): spec.image",
        "changed Executable web (restarts): --force-recreate",
        "changed ExecutableReplicaSet pool (restarts one by one): --force-recreate",
        "changed Task seed (runs again): --force-recreate",
    ]


def test_what_is_said_to_go_on_or_restart_is_a_change_that_the_server_takes(tmp_path: Path, served: Plane) -> None:
    for case in cases("changes"):
        environs = case.get("environ", [{}, {}])
        old, new = (
            rendered(shop(tmp_path, {"text": case[when]}), environ)
            for when, environ in zip(("before", "after"), environs, strict=True)
        )
        for change in changes(old, new):
            if change.what != "changed":
                continue
            assert change.old is not None
            assert change.new is not None
            created = served.run(served.client.create(change.old))
            wanted = {**change.new, "metadata": {**change.new["metadata"], **_version(created)}}
            try:
                served.run(served.client.update(wanted, dry_run=True))
                is_taken = True
            except APIError:
                is_taken = False
            served.run(served.client.delete(created))
            assert is_taken or change.effect in ("recreate", "rerun"), str(change)


def _version(tree: Any) -> dict[str, str]:
    return {"resourceVersion": tree["metadata"]["resourceVersion"]}
