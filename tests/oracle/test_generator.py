"""The generator: the same seed draws the same requests, and the templates are valid objects."""

from pathlib import Path
from random import Random

import pytest
from tests.oracle.compare import Run
from tests.oracle.generator import Generator
from tests.oracle.our_server import our_server
from tests.oracle.pair import Pair
from tests.oracle.peers import write_files
from tests.oracle.wire import Address


@pytest.mark.slow
def test_two_servers_of_ours_do_not_differ_and_most_requests_succeed(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    sides = [tmp_path / name for name in "ab"]
    for side in sides:
        side.mkdir()
    with our_server(sides[0], files) as one, our_server(sides[1], files) as other:
        pair = Pair(Address("127.0.0.1", one.port), Address("127.0.0.1", other.port))
        pair.prepare()
        run = Run(pair, 1, ["configmaps", "deployments", "gauges", "services"], lambda text: None)
        run.compare(600)
        kind = next(kind for kind in run.kinds if kind.resource == "deployments")
        drawn = [[Generator(Random(5), kind, 0.5).next() for _ in range(3)] for _ in range(2)]
        pair.close()
    assert run.report.groups == {}
    assert run.report.count >= 600
    assert run.report.succeeded / run.report.count > 0.55
    assert drawn[0] == drawn[1]
