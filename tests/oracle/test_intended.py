"""The table of intended differences: a rule explains no more than its reason says."""

import re
from typing import Any

import pytest
from tests.oracle.comparison import Compared
from tests.oracle.episode import Finding, _without_chance
from tests.oracle.report import Intended, intended
from tests.oracle.request import Request

CLAIM = "/api/v1/namespaces/ns-{ep}/persistentvolumeclaims/o0-{ep}"
CLAIMS = "/api/v1/namespaces/ns-{ep}/persistentvolumeclaims"
CREATE = Request("POST", CLAIMS, body={"metadata": {"name": "o0-{ep}"}})
FIRST = Intended("", re.compile("x"), re.compile("^(PUT|PATCH) "), is_first=True)


def finding(*requests: tuple[Request, int]) -> Finding:
    history, codes = zip(*requests, strict=True)
    return Finding(history, Compared([], "", ""), codes)


def patch(path: str = CLAIM, **more: Any) -> Request:
    return Request("PATCH", path, **more)


@pytest.mark.parametrize(
    ("earlier", "is_first"),
    [
        ([], True),
        ([(patch(), 422)], True),
        ([(patch(query=(("dryRun", "All"),)), 200)], True),
        ([(patch(f"{CLAIMS}/o1-{{ep}}"), 200)], True),
        ([(patch(), 200)], False),
        ([(patch(f"{CLAIM}/status", subresource="status"), 200)], False),
        ([(patch(), 200), (Request("DELETE", CLAIM), 200), (CREATE, 201)], True),
        ([(patch(), 201)], True),
    ],
)
def test_only_the_first_update_of_an_object_is_the_first(earlier: list[tuple[Request, int]], is_first: bool) -> None:
    assert FIRST.covers("x", finding((CREATE, 201), *earlier, (patch(), 200))) is is_first


def test_an_earlier_request_is_the_condition_of_a_rule() -> None:
    rule = Intended("", re.compile("x"), re.compile(""), re.compile("^DELETE "))
    assert not rule.covers("x", finding((CREATE, 201), (patch(), 200)))
    assert not rule.covers("x", finding((CREATE, 201), (Request("DELETE", CLAIM), 200)))
    assert rule.covers("x", finding((Request("DELETE", CLAIM), 200), (patch(), 200)))


@pytest.mark.parametrize(
    ("first", "then", "is_meant"),
    [
        ('{"a":2.50}', '{"data":{"a":3}}', True),
        ('{"a":2.5}', '{"data":{"a":1e3}}', True),
        ('{"a":2.5}', '{"data":{"a":3}}', False),
        ('{"a":250}', '{"data":{"a":1000}}', False),
    ],
)
def test_only_the_form_of_numbers_explains_other_data_of_a_revision(first: str, then: str, is_meant: bool) -> None:
    path = "/apis/apps/v1/namespaces/ns-{ep}/controllerrevisions"
    created = Request("POST", path, body=f'{{"data":{first}}}'.encode())
    found = finding((created, 201), (patch(f"{path}/o0", body=then.encode()), 422))
    name = "cause differs: FieldValueInvalid: Invalid value: field is immutable"
    assert any(rule.covers(name, found) for rule in intended()) is is_meant


def test_every_rule_has_a_reason_of_its_own() -> None:
    reasons = [rule.reason for rule in intended()]
    assert len(set(reasons)) == len(reasons) > 10
    assert all(reason.endswith((".", ")")) for reason in reasons)


def test_frames_about_generated_names_are_sorted_without_the_order_of_managers() -> None:
    def frame(name: str, *managers: str) -> bytes:
        entries = ",".join(f'{{"manager":"{manager}","operation":"Update"}}' for manager in managers)
        metadata = f'"generateName":"g-","name":"g-{name}","managedFields":[{entries}]'
        return f'{{"type":"MODIFIED","object":{{"kind":"A","data":"{name[0]}","metadata":{{{metadata}}}}}}}'.encode()

    one = [frame("bxxxx", "a", "b"), frame("cxxxx", "b")]
    other = [frame("bxxxx", "b", "a"), frame("cxxxx", "b")]
    assert [line[-60:] for line in _without_chance(one)][1] == [line[-60:] for line in _without_chance(other)][1]
