"""`/admin/perftrace`: a profile of the control plane, taken while it works."""

import json
import threading
from pathlib import Path

import pytest
from tests.workload.admin.asking import asked
from tests.workload.app import app

from setpoint.workload.admin.profile import Profile

PERFTRACE = "/admin/perftrace"


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({}, "duration: required"),
        ({"duration": "long"}, "duration: time: invalid duration"),
        ({"duration": "999ms"}, "must be between 1s and 5m"),
        ({"duration": "301s"}, "must be between 1s and 5m"),
        ({"duration": "1s", "type": "pprof"}, "type: unsupported value 'pprof'"),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused(tmp_path: Path, query: dict[str, str], says: str) -> None:
    async with app(tmp_path) as world:
        status, answer = await asked(world.client, "PUT", PERFTRACE, query=query)
        assert status == 400
        assert says in answer["message"]


async def test_one_profile_is_taken_at_a_time_and_the_end_cuts_it_short(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        assert await asked(world.client, "PUT", PERFTRACE, query={"duration": "5m"}) == (204, None)
        status, answer = await asked(world.client, "PUT", PERFTRACE, query={"duration": "1s"})
        assert (status, answer["message"]) == (409, "a profile is already in progress: try again when it has finished")
    (path,) = (tmp_path / "run").glob("perftrace-snapshot-*.speedscope.json")
    assert json.loads(path.read_text())["exporter"] == "setpoint"


@pytest.mark.parametrize("cpu", [False, True])
def test_a_profile_shows_what_is_busy_and_by_processor_only_that(cpu: bool) -> None:
    ended = threading.Event()
    seen: set[str] = set()

    def busy_there() -> None:
        while not ended.is_set():
            sum(range(1000))

    def idle_there() -> None:
        ended.wait()

    threads = [threading.Thread(target=each, name=each.__name__) for each in (busy_there, idle_there)]
    for thread in threads:
        thread.start()
    wanted = {"busy_there"} if cpu else {"busy_there", "idle_there"}
    while not wanted <= seen:
        profile = Profile(cpu=cpu)
        profile.start()
        ended.wait(0.1)
        profile.stop()
        told = profile.to_speedscope("some")
        seen |= {each["name"] for each in told["profiles"] if len(each["samples"])}
        if cpu:
            assert sum(sum(each["weights"]) for each in told["profiles"] if each["name"] == "idle_there") <= 0.02
    ended.set()
    for thread in threads:
        thread.join()
    names = [frame["name"] for frame in told["shared"]["frames"]]
    assert any("busy_there" in name for name in names)
