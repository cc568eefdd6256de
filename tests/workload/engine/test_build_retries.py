"""A build is repeated if a cached layer disappeared, and not for other reasons."""

from pathlib import Path
from typing import Any

import pytest

from setpoint.workload.engine.build_context import open_context
from setpoint.workload.engine.errors import BuildFailed
from setpoint.workload.engine.images import BuildOptions, Images

REMOVED = "checking if cached image exists from a previous build: getting top layer info: layer not known"


class Failing(Images):
    """An engine whose builds fail with these messages, one after another."""

    def __init__(self, *messages: str) -> None:
        self.messages = list(messages)
        self.builds = 0

    async def build_archive(self, archive: Any, *_: Any, **__: Any) -> Any:
        self.builds += 1
        if self.messages:
            raise BuildFailed(0, self.messages.pop(0))
        return [piece async for piece in archive]


async def test_a_removed_layer_repeats_the_build_with_the_whole_context(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    engine = Failing(REMOVED, REMOVED)
    pieces: Any = await engine.build(open_context(str(tmp_path)), BuildOptions())
    assert engine.builds == 3
    assert b"FROM scratch" in b"".join(pieces)


@pytest.mark.parametrize(("messages", "builds"), [((REMOVED,) * 3, 3), (("exit 3",), 1)])
async def test_other_failures_and_a_layer_that_stays_away_end_the_build(
    messages: tuple[str, ...], builds: int, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    engine = Failing(*messages)
    with pytest.raises(BuildFailed, match=messages[-1]):
        await engine.build(open_context(str(tmp_path)), BuildOptions())
    assert engine.builds == builds
