"""The real controller manager and scheduler work on Setpoint as on kube-apiserver. `make oracle` builds them."""

from pathlib import Path

import pytest
from tests.oracle.components.cluster import PROGRAMS
from tests.oracle.components.run import compare
from tests.oracle.programs import missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(missing(*PROGRAMS)), reason="the real control plane is not built; run `make oracle`"),
]


def test_the_components_do_the_same_on_both_servers(tmp_path: Path) -> None:
    """Every step of the scenario succeeds on both servers, and no error is in the logs on Setpoint only."""
    told: list[str] = []
    assert not compare(tmp_path, told.append), "\n".join(told)
