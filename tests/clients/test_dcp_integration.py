"""DCP's own integration tests, with `setpoint-dcp` as their API server: those that pass with the server of DCP pass
here, except those that `integration.yaml` names."""

from pathlib import Path

import pytest
from tests.dcp.integration import SECONDS, SOURCE, different, expected, run


@pytest.mark.peers
@pytest.mark.timeout(2 * SECONDS)
def test_the_tests_of_dcp_pass(tmp_path: Path) -> None:
    if not SOURCE:
        pytest.skip("DCP_SOURCE is not set: a directory with DCP's source in which `make test-prereqs` has run")
    found = run(Path(SOURCE), tmp_path, "setpoint")
    assert found.outcomes, found.output
    failed = {name: text[-2000:] for name, text in found.output.items() if found.outcomes.get(name) == "fail"}
    assert failed == {}
    passed = {name for name, outcome in found.outcomes.items() if outcome == "pass" and "/" not in name}
    # A test of a later release that is not listed passes, or is above.
    assert expected() - passed == set()


def test_each_difference_has_a_reason() -> None:
    names = [name for each in different() for name in each["tests"]]
    assert len(names) == len(set(names))
    assert expected().isdisjoint(names)
    assert all(each["reason"] for each in different())
