"""The layers around update and apply: entries and times, the cap, resets, edits, versions, the way from kubectl."""

import json
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from setpoint.merge import fieldset
from setpoint.merge.fieldmanager import FieldManager, restore_times
from setpoint.merge.last_applied import ANNOTATION
from setpoint.merge.types import Types
from setpoint.merge.updater import VersionNotServed
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import APIError, ApplyConflict, BadRequest
from setpoint.objects.tree import Object, copy
from setpoint.schema.builtin import definition

V1, V2 = "example.com/v1", "example.com/v2"
TYPES = Types(definition)
SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "additionalProperties": {"type": "string"}},
        "status": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def fields(clock: ManualClock) -> FieldManager:
    return things(clock)


def things(clock: ManualClock, **options: Any) -> FieldManager:
    return FieldManager(
        **{"api_version": V1, "kind": "Thing", "types": {V1: TYPES.custom_resource(SCHEMA)}, "clock": clock, **options}
    )


def thing(spec: Object | None = None, version: str = V1, **metadata: Any) -> Object:
    found: Object = {"apiVersion": version, "kind": "Thing", "metadata": {"name": "t", **metadata}}
    return found if spec is None else {**found, "spec": spec}


def entries(tree: Object) -> list[Object]:
    found: list[Object] = tree["metadata"].get("managedFields", [])
    return found


def owners(tree: Object) -> dict[str, list[str]]:
    return {
        f"{entry['manager']} {entry['operation']}": [fieldset.path_text(p) for p in fieldset.paths(entry["fieldsV1"])]
        for entry in entries(tree)
    }


def test_an_entry_says_who_did_what_when_in_which_version(fields: FieldManager) -> None:
    live = fields.apply(None, thing({"a": "1"}), "m")
    assert entries(live) == [
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": V1,
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:a": {}}},
        }
    ]


def test_a_create_is_tracked(fields: FieldManager) -> None:
    live = fields.update(None, thing({"a": "1"}, labels={"l": "1"}), "m")
    assert owners(live) == {"m Update": [".spec", ".metadata.labels", ".metadata.labels.l", ".spec.a"]}


def test_nobody_owns_what_names_an_object_or_what_the_server_writes(fields: FieldManager) -> None:
    served: dict[str, Any] = {
        "namespace": "n",
        "uid": "u",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": None,
    }
    live = fields.update(None, thing(selfLink="/x", **served), "m")
    assert entries(live) == []
    live = fields.apply(None, thing({"a": "1"}, namespace="n"), "m")
    assert owners(live) == {"m Apply": [".spec.a"]}


def test_an_update_of_an_untracked_object_leaves_it_untracked(fields: FieldManager) -> None:
    assert entries(fields.update(thing({"a": "1"}), thing({"a": "2"}), "m")) == []


def test_the_first_apply_to_an_untracked_object_records_what_was_there_before(fields: FieldManager) -> None:
    live = fields.apply(thing({"a": "1", "b": "2"}), thing({"a": "1"}), "m")
    assert owners(live) == {"m Apply": [".spec.a"], "before-first-apply Update": [".spec", ".spec.a", ".spec.b"]}
    with pytest.raises(ApplyConflict, match=r'conflict with "before-first-apply" using example.com/v1: .spec.b'):
        fields.apply(live, thing({"a": "1", "b": "3"}), "m")


def test_an_unnamed_manager_is_called_unknown(fields: FieldManager) -> None:
    assert owners(fields.update(None, thing({"a": "1"}), "")) == {"unknown Update": [".spec", ".spec.a"]}


def test_only_a_change_moves_the_time_of_an_entry(fields: FieldManager, clock: ManualClock) -> None:
    live = fields.apply(None, thing({"a": "1"}), "m")
    clock.advance(60)
    again = fields.apply(live, thing({"a": "1"}), "m")
    assert again == live
    changed = fields.apply(live, thing({"a": "2"}), "m")
    assert entries(changed)[0]["time"] == "2026-01-01T00:01:00Z"
    clock.advance(60)
    updated = fields.update(changed, thing({"a": "2"}), "other")
    assert entries(updated) == entries(changed)


