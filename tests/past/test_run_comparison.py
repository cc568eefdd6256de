"""The comparison of two runs: what a restart changes in any case is counted, and all other differences are shown."""

from typing import Any

import msgspec

from setpoint.past.runs.comparison import Folded, compare_runs, difference_of
from setpoint.past.runs.record import RunContent, RunObject, RunPart, RunRecord

GROUP = "usvc-dev.developer.microsoft.com"
DISPLAY = f"executable-replica-set.{GROUP}/display-name"


def stored(resource: str, kind: str, name: str, **fields: Any) -> RunObject:
    group = "core" if kind in ("ConfigMap", "Secret") else GROUP
    namespace = "default/" if group == "core" else ""
    metadata = {"name": name, **({"namespace": "default"} if namespace else {}), **fields.pop("metadata", {})}
    tree = {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}
    return RunObject(f"/{group}/{resource}/{namespace}{name}", 1, msgspec.Raw(msgspec.json.encode(tree)))


def content(number: int, *objects: RunObject, parts: tuple[RunPart, ...] = (), omitted: str = "") -> RunContent:
    record = RunRecord(number=number, log="a", started="", first_revision=1, parts=parts, omitted=omitted)
    return RunContent(record, objects)


def part(**fields: Any) -> RunPart:
    given: dict[str, Any] = {"state": "Ready", "ready": 1, "wanted": 1, "ready_seconds": 1.0, **fields}
    return RunPart("Executable", given.pop("name", "api"), "executables", GROUP, **given)


def shop(run: str, port: int, pid: int, *, mode: str = "fast") -> tuple[RunObject, ...]:
    """Returns a service with two replicas and their Endpoints, as a start makes them."""
    minute = f"2026-01-31T12:0{run}:00Z"
    owner = {"kind": "ExecutableReplicaSet", "name": "api", "uid": f"set-of-{run}", "controller": True}
    objects = [
        stored(
            "executablereplicasets",
            "ExecutableReplicaSet",
            "api",
            metadata={"uid": f"set-of-{run}", "creationTimestamp": minute},
            spec={"replicas": 2, "template": {"spec": {"env": [{"name": "MODE", "value": mode}]}}},
            status={"lastScaleTime": minute},
        ),
        stored(
            "services",
            "Service",
            "api-http",
            metadata={"uid": f"service-of-{run}", "creationTimestamp": minute},
            status={"effectivePort": port, "proxyProcessPid": pid},
        ),
    ]
    for number in (1, 2):
        name, uid = f"api-{run}kxqs7b{number}", f"replica-{number}-of-{run}"
        endpoint_owner = {"kind": "Executable", "name": name, "uid": uid, "controller": True}
        environment = [
            {"name": "API", "value": f"http://localhost:{port}"},
            {"name": "INSTANCE", "value": f"service.instance.id={name}"},
            {"name": "OLDPWD", "value": f"/home/{run}"},
        ]
        objects.append(
            stored(
                "executables",
                "Executable",
                name,
                metadata={
                    "uid": uid,
                    "creationTimestamp": minute,
                    "ownerReferences": [owner],
                    "annotations": {DISPLAY: f"api-{number}", "replica-id": f"{run}kxqs7b{number}"},
                },
                status={
                    "pid": pid + number,
                    "effectiveEnv": environment,
                    "conditions": [
                        {"type": "Started", "status": "True", "reason": "Running", "message": f"process {pid + number}"}
                    ],
                },
            )
        )
        objects.append(
            stored(
                "endpoints",
                "Endpoint",
                f"{name}-swvng4n8q{run}",
                metadata={"uid": f"endpoint-{uid}", "ownerReferences": [endpoint_owner]},
                spec={"port": port + number, "serviceName": "api-http"},
            )
        )
    return tuple(objects)


def test_a_restart_alone_shows_no_difference_and_counts_what_is_folded() -> None:
    found = compare_runs(content(1, *shop("1", 20000, 500)), content(2, *shop("2", 30000, 700)))
    assert (found.parts, found.objects, found.notes) == ((), (), ())
    # Times: 4 of creation, 1 of scaling, 2 pids, 1 pid of a proxy, 2 messages, 2 variables of the shell.
    # Ports: the Service, its 2 Endpoints, and 2 variables.
    assert found.folded == Folded(identities=6, times=12, ports=5)


def test_a_changed_variable_is_shown_among_the_folded_differences() -> None:
    before, after = shop("1", 20000, 500), shop("2", 30000, 700, mode="slow")
    found = difference_of(content(1, *before), content(2, *after))
    [changed] = found["objects"]
    assert changed["object"] == {
        "resource": f"executablereplicasets.{GROUP}",
        "kind": "ExecutableReplicaSet",
        "name": "api",
    }
    assert changed["changes"] == [{"path": "spec.template.spec.env[MODE].value", "old": "fast", "new": "slow"}]
    assert (found["from"], found["to"], found["truncated"]) == (1, 2, False)


