"""How far pulls and builds are, from what engines send while they work; and what a build is asked for."""

from pathlib import Path
from typing import Any

import pytest
from tests.workload.engine.scripted.engine import ScriptedEngine

from setpoint.objects.clock import SystemClock
from setpoint.workload.engine.build_context import ContextError
from setpoint.workload.engine.build_options import build_options
from setpoint.workload.engine.errors import BadRequest, BuildFailed, Denied, PullFailed
from setpoint.workload.engine.images import BuildOptions, single_chunk
from setpoint.workload.engine.progress import BuildProgress, PullProgress


def downloading(layer: str, current: int, total: int) -> dict[str, Any]:
    return {"status": "Downloading", "id": layer, "progressDetail": {"current": current, "total": total}}


def test_the_layers_of_a_pull_add_up() -> None:
    pull = PullProgress()
    messages: list[dict[str, Any]] = [
        {"status": "Pulling from library/web", "id": "1"},
        {"status": "Pulling fs layer", "progressDetail": {}, "id": "a"},
        downloading("a", 10, 100),
        downloading("b", 50, 50),
        {"status": "Extracting", "progressDetail": {"current": 1, "total": 999}, "id": "b"},
        {"status": "Download complete", "progressDetail": {}, "id": "a"},
        {"status": "Status: Downloaded newer image for web:1"},
    ]
    told = [pull.update(message, PullFailed) for message in messages]
    assert [(each.done_bytes, each.total_bytes) for each in told] == [
        (0, 0),
        (0, 0),
        (10, 100),
        (60, 150),
        (60, 150),
        (150, 150),
        (150, 150),
    ]
    assert told[2].line == "a: Downloading"
    assert told[-1].line == "Status: Downloaded newer image for web:1"


@pytest.mark.parametrize("step", ["Step 2/3 : RUN make", "STEP 2/3: RUN make"])
def test_a_build_tells_its_step_and_every_line_in_either_engines_words(step: str) -> None:
    build = BuildProgress()
    assert build.update({"stream": f"{step}\n"}, BuildFailed)[3:5] == (2, 3)
    line = build.update({"stream": "  compiling\n"}, BuildFailed)
    assert (line.line, line.step) == ("  compiling", 2)
    assert build.update({"aux": {"ID": "sha256:ab"}}, BuildFailed).image_id == "sha256:ab"


def test_an_error_at_the_end_of_a_stream_that_began_well_is_raised_by_its_kind() -> None:
    with pytest.raises(BuildFailed, match="returned a non-zero code"):
        BuildProgress().update({"errorDetail": {"message": "The command returned a non-zero code: 3"}}, BuildFailed)
    with pytest.raises(Denied):
        PullProgress().update({"error": "pull access denied for web"}, PullFailed)
    with pytest.raises(PullFailed, match="no route to host"):
        PullProgress().update({"error": "no route to host"}, PullFailed)


def test_a_build_is_asked_for_as_its_spec_says(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\0key")
    build = {
        "context": ".",
        "tags": ["web:extra", "web:dev"],
        "args": [{"name": "A", "value": "1"}, {"name": "EMPTY"}],
        "labels": [{"key": "k", "value": "v"}],
        "stage": "first",
        "platform": "linux/arm64",
        "secrets": [
            {"id": "f", "source": str(tmp_path / "key")},
            {"id": "v", "type": "env", "value": "given"},
            {"id": "E", "type": "env"},
        ],
        "pull": True,
        "noCache": True,
        "cacheFrom": ["web:old"],
        "extraHosts": ["db:10.0.0.1"],
        "network": "none",
        "shmSize": 1024,
        "ulimits": [{"name": "nofile", "soft": 5}],
    }
    assert build_options(build, "web:dev", {"E": "of the environment"}) == BuildOptions(
        tags=["web:dev", "web:extra"],
        args={"A": "1", "EMPTY": ""},
        labels={"k": "v"},
        stage="first",
        platform="linux/arm64",
        secrets={"f": b"\0key", "v": b"given", "E": b"of the environment"},
        pull=True,
        no_cache=True,
        cache_from=["web:old"],
        extra_hosts=["db:10.0.0.1"],
        network="none",
        shm_bytes=1024,
        ulimits=({"Name": "nofile", "Soft": 5, "Hard": 5},),
    )
    for secret in ({"id": "f", "source": "/no/file"}, {"id": "E", "type": "env"}):
        with pytest.raises(ContextError, match=r"build\.secrets\[0\]\.source"):
            build_options({"secrets": [secret]}, "web:dev", {})


async def test_docker_is_not_asked_for_what_its_api_cannot_do() -> None:
    engine = ScriptedEngine(SystemClock()).engine
    with pytest.raises(BadRequest, match=r"build\.secrets.*remedy"):
        await engine.images.build_archive(single_chunk(b""), "Dockerfile", BuildOptions(secrets={"key": b""}))