def test_who_shares_without_changing_anything_gets_an_entry_without_a_time(fields: FieldManager) -> None:
    live = fields.apply(None, thing({"a": "1"}), "m1")
    live = fields.apply(live, thing({"a": "1"}), "m2")
    assert [("time" in entry) for entry in entries(live)] == [False, True]


def test_entries_are_listed_appliers_first_then_by_time_and_name(fields: FieldManager, clock: ManualClock) -> None:
    live = fields.update(None, thing({"z": "1"}), "z")
    for manager in ("b", "a"):
        live = fields.apply(live, thing({manager: "1"}), manager)
    clock.advance(5)
    live = fields.apply(live, thing({"0": "1"}), "0")
    live = fields.update(live, thing({"a": "1", "b": "1", "0": "1", "z": "2"}), "y")
    assert [(entry["operation"], entry["manager"]) for entry in entries(live)] == [
        ("Apply", "a"),
        ("Apply", "b"),
        ("Apply", "0"),
        ("Update", "z"),
        ("Update", "y"),
    ]


def test_at_most_ten_updaters_are_told_apart(fields: FieldManager, clock: ManualClock) -> None:
    live = fields.apply(None, thing({"applied": "1"}), "applier")
    for number in range(12):
        clock.advance(1)
        live = fields.update(live, thing({**live["spec"], f"k{number:02}": "1"}), f"u{number:02}")
    updaters = [entry for entry in entries(live) if entry["operation"] == "Update"]
    assert [entry["manager"] for entry in updaters] == [
        "ancient-changes",
        *(f"u{number:02}" for number in range(3, 12)),
    ]
    assert owners(live)["ancient-changes Update"] == [".spec.k00", ".spec.k01", ".spec.k02"]
    assert updaters[0]["time"] == "2026-01-01T00:00:03Z"
    assert owners(live)["applier Apply"] == [".spec.applied"]


def test_the_oldest_updaters_become_one_whatever_their_names_are(fields: FieldManager, clock: ManualClock) -> None:
    live = fields.apply(None, thing({"applied": "1"}), "applier")
    for number in range(11, 0, -1):
        clock.advance(1)
        live = fields.update(live, thing({**live["spec"], f"k{number:02}": "1"}), f"u{number:02}")
    assert owners(live)["ancient-changes Update"] == [".spec.k10", ".spec.k11"]
    assert len(entries(live)) == 1 + 10
    assert "u01 Update" in owners(live)


def test_an_updater_without_a_time_counts_as_the_oldest(fields: FieldManager, clock: ManualClock) -> None:
    live = fields.apply(None, thing({"applied": "1"}), "applier")
    for number in range(10):
        clock.advance(1)
        live = fields.update(live, thing({**live["spec"], f"k{number}": "1"}), f"u{number}")
    assert len(entries(live)) == 1 + 10
    for entry in entries(live):
        if entry["manager"] in ("u5", "u7"):
            del entry["time"]
    clock.advance(1)
    live = fields.update(live, thing({**live["spec"], "last": "1"}), "u-last")
    assert owners(live)["ancient-changes Update"] == [".spec.k5", ".spec.k7"]


def test_updaters_of_different_versions_do_not_become_one(clock: ManualClock) -> None:
    types = {V1: TYPES.custom_resource(SCHEMA), V2: TYPES.custom_resource(SCHEMA)}
    managers = {version: things(clock, api_version=version, types=types) for version in types}
    live = managers[V1].update(None, thing({"first": "1"}), "u")
    for number in range(11):
        clock.advance(1)
        version = (V1, V2)[number % 2]
        body = {**thing({**live["spec"], f"k{number:02}": "1"}), "apiVersion": version}
        live = managers[version].update({**live, "apiVersion": version}, body, f"u{number:02}")
    ancient = [entry for entry in entries(live) if entry["manager"] == "ancient-changes"]
    assert [(entry["apiVersion"], sorted(entry["fieldsV1"]["f:spec"])) for entry in ancient] == [
        (V1, [".", "f:first", "f:k00", "f:k02"])
    ]
    assert len(entries(live)) == 10