def test_replicas_are_paired_by_their_order_and_not_by_their_names() -> None:
    before = shop("1", 20000, 500)
    after = tuple(each for each in shop("2", 20000, 500) if not each.key.endswith(("kxqs7b2", "kxqs7b2-swvng4n8q2")))
    found = compare_runs(content(1, *before), content(2, *after))
    assert [(each.kind, each.name, each.type) for each in found.objects] == [
        ("Endpoint", "api.2#1", "removed"),
        ("Executable", "api.2", "removed"),
    ]


def test_a_port_and_a_time_that_the_app_file_sets_are_differences() -> None:
    def service(port: int, at: str) -> RunObject:
        return stored("services", "Service", "web", spec={"port": port, "at": at}, status={"effectivePort": port})

    before, after = service(8080, "2026-01-31T12:00:00Z"), service(9090, "2026-02-28T12:00:00Z")
    [changed] = compare_runs(content(1, before), content(2, after)).objects
    assert [str(each) for each in changed.changes] == [
        "spec.at 2026-01-31T12:00:00Z→2026-02-28T12:00:00Z",
        "spec.port 8080→9090",
    ]


def test_created_and_deleted_objects_are_named_without_their_fields() -> None:
    before, after = stored("configmaps", "ConfigMap", "old"), stored("configmaps", "ConfigMap", "new")
    found = compare_runs(content(1, before), content(2, after))
    assert [(each.namespace, each.name, each.type, each.changes) for each in found.objects] == [
        ("default", "new", "added", ()),
        ("default", "old", "removed", ()),
    ]


def test_secrets_are_masked() -> None:
    def objects(value: str) -> tuple[RunObject, ...]:
        environment = [{"name": "DB_PASSWORD", "value": value}]
        return (
            stored("secrets", "Secret", "s", data={"v": value}),
            stored("executables", "Executable", "api", spec={"env": environment}),
        )

    found = compare_runs(content(1, *objects("hunter2")), content(2, *objects("swordfish")))
    assert [str(change) for each in found.objects for change in each.changes] == [
        "spec.env[DB_PASSWORD].value *** (before)→*** (after)",
        "data.v *** (before)→*** (after)",
    ]


def test_purged_objects_are_named_and_not_compared() -> None:
    key = "/core/configmaps/default/settings"
    purged = RunObject(key, 0, purged=True)
    found = compare_runs(content(1, purged), content(2, stored("configmaps", "ConfigMap", "settings")))
    assert (found.objects, found.notes) == ((), ("purged and not compared: configmaps/default/settings",))


def test_a_run_without_objects_is_compared_by_its_parts() -> None:
    before = content(1, parts=(part(),), omitted="the objects of the app have more than 1024 bytes")
    after = content(2, stored("configmaps", "ConfigMap", "settings"), parts=(part(restarts=2),))
    found = compare_runs(before, after)
    assert found.notes == ("run 1: the objects of the app have more than 1024 bytes",)
    assert (found.objects, [each.fields for each in found.parts]) == ((), [("restarts",)])


def test_parts_differ_by_outcome_and_clearly_longer_starts() -> None:
    before = (part(), part(name="b"), part(name="c"), part(name="d"), part(name="e", ready_seconds=10.0))
    after = (
        part(state="Failed", reason="Exited", ready=0, exit_code=3),
        part(name="b", ready_seconds=1.4),
        part(name="c", ready_seconds=1.6),
        part(name="new"),
        part(name="e", ready_seconds=11.9),
    )
    found = compare_runs(content(1, parts=before), content(2, parts=after)).parts
    assert [(each.name, each.fields) for each in found] == [
        ("api", ("state", "reason", "exitCode", "ready")),
        ("c", ("readySeconds",)),
        ("d", ()),
        ("new", ()),
    ]
    assert [(each.before is None, each.after is None) for each in found[2:]] == [(False, True), (True, False)]


def test_long_comparisons_are_cut() -> None:
    many = [stored("configmaps", "ConfigMap", f"c{number}") for number in range(501)]
    assert compare_runs(content(1), content(2, *many)).truncated
    wide = [stored("configmaps", "ConfigMap", "c", data={f"k{n}": side for n in range(201)}) for side in "ab"]
    found = compare_runs(content(1, wide[0]), content(2, wide[1]))
    assert (found.truncated, len(found.objects[0].changes)) == (True, 200)
