"""The comparison: equal answers are equal, and every difference has a class that does not name the kind."""

from typing import Any

import msgspec
from tests.oracle.canonical import Names, canonical
from tests.oracle.comparison import Compared, class_of, compare, frames_differ, simplified
from tests.oracle.request import Request
from tests.oracle.wire import Answer

REQUEST = Request("POST", "/api/v1/namespaces/ns-{ep}/configmaps", verb="create")


def answer(tree: Any, code: int = 200, *headers: tuple[str, str]) -> Answer:
    return Answer(code, (("content-type", "application/json"), *headers), msgspec.json.encode(tree))


def compared(real: Answer, ours: Answer) -> Compared:
    return compare(REQUEST, real, ours, (Names(), Names()))


def classes(real: Answer, ours: Answer) -> list[str]:
    return [class_of(REQUEST, found) for found in compared(real, ours).differences]


def thing(uid: str, version: str, **more: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": "a", "uid": uid, "resourceVersion": version}, **more}


def invalid(*causes: tuple[str, str, str]) -> dict[str, Any]:
    listed = [{"reason": reason, "field": field, "message": message} for reason, field, message in causes]
    return {"kind": "Status", "apiVersion": "v1", "message": "x", "code": 422, "details": {"causes": listed}}


def test_chosen_values_and_the_order_of_keys_do_not_matter() -> None:
    one = thing("11111111-2222-4333-8444-555555555555", "7")
    other = {"metadata": {"resourceVersion": "99", "uid": "aaaaaaaa-2222-4333-8444-555555555555", "name": "a"}}
    assert classes(answer(one), answer({**other, "kind": "ConfigMap"})) == []


def test_the_versions_of_objects_of_the_start_do_not_matter() -> None:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}

    def listed(versions: tuple[str, str], labels: dict[str, str]) -> Answer:
        items = [
            {"metadata": {"name": name, "resourceVersion": version, "labels": labels}}
            for name, version in zip("ab", versions, strict=True)
        ]
        return answer({"items": items})

    assert classes(listed(("1", "2"), labels), listed(("1", "1"), labels)) == []
    assert classes(listed(("1", "2"), {}), listed(("1", "1"), {})) == ["field metadata.resourceVersion differs"]


def test_a_part_of_a_list_with_generated_names_has_any_of_the_objects() -> None:
    def page(*names: str, fixed: str = "o1") -> Answer:
        items = [{"metadata": {"name": f"gen-a-{name}"}} for name in names]
        return answer({"kind": "List", "items": [*items, {"metadata": {"name": fixed}}]})

    part = Request("GET", "/api/v1/configmaps", (("limit", "1"),), verb="list")
    known = (Names(), Names())
    compare(part, page("bcdfg", "hjklm"), page("bcdfg", "hjklm"), known)
    assert compare(part, page("bcdfg"), page("hjklm"), known).differences == []
    assert [found.place for found in compare(part, page("bcdfg"), page("bcdfg", "hjklm"), known).differences] == [
        "items length"
    ]
    assert compare(part, page("bcdfg"), page("hjklm", fixed="o2"), known).differences != []
    whole = Request("GET", "/api/v1/configmaps", verb="list")
    assert compare(whole, page("bcdfg"), page("hjklm"), known).differences != []


def test_the_order_of_managers_in_a_message_depends_on_their_seconds() -> None:
    def refusal(*managers: str) -> Answer:
        entries = [{"manager": name, "operation": "Update"} for name in managers]
        quoted = msgspec.json.encode(msgspec.json.encode({"managedFields": entries}).decode()).decode()
        tree = {"kind": "Status", "apiVersion": "v1", "message": f"Invalid value: {quoted}: wrong", "code": 422}
        return answer(tree, 422)

    assert classes(refusal("a", "b"), refusal("b", "a")) == []
    assert classes(refusal("a", "b"), refusal("a", "c")) != []


