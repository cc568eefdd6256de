"""Shrinking keeps only what causes the difference."""

from typing import Any

from tests.oracle.comparison import Compared, Difference, class_of
from tests.oracle.episode import Finding
from tests.oracle.request import Request
from tests.oracle.shrinking import TRIALS, shrunk

DIFFERENCE = Difference("a missing", "1", "(absent)")


def finding(*history: Request) -> Finding:
    return Finding(history, Compared([DIFFERENCE], "", ""))


def test_requests_options_and_fields_that_do_not_matter_go() -> None:
    tried = []

    def rerun(history: tuple[Request, ...]) -> Finding | None:
        tried.append(history)
        body: Any = history[-1].body
        made = any(request.verb == "create" for request in history[:-1])
        return finding(*history) if made and isinstance(body, dict) and "bad" in body.get("spec", {}) else None

    create = Request("POST", "/x", body={"a": 1}, verb="create")
    read = Request("GET", "/x/o", verb="get")
    update = Request(
        "PUT", "/x/o", query=(("pretty", "1"),), body={"kind": "K", "spec": {"bad": [1, 2], "good": 3}}, verb="update"
    )
    small = shrunk(finding(create, read, update), class_of(update, DIFFERENCE), rerun)
    assert [request.verb for request in small.history] == ["create", "update"]
    assert small.request.query == ()
    assert small.request.body == {"spec": {"bad": []}}
    assert len(tried) <= TRIALS


def test_a_finding_that_does_not_come_again_stays_as_it_is() -> None:
    given = finding(Request("GET", "/x", verb="get"))
    assert shrunk(given, "get: a missing", lambda history: None) is given
