"""Which controllers run."""

import pytest

from setpoint.system.catalog import CATALOG
from setpoint.system.controller_names import (
    CERTIFICATE_SIGNING,
    CORE_NAMES,
    GARBAGE_COLLECTOR,
    NAMES,
    NAMESPACE,
    POLICY_STATUS,
    QUOTA,
    ROLE_AGGREGATION,
    ROOT_CA,
    chosen,
    excluded_from_server,
)
from setpoint.system.node_setting import NodeSetting, parse_nodes


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (True, set(CORE_NAMES)),
        (False, set()),
        (("*",), set(CORE_NAMES)),
        (("-*",), set()),
        ((), set()),
        ((NAMESPACE,), {NAMESPACE}),
        (("*", f"-{NAMESPACE}"), set(CORE_NAMES) - {NAMESPACE}),
        ((NAMESPACE, f"-{GARBAGE_COLLECTOR}"), {NAMESPACE}),
        ((f"*,-{NAMESPACE}, -{GARBAGE_COLLECTOR}",), set(CORE_NAMES) - {NAMESPACE, GARBAGE_COLLECTOR}),
    ],
)
def test_names_say_which(given: bool | tuple[str, ...], meant: set[str]) -> None:
    assert chosen(given) == meant


def test_nodes_add_their_controllers_to_the_defaults() -> None:
    assert chosen(("*",), NodeSetting("simulated", 1)) == set(NAMES)


def test_every_controller_is_in_the_catalog() -> None:
    assert {entry.name for entry in CATALOG} | {ROOT_CA, CERTIFICATE_SIGNING} == set(NAMES)
    for entry in CATALOG:
        assert callable(entry.start())


@pytest.mark.parametrize(
    ("text", "meant"),
    [("none", NodeSetting()), ("simulated", NodeSetting("simulated", 1)), ("simulated:7", NodeSetting("simulated", 7))],
)
def test_nodes_are_parsed_and_printed(text: str, meant: NodeSetting) -> None:
    assert parse_nodes(text) == meant
    assert str(meant) == text


@pytest.mark.parametrize("text", ["", "some", "simulated:", "simulated:0", "simulated:x", "none:1", "simulated:5001"])
def test_other_nodes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected none, simulated, or simulated:N"):
        parse_nodes(text)


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