def test_objects_with_generated_names_are_compared_by_content() -> None:
    def listed(*rows: tuple[str, str, str]) -> Answer:
        items = [
            {"metadata": {"name": f"gen-a-{name}", "generateName": "gen-a-", "resourceVersion": version}, "data": data}
            for name, version, data in rows
        ]
        return answer({"kind": "List", "items": items})

    # A deletion of both wrote them in the order of their names.
    real = listed(("bcdfg", "5", "x"), ("hjklm", "6", "y"))
    assert classes(real, listed(("bcdfg", "5", "y"), ("hjklm", "6", "x"))) == []
    assert classes(real, listed(("bcdfg", "5", "y"), ("hjklm", "6", "y"))) != []


def test_finalizers_of_namespaces_have_no_order() -> None:
    def made(*names: str) -> Answer:
        return answer({"kind": "Namespace", "metadata": {"finalizers": names}})

    request = Request("DELETE", "/api/v1/namespaces/a", kind="namespaces/v1", verb="delete")
    known = (Names(), Names())
    assert compare(request, made("a", "b"), made("b", "a"), known).differences == []
    assert compare(REQUEST, made("a", "b"), made("b", "a"), known).differences != []


def test_true_is_not_one() -> None:
    assert classes(answer({"a": True, "b": 0}), answer({"b": 0, "a": 1})) == ["create: a differs"]
    assert classes(answer({"a": [1], "b": 0}), answer({"b": 0, "a": [1.0]})) == ["create: a[] differs"]


def test_one_value_in_place_of_two_matters() -> None:
    names = [f"{digit * 8}-2222-4333-8444-555555555555" for digit in "12"]
    one = [thing(names[0], "1"), thing(names[1], "2")]
    assert classes(answer(one), answer([thing(names[0], "1"), thing(names[1], "1")])) == [
        "create: [].metadata.resourceVersion differs"
    ]


def test_missing_extra_and_different_fields_have_places() -> None:
    real, ours = {"a": 1, "b": {"c": [1, {"d": 2}]}}, {"b": {"c": [1, {"d": 3}]}, "e": 5}
    assert classes(answer(real), answer(ours)) == ["create: a missing", "create: b.c[].d differs", "create: e extra"]


def test_a_code_is_told_with_the_reason_and_the_complaint() -> None:
    refusal = {"kind": "Status", "apiVersion": "v1", "reason": "Conflict", "message": 'object "x" is 7 days old'}
    assert classes(answer({}, 201), answer(refusal, 409)) == [
        'create: code 201 → 409 Conflict: object "…" is N days old'
    ]


def test_causes_are_compared_as_a_set_and_without_their_values() -> None:
    first, second = (
        ("FieldValueInvalid", "a", 'Invalid value: "x": too bad'),
        ("FieldValueRequired", "b", "Required value"),
    )
    assert classes(answer(invalid(first, second), 422), answer(invalid(first), 422)) == [
        "cause missing: FieldValueRequired: Required value"
    ]
    assert classes(answer(invalid(first, second), 422), answer(invalid(second, first), 422)) == ["cause order"]
    assert classes(answer(invalid(), 422), answer(invalid(first), 422)) == [
        "cause extra: FieldValueInvalid: Invalid value: too bad"
    ]


def test_warnings_are_compared_one_by_one() -> None:
    found = classes(
        answer({}, 200, ("warning", '299 - "a 1"'), ("warning", '299 - "b"')), answer({}, 200, ("warning", '299 - "b"'))
    )
    assert found == ["message of warning missing: a N"]


def test_frames_are_compared_by_type_and_then_by_field() -> None:
    added, gone = '{"type":"ADDED","object":{"a":1}}', '{"type":"DELETED","object":{"a":1}}'
    assert frames_differ([added, gone], [added, gone]) == []
    assert [found.place for found in frames_differ([added, gone], [added])] == ["watch: types of frames"]
    assert [found.place for found in frames_differ([added], [added.replace("1", "2")])] == ["watch: object.a differs"]


