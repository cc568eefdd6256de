"""The state that an object reports itself, and the findings that it does not override."""

from typing import Any

import pytest

from setpoint.flow.summary.summary import Summary, _made, _with_reported_state

READY = Summary("ready", "active", "", (), False, "")
PROGRESSING = Summary("progressing", "progressing", "Rolling", ("1 of 3",), True, "deployment[2]")
FIRST = Summary("progressing", "removing", "", (), True, "first[0]")


def reported(found: Summary, status: Any) -> Summary:
    return _with_reported_state(found, {"status": status})


@pytest.mark.parametrize("found", [READY, PROGRESSING])
@pytest.mark.parametrize("name", ["display", "summary"])
def test_an_object_reports_its_state(found: Summary, name: str) -> None:
    told = reported(found, {name: {"state": "Provisioning", "message": " two left ", "transitioning": True}})
    assert (told.verdict, told.state, told.transitioning) == ("progressing", "provisioning", True)
    assert (told.messages, told.reason, told.rule) == (("two left", *found.messages), found.reason, f"status.{name}")
    failed = reported(found, {name: {"error": True, "transitioning": True}})
    assert (failed.verdict, failed.state) == ("failed", found.state)
    ready = reported(found, {name: {"error": False}})
    assert (ready.verdict, ready.transitioning) == ("ready", False)
    named = reported(found, {name: {"state": "Idle"}})
    assert (named.verdict, named.state, named.transitioning) == (found.verdict, "idle", found.transitioning)


def test_a_deletion_and_an_older_status_are_not_overridden() -> None:
    assert reported(FIRST, {"display": {"state": "Idle", "error": False}}) is FIRST
    settled = Summary("ready", "active", "", (), False, "first[0]")
    assert reported(settled, {"display": {"state": "Idle"}}).state == "idle"


@pytest.mark.parametrize(
    "status",
    [None, [], {}, {"display": None}, {"display": "x"}, {"display": {}}, {"display": {"state": 5, "error": "yes"}}],
)
def test_a_status_that_reports_no_state_changes_nothing(status: Any) -> None:
    assert reported(READY, status) is READY


def test_the_first_report_counts() -> None:
    told = reported(READY, {"display": {"state": "One"}, "summary": {"state": "Two"}})
    assert told.state == "one"
    told = reported(READY, {"display": {"message": "no state"}, "summary": {"state": "Two"}})
    assert (told.state, told.rule) == ("two", "status.summary")


def test_a_state_follows_from_the_verdict_unless_it_is_given() -> None:
    assert [_made(verdict, "", "", (), "").state for verdict in ("ready", "failed", "progressing")] == [
        "active",
        "failed",
        "progressing",
    ]
    made = _made("ready", "Bound", "", (" a ", "", "a", "b"), "")
    assert (made.state, made.messages) == ("bound", ("a", "b"))
    assert [_made("failed", state, "", (), "").transitioning for state in ("removing", "broken")] == [True, False]
    assert [_made(verdict, "removing", "", (), "").transitioning for verdict in ("ready", "progressing")] == [
        False,
        True,
    ]
