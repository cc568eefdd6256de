"""Which controllers run."""

import pytest

from setpoint.system.controller_names import GARBAGE_COLLECTOR, NAMES, NAMESPACE, chosen


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