def test_tokens_lead_back_to_the_value_of_each_server() -> None:
    names = Names()
    text = canonical(b'{"metadata":{"uid":"x","resourceVersion":"41"},"clusterIP":"10.0.3.4","nodePort":30999}', names)
    assert text == '{"metadata":{"uid":"x","resourceVersion":"<rv:0>"},"clusterIP":"<ip:0>","nodePort":"<port:0>"}'
    sent = Request("PUT", "/x/o-{ep}", body=msgspec.json.decode(text)).encoded(names, "e1x1")
    assert sent.startswith(b"PUT /x/o-e1x1 HTTP/1.1\r\n")
    assert sent.endswith(b'"resourceVersion":"41"},"clusterIP":"10.0.3.4","nodePort":30999}')


def test_lists_have_a_version_of_their_own_in_every_order_of_keys() -> None:
    token = "eyJ2IjoibWV0YSJ9"
    for text, expected in (
        (b'"metadata":{"resourceVersion":"7"}', '"metadata":{"resourceVersion":"<listrv>"}'),
        (
            b'"metadata":{"continue":"","resourceVersion":"7"}',
            '"metadata":{"continue":"","resourceVersion":"<listrv>"}',
        ),
        (
            f'"metadata":{{"resourceVersion":"7","continue":"{token}"}}'.encode(),
            '"metadata":{"resourceVersion":"<listrv>","continue":"<continue:0>"}',
        ),
        (
            f'"metadata":{{"continue":"{token}","remainingItemCount":2,"resourceVersion":"7"}}'.encode(),
            '"metadata":{"continue":"<continue:0>","remainingItemCount":2,"resourceVersion":"<listrv>"}',
        ),
        (b'"metadata":{"resourceVersion":"7","uid":"x"}', '"metadata":{"resourceVersion":"<rv:0>","uid":"x"}'),
    ):
        assert canonical(text, Names()) == expected


def test_messages_of_different_objects_become_equal() -> None:
    assert simplified('Pod "a" is invalid: spec.x[0].y: Invalid value: 7: bad') == simplified(
        'Job.batch "b" is invalid: spec.z.a: Invalid value: 81: bad'
    )


def told(message: str, *causes: tuple[str, str, str]) -> dict[str, Any]:
    return {**invalid(*causes), "message": message}


def test_the_message_of_several_causes_matters() -> None:
    causes = (("FieldValueInvalid", "a", "x"), ("FieldValueInvalid", "b", "y"))
    real, ours = told("[a: x, b: y]", *causes), told("[a: x]", *causes)
    assert classes(answer(real, 422), answer(real, 422)) == []
    assert classes(answer(real, 422), answer(ours, 422)) == ["message 422: […]"]


def test_only_the_order_of_causes_about_a_map_does_not_matter() -> None:
    causes = [("FieldValueInvalid", "metadata.labels", "x"), ("FieldValueInvalid", "metadata.labels", "y")]
    real, ours = told("[l: x, l: y]", *causes), told("[l: y, l: x]", *reversed(causes))
    assert classes(answer(real, 422), answer(ours, 422)) == []
    other = told("[l: y, l: z]", *reversed(causes))
    assert classes(answer(real, 422), answer(other, 422)) == ["message 422: […]"]


def test_the_status_of_a_kind_that_the_real_server_writes_does_not_matter() -> None:
    frame = '{"type":"ADDED","object":{"spec":%d,"status":%d}}'
    assert frames_differ([frame % (1, 1)], [frame % (1, 2)], "flowschemas.flowcontrol.apiserver.k8s.io/v1") == []
    assert frames_differ([frame % (1, 1)], [frame % (1, 2)], "pods/v1") != []
    assert frames_differ([frame % (1, 1)], [frame % (2, 1)], "flowschemas.flowcontrol.apiserver.k8s.io/v1") != []