@pytest.mark.parametrize("reset", [[], [{}]])
def test_an_empty_list_forgets_all_managers(fields: FieldManager, reset: list[Object]) -> None:
    live = fields.apply(None, thing({"a": "1"}, uid="u"), "m")
    assert entries(fields.update(live, thing({"a": "2"}, managedFields=reset), "u")) == []


def test_sent_entries_are_taken_as_they_are_sent(fields: FieldManager) -> None:
    live = fields.apply(None, thing({"a": "1"}), "m")
    sent = [
        {
            "manager": "x",
            "operation": "Update",
            "apiVersion": V1,
            "time": "2020-01-01T02:00:00+02:00",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:a": {".": {}}, "unknown": {}}, "y:z": {}},
        }
    ]
    sent[0]["fieldsV1"] = {"f:spec": {"f:a": {".": {}}}, "y:z": {}}
    live = fields.update(live, thing({"a": "1"}, managedFields=sent), "u")
    assert entries(live) == [{**sent[0], "time": "2020-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:a": {}}}}]


@pytest.mark.parametrize(
    "broken",
    [
        {"operation": "Delete"},
        {"operation": 1},
        {"apiVersion": ""},
        {"fieldsType": "FieldsV2"},
        {"fieldsType": None},
        {"fieldsV1": {"f": {}}},
        {"fieldsV1": [1]},
        {"time": "yesterday"},
        {"time": "2020-01-01T00:00:00"},
        {"manager": ["m"]},
        {"subresource": {}},
    ],
    ids=str,
)
def test_sent_entries_that_make_no_sense_are_passed_over(fields: FieldManager, broken: Object) -> None:
    live = fields.apply(None, thing({"a": "1"}), "m")
    entry = {
        "manager": "x",
        "operation": "Update",
        "apiVersion": V1,
        "fieldsType": "FieldsV1",
        "fieldsV1": {},
        **broken,
    }
    for sent in ([entry], [*entries(live), entry], "entries", {"a": 1}, [1]):
        assert entries(fields.update(live, thing({"a": "1"}, managedFields=sent), "u")) == entries(live)


def test_entries_sent_through_a_subresource_are_passed_over(clock: ManualClock) -> None:
    live = things(clock).apply(None, thing({"a": "1"}), "m")
    status = things(clock, subresource="status")
    new = {**thing({"a": "1"}, managedFields=[]), "status": {"s": "1"}}
    assert owners(status.update(live, new, "u")) == {"m Apply": [".spec.a"], "u Update": [".status", ".status.s"]}


def test_a_subresource_has_entries_of_its_own(clock: ManualClock) -> None:
    main = things(clock, reset_fields={V1: fieldset.from_paths(("f:status",))})
    status = things(clock, subresource="status", reset_fields={V1: fieldset.from_paths(("f:metadata",), ("f:spec",))})
    live = main.apply(None, thing({"a": "1"}), "m")
    live = status.apply(live, {**thing({"a": "1"}), "status": {"s": "1"}}, "m")
    assert [(entry.get("subresource"), entry["fieldsV1"]) for entry in entries(live)] == [
        (None, {"f:spec": {"f:a": {}}}),
        ("status", {"f:status": {"f:s": {}}}),
    ]
    with pytest.raises(ApplyConflict, match=r'conflict with "m" with subresource "status": .status.s'):
        status.apply(live, {**thing({"a": "1"}), "status": {"s": "2"}}, "other")


def test_an_update_of_values_that_do_not_fit_keeps_the_entries(fields: FieldManager) -> None:
    live = fields.apply(None, thing({"a": "1"}), "m")
    new = fields.update(live, {**thing({"a": "1"}), "undeclared": {"x": 1}}, "u")
    assert entries(new) == entries(live)
    assert new["undeclared"] == {"x": 1}


