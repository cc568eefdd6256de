"""The saved file at the origin of a restart, in the graph of causes."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.workload.app import GROUP, PYTHON, WAITS, App, app, condition_of

from setpoint.client.discovery import APIResource
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.provenance import Actor
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object
from setpoint.past.change import FieldChange
from setpoint.past.object_ref import ObjectReference
from setpoint.past.revision import ADDED, MODIFIED, Revision
from setpoint.past.why.cause_graph import SYMPTOM, cause_graph
from setpoint.past.why.explain import explain
from setpoint.past.why.facts import Facts, Link, RelatedObject
from setpoint.workload.restart_reasons import REQUESTED, ChangedFiles, changed_files, files_changed, probe_failed

START = datetime(2026, 3, 1, 14, 0, tzinfo=UTC)
PLACE = ObjectReference(
    APIResource(GroupVersionKind(GROUP.partition("/")[0], "v1", "Executable"), "executables", False),
    "web",
)


def moment(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def executable(
    state: str, reason: str, message: str = "", restarts: int = 0, why: str = "", started: int = 0
) -> Object:
    ready = {"type": "Ready", "status": "False", "reason": reason, "message": message}
    times = {"startupTimestamp": format_micro_time(moment(started))}
    status = {"state": state, "restartCount": restarts, "restartReason": why, "conditions": [ready], **times}
    return {"apiVersion": GROUP, "kind": "Executable", "metadata": {"name": "web"}, "status": status}


def revision(number: int, tree: Object, *paths: str) -> Revision:
    changes = tuple(FieldChange(path, new="x") for path in paths)
    return Revision(PLACE, number, MODIFIED if paths else ADDED, moment(number), Actor("me"), None, changes, tree)


def graph_of(history: list[Revision], chain: list[Revision], **more: Any) -> Object:
    tree = history[-1].raw if history else None
    facts = Facts(PLACE, moment(60), tree, None, tuple(history), chain=tuple(map(Link, chain)), **more)
    return cause_graph(facts, explain(facts), depth=6)


def files_in(graph: Object) -> list[Object]:
    return [each for each in graph["nodes"] if each["type"] == "file"]


def effects(graph: Object, node: Object) -> set[str]:
    types = {each["id"]: each["type"] for each in graph["nodes"]}
    return {types[each["to"]] for each in graph["edges"] if each["from"] == node["id"]}


CREATED = revision(1, executable("Starting", "Pending"))
STOPS = revision(5, executable("Stopping", "Restarting", "web.py and 2 more changed"), "status.state")
STARTS = revision(
    9,
    executable("Running", "Running", restarts=1, why="web.py and 2 more changed", started=8),
    "status.state",
    "status.startupTimestamp",
)


def test_stop_and_start_after_one_save_have_one_file_as_their_origin() -> None:
    graph = graph_of([CREATED, STOPS, STARTS], [STARTS, STOPS, CREATED])
    [node] = files_in(graph)
    assert (node["path"], node["title"]) == ("web.py", "web.py was saved")
    assert node["detail"] == "a change of web.py and of 2 more files restarted web"
    assert node["time"] == format_micro_time(moment(5))
    assert [each["to"] for each in graph["edges"] if each["from"] == node["id"]] == [
        f"write:{PLACE.group_resource}:web:9",
        f"write:{PLACE.group_resource}:web:5",
    ]
    assert graph["origins"][0] == node["id"]


def test_file_of_a_start_has_the_time_of_the_stop_that_the_history_shows() -> None:
    [node] = files_in(graph_of([CREATED, STOPS, STARTS], [STARTS]))
    assert node["time"] == format_micro_time(moment(5))
    [node] = files_in(graph_of([CREATED, STARTS], [STARTS]))
    assert node["time"] == format_micro_time(moment(9))


def test_file_without_a_write_in_the_chain_leads_to_the_symptom() -> None:
    ended = revision(20, executable("Finished", "Failed", restarts=1, why="web.py changed", started=8), "status.state")
    graph = graph_of([CREATED, ended], [ended])
    [node] = files_in(graph)
    assert effects(graph, node) == {"symptom"}
    assert {"from": node["id"], "to": SYMPTOM, "label": "restarted"} in graph["edges"]


def test_replicas_restarted_by_one_save_have_one_file() -> None:
    web = executable("Running", "Running", restarts=1, why="web.py changed", started=8)
    other = executable("Running", "Running", restarts=3, why="web.py changed", started=9)
    owned = (
        RelatedObject(PLACE._replace(name="web-1"), {**web, "metadata": {"name": "web-1"}}),
        RelatedObject(PLACE._replace(name="web-2"), {**other, "metadata": {"name": "web-2"}}),
    )
    graph = graph_of([CREATED], [CREATED], owned=owned)
    [node] = files_in(graph)
    assert node["detail"] == "a change of web.py restarted web-1 and web-2"
    assert node["time"] == format_micro_time(moment(8))
    assert effects(graph, node) == {"symptom"}


def test_saves_that_restart_one_workload_twice_are_two() -> None:
    again = revision(
        10, executable("Running", "Running", restarts=2, why="web.py changed", started=9), "status.restartCount"
    )
    assert len(files_in(graph_of([CREATED, STOPS, STARTS, again], [again, STARTS]))) == 2


def test_restart_by_request_or_probe_has_no_file() -> None:
    for reason in (REQUESTED, probe_failed("up", "the answer changed"), "Executable db was restarted", ""):
        starts = revision(9, executable("Running", "Running", restarts=1, why=reason), "status.startupTimestamp")
        stops = revision(5, executable("Stopping", "Restarting", reason), "status.state")
        assert files_in(graph_of([CREATED, stops, starts], [starts, stops])) == []


def test_secret_in_a_path_is_masked() -> None:
    reason = "https://jane:geheim@host/web.py changed"
    starts = revision(9, executable("Running", "Running", restarts=1, why=reason), "status.startupTimestamp")
    graph = graph_of([CREATED, starts], [starts])
    assert files_in(graph)[0]["path"] == "https://jane:***@host/web.py"
    assert "geheim" not in json.dumps(files_in(graph))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["/app/src/main.py"], ChangedFiles("src/main.py")),
        (["/app/a and 3 more", "/app/b"], ChangedFiles("a and 3 more", 1)),
        (["/app/x changed"], ChangedFiles("x changed")),
    ],
)
def test_reason_names_the_files_it_was_made_of(files: list[str], found: ChangedFiles) -> None:
    assert changed_files(files_changed(files, "/app")) == found


async def saved(world: App, kind: str, name: str, file: Path, replicas: list[str]) -> Object:
    """Saves a watched file, waits for the restarts, and returns the graph that the server answers."""
    for each in replicas:
        await world.until("Executable", each, lambda tree: bool(condition_of(tree, "Watching")))
    file.write_text("changed")
    restarted: Callable[[Any], bool] = lambda tree: bool(  # noqa: E731
        tree["status"].get("restartReason") and tree["status"]["state"] == "Running"
    )
    for each in replicas:
        await world.until("Executable", each, restarted)
    path = f"/apis/setpoint.dev/v1/{kind}.{GROUP.partition('/')[0]}/{name}/why"
    found: Object = json.loads((await world.client.raw("GET", path)).body)
    return found


async def test_endpoint_leads_from_a_restarted_service_to_the_saved_file(tmp_path: Path) -> None:
    (tmp_path / "main.py").touch()
    async with app(tmp_path) as world:
        await world.python("web", WAITS, watch={"paths": ["main.py"], "debounce": "10ms"})
        await world.ready("Executable", "web")
        graph = await saved(world, "executables", "web", tmp_path / "main.py", ["web"])
        [node] = files_in(graph)
        assert (node["path"], node["object"]) == ("main.py", None)
        assert node["time"]
        assert effects(graph, node) == {"write"}
        assert graph["origins"][0] == node["id"]


async def saved_for_replicas(world: App, directory: Path, count: int) -> Object:
    """Runs replicas, saves the file that they watch, and returns the graph of their set."""
    (directory / "main.py").touch()
    watch = {"paths": ["main.py"], "debounce": "10ms"}
    spec = {"executablePath": PYTHON, "args": ["-c", WAITS], "watch": watch}
    await world.make("ExecutableReplicaSet", "web", {"replicas": count, "template": {"spec": spec}})
    await world.ready("ExecutableReplicaSet", "web")
    replicas = [each["metadata"]["name"] for each in (await world.client.list(f"{GROUP}/Executable")).items]
    return await saved(world, "executablereplicasets", "web", directory / "main.py", replicas)


async def test_endpoint_leads_from_a_replica_set_to_the_saved_file(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        [node] = files_in(await saved_for_replicas(world, tmp_path, 2))
        assert node["path"] == "main.py"
        assert node["detail"] == "a change of main.py restarted web.1 and web.2"


async def test_endpoint_hides_files_of_replicas_that_the_user_may_not_read(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        assert files_in(await saved_for_replicas(world, tmp_path, 1))
        group = GROUP.partition("/")[0]
        await allow(
            world,
            "eve",
            {"apiGroups": [group], "resources": ["executablereplicasets"], "verbs": ["get"]},
            {"apiGroups": ["setpoint.dev"], "resources": [f"executablereplicasets.{group}/history"], "verbs": ["get"]},
        )
        path = f"/apis/setpoint.dev/v1/executablereplicasets.{group}/web/why"
        async with world.plane.client(user="eve") as eve:
            graph = json.loads((await eve.raw("GET", path)).body)
        assert [each["type"] for each in graph["nodes"] if each["type"] == "write"]
        assert files_in(graph) == []
        assert "main.py" not in json.dumps(graph)


async def allow(world: App, user: str, *rules: Object) -> None:
    """Gives a user rights in the whole cluster."""
    group = "rbac.authorization.k8s.io"
    kind = {"apiVersion": f"{group}/v1", "metadata": {"name": user}}
    await world.client.create({**kind, "kind": "ClusterRole", "rules": list(rules)})
    subjects = [{"apiGroup": group, "kind": "User", "name": user}]
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": user}
    await world.client.create({**kind, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects})
