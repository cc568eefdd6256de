"""Which controllers run."""

import pytest

from setpoint.system.controller_names import (
    GARBAGE_COLLECTOR,
    NAMES,
    NAMESPACE,
    POLICY_STATUS,
    QUOTA,
    ROLE_AGGREGATION,
    chosen,
    excluded_from_server,
)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (True, set(NAMES)),
        (False, set()),
        (("*",), set(NAMES)),
        (("-*",), set()),
        ((), set()),
        ((NAMESPACE,), {NAMESPACE}),
        (("*", f"-{NAMESPACE}"), set(NAMES) - {NAMESPACE}),
        ((NAMESPACE, f"-{GARBAGE_COLLECTOR}"), {NAMESPACE}),
        ((f"*,-{NAMESPACE}, -{GARBAGE_COLLECTOR}",), set(NAMES) - {NAMESPACE, GARBAGE_COLLECTOR}),
    ],
)
def test_names_say_which(given: bool | tuple[str, ...], meant: set[str]) -> None:
    assert chosen(given) == meant


def test_a_name_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown system controller 'garbage': expected one of garbage-collector"):
        chosen(("garbage",))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("*",), set()),
        ((), set()),
        (("-*",), {ROLE_AGGREGATION, POLICY_STATUS, QUOTA}),
        (("*", f"-{POLICY_STATUS}"), {POLICY_STATUS}),
        ((f"-*,{POLICY_STATUS},{QUOTA}",), {ROLE_AGGREGATION}),
    ],
)
def test_the_server_leaves_excluded_work_to_others(given: tuple[str, ...], meant: set[str]) -> None:
    assert excluded_from_server(given) == meant