def test_what_does_not_fit_in_the_live_object_is_in_the_way_only_where_it_is_touched(clock: ManualClock) -> None:
    items = {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}}
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": items}
    schema = {"type": "object", "properties": {**SCHEMA["properties"], "list": keyed}}
    fields = things(clock, types={V1: TYPES.custom_resource(schema)})
    live = {**fields.apply(None, thing({"a": "1"}), "m"), "list": [{"value": "no key"}], "gone": 1}
    assert fields.apply(live, thing({"b": "2"}), "other")["spec"] == {"a": "1", "b": "2"}
    with pytest.raises(APIError) as refused:
        fields.apply(live, {**thing(), "list": [{"name": "x"}]}, "other")
    assert refused.value.message == (
        "failed to create typed live object (/t; example.com/v1, Kind=Thing): errors:\n"
        '  .list: element 0: associative list with keys has an element that omits all key fields ["name"] '
        "(and doesn't have default values for any key fields)\n  .gone: field not declared in schema"
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (thing(version="v1"), "invalid object type: /v1, Kind=Thing"),
        ({"apiVersion": V1, "kind": "Other"}, "invalid object type: example.com/v1, Kind=Other"),
        ({}, "invalid object type: /, Kind="),
        ({"apiVersion": "a/b/c", "kind": "Thing"}, "invalid object type: /, Kind="),
        ({"apiVersion": 1, "kind": []}, "invalid object type: /, Kind="),
        (thing(managedFields=[]), "metadata.managedFields must be nil"),
    ],
)
def test_what_is_no_configuration_for_the_endpoint_is_refused(
    fields: FieldManager, config: Object, message: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        fields.apply(None, config, "m")
    assert refused.value.message == message


@pytest.mark.parametrize("metadata", ["text", ["list"], 5])
def test_metadata_that_is_no_object_is_refused_and_not_stumbled_over(fields: FieldManager, metadata: Any) -> None:
    with pytest.raises(APIError, match=r"\.metadata: expected map, got &{"):
        fields.apply(None, {"apiVersion": V1, "kind": "Thing", "metadata": metadata}, "m")
    fields.update(None, {"apiVersion": V1, "kind": "Thing", "metadata": metadata}, "m")


def test_two_conflicts_are_told_by_manager(fields: FieldManager) -> None:
    live = fields.apply(None, thing({"a": "1", "b": "1"}), "m2")
    live = fields.update(live, thing({"a": "1", "b": "1", "c": "1"}), "m1")
    with pytest.raises(ApplyConflict) as conflict:
        fields.apply(live, thing({"a": "2", "b": "2", "c": "2"}), "me")
    assert conflict.value.to_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 3 conflicts: conflicts with "m1" using example.com/v1:\n- .spec.c\n'
        'conflicts with "m2":\n- .spec.a\n- .spec.b',
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "m1" using example.com/v1',
                    "field": ".spec.c",
                },
                {"reason": "FieldManagerConflict", "message": 'conflict with "m2"', "field": ".spec.a"},
                {"reason": "FieldManagerConflict", "message": 'conflict with "m2"', "field": ".spec.b"},
            ]
        },
        "code": 409,
    }


class TestVersions:
    """A kind whose field was renamed: `spec.old` in v1 is `spec.new` in v2."""

    NAMES: ClassVar = {V1: "old", V2: "new"}

    def convert(self, tree: Object, before: str, after: str) -> Object:
        if before not in self.NAMES or after not in self.NAMES:
            raise VersionNotServed(after)
        spec = dict(tree.get("spec") or {})
        if self.NAMES[before] in spec:
            spec[self.NAMES[after]] = spec.pop(self.NAMES[before])
        return {**tree, "apiVersion": after, **({"spec": spec} if "spec" in tree else {})}

    def manager(self, clock: ManualClock, version: str) -> FieldManager:
        types = {}
        for served, name in self.NAMES.items():
            spec = {"type": "object", "properties": {name: {"type": "string"}, "same": {"type": "string"}}}
            types[served] = TYPES.custom_resource({"type": "object", "properties": {"spec": spec}})
        return things(clock, api_version=version, types=types, convert=self.convert)

    def test_a_conflict_is_told_in_the_version_of_who_owns_the_field(self, clock: ManualClock) -> None:
        live = self.manager(clock, V1).apply(None, thing({"old": "1"}), "m1")
        with pytest.raises(ApplyConflict, match=r'conflict with "m1": \.spec\.old'):
            self.manager(clock, V2).apply(self.convert(live, V1, V2), thing({"new": "2"}, V2), "m2")

    def test_a_field_shared_across_versions_stays_when_one_lets_go(self, clock: ManualClock) -> None:
        live = self.manager(clock, V1).apply(None, thing({"old": "1", "same": "x"}), "m1")
        live = self.manager(clock, V2).apply(self.convert(live, V1, V2), thing({"new": "1"}, V2), "m2")
        live = self.manager(clock, V1).apply(self.convert(live, V2, V1), thing({"same": "x"}), "m1")
        assert live["spec"] == {"old": "1", "same": "x"}
        assert owners(live) == {"m1 Apply": [".spec.same"], "m2 Apply": [".spec.new"]}

    def test_a_field_that_is_applied_no_more_is_removed_across_versions(self, clock: ManualClock) -> None:
        live = self.manager(clock, V1).apply(None, thing({"old": "1", "same": "x"}), "m1")
        live = self.manager(clock, V2).apply(self.convert(live, V1, V2), thing({"same": "x"}, V2), "m1")
        assert live["spec"] == {"same": "x"}
        assert [(entry["apiVersion"], entry["fieldsV1"]) for entry in entries(live)] == [
            (V2, {"f:spec": {"f:same": {}}})
        ]

    def test_an_update_takes_a_field_from_its_owner_in_another_version(self, clock: ManualClock) -> None:
        live = self.manager(clock, V1).apply(None, thing({"old": "1", "same": "x"}), "m1")
        live = self.manager(clock, V2).update(self.convert(live, V1, V2), thing({"new": "2", "same": "x"}, V2), "u")
        assert owners(live) == {"m1 Apply": [".spec.same"], "u Update": [".spec.new"]}


class TestClientSideApply:
    """Objects that `kubectl apply` made before it applied on the server."""

    def live(self, fields: FieldManager, applied: Object, now: Object) -> Object:
        annotated = thing(now, annotations={ANNOTATION: json.dumps(thing(applied))})
        return fields.update(None, annotated, "kubectl-client-side-apply")

    def test_what_the_annotation_shows_to_be_its_own_is_no_conflict_for_kubectl(self, fields: FieldManager) -> None:
        live = self.live(fields, {"a": "1"}, {"a": "1"})
        new = fields.apply(live, thing({"a": "2"}), "kubectl")
        assert new["spec"] == {"a": "2"}
        assert owners(new)["kubectl Apply"] == [".spec.a"]

    def test_for_other_managers_it_is(self, fields: FieldManager) -> None:
        with pytest.raises(ApplyConflict):
            fields.apply(self.live(fields, {"a": "1"}, {"a": "1"}), thing({"a": "2"}), "argo")

    def test_what_changed_since_is_still_a_conflict_and_only_that_is_told(self, fields: FieldManager) -> None:
        live = self.live(fields, {"a": "1", "b": "1"}, {"a": "1", "b": "changed"})
        with pytest.raises(ApplyConflict) as conflict:
            fields.apply(live, thing({"a": "2", "b": "2"}), "kubectl")
        assert [cause.field for cause in conflict.value.causes] == [".spec.b"]

    @pytest.mark.parametrize(
        "annotation", ["", "{", "[]", '{"apiVersion":"other/v1"}', f'{{"apiVersion":"{V1}","x":1}}']
    )
    def test_an_annotation_that_says_nothing_allows_nothing(self, fields: FieldManager, annotation: str) -> None:
        live = fields.update(None, thing({"a": "1"}, annotations={ANNOTATION: annotation}), "csa")
        with pytest.raises(ApplyConflict):
            fields.apply(live, thing({"a": "2"}), "kubectl")

    def test_the_annotation_is_kept_up_to_date_for_kubectl(self, fields: FieldManager) -> None:
        live = self.live(fields, {"a": "1"}, {"a": "1"})
        config = thing({"a": "2"}, annotations={"note": "<x>"})
        new = fields.apply(live, config, "kubectl")
        assert new["metadata"]["annotations"]["note"] == "<x>"
        assert new["metadata"]["annotations"][ANNOTATION] == (
            '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"annotations":{"note":"\\u003cx\\u003e"},'
            '"name":"t"},"spec":{"a":"2"}}\n'
        )
        assert (
            fields.apply(live, thing({"b": "1"}), "argo")["metadata"]["annotations"] == live["metadata"]["annotations"]
        )

    def test_the_annotation_does_not_contain_itself(self, fields: FieldManager) -> None:
        live = self.live(fields, {"a": "1"}, {"a": "1"})
        new = fields.apply(live, thing({"a": "1"}, annotations={ANNOTATION: "mine"}), "kubectl", force=True)
        assert ANNOTATION not in json.loads(new["metadata"]["annotations"][ANNOTATION])["metadata"]["annotations"]

    def test_an_annotation_that_would_be_too_long_is_dropped(self, fields: FieldManager) -> None:
        live = self.live(fields, {"a": "1"}, {"a": "1"})
        new = fields.apply(live, thing({"a": "x" * 300_000}), "kubectl")
        assert ANNOTATION not in new["metadata"]["annotations"]

    def test_an_object_without_the_annotation_gets_none(self, fields: FieldManager) -> None:
        live = fields.apply(None, thing({"a": "1"}), "kubectl")
        assert "annotations" not in live["metadata"]


def test_times_alone_make_no_difference(fields: FieldManager, clock: ManualClock) -> None:
    live = fields.update(None, thing({"a": "1"}), "u")
    clock.advance(10)
    there_and_back = copy(live)
    there_and_back["metadata"]["managedFields"][0]["time"] = "2026-01-01T00:00:10Z"
    assert restore_times(live, there_and_back) == live
    changed = {**there_and_back, "spec": {"a": "2"}}
    assert restore_times(live, changed) is changed
    other_owner = fields.update(live, thing({"a": "2"}), "v")
    assert restore_times(live, other_owner) is other_owner
    assert restore_times(live, live) is live
    untracked = thing({"a": "1"})
    assert restore_times(untracked, untracked) is untracked


@pytest.mark.parametrize("stored", [[1], [{}], [{"operation": "Apply"}], {"a": 1}, "text", 5])
def test_stored_entries_that_are_none_are_told_of_by_apply_and_passed_over_by_update(
    fields: FieldManager, stored: Any
) -> None:
    live = thing({"a": "1"}, managedFields=stored)
    with pytest.raises(APIError, match="failed to decode managed fields"):
        fields.apply(live, thing({"a": "2"}), "m")
    assert entries(fields.update(live, thing({"a": "2"}), "m")) == []


def test_a_failing_conversion_fails_an_apply_and_leaves_an_update_its_entries(clock: ManualClock) -> None:
    def convert(tree: Object, before: str, after: str) -> Object:
        raise APIError("conversion webhook failed")

    types = {V1: TYPES.custom_resource(SCHEMA), V2: TYPES.custom_resource(SCHEMA)}
    live = things(clock, api_version=V2, types=types).apply(None, thing({"a": "1"}, V2), "m")
    live = {**live, "apiVersion": V1}
    fields = things(clock, types=types, convert=convert)
    with pytest.raises(APIError, match="conversion webhook failed"):
        fields.apply(live, thing({"b": "1"}), "other")
    assert entries(fields.update(live, thing({"a": "2"}), "u")) == entries(live)
