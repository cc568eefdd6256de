"""A tree is stopped whole, whatever its members do to get away, and nobody else is touched."""

import asyncio
import signal

import pytest
from tests.workload.process.stage import SORTS, TRACELESS, Stage, asleep, end_bare, other, sleepers

from setpoint.machine.chosen import is_portable
from setpoint.workload.process.identity import identity_of, is_alive, stat

GRACE = 0.3


@pytest.mark.parametrize("sort", SORTS)
async def test_nothing_is_left_of_a_tree_and_its_neighbour_lives(stage: Stage, sort: str) -> None:
    neighbour = Stage()
    theirs = await neighbour.shell("sleep NAP & wait")
    running = await stage.shell(SORTS[sort])
    # Not before they sleep have they set their traps.
    await stage.until(lambda: sleepers(stage.nap) == (1 if sort in ("plain", "gone daemon", "suspended") else 2))
    if sort == "gone daemon":
        # It has left its session, its parent and its environment behind: only the end of all ends it.
        await running.wait()
        await stage.processes.close()
    else:
        is_stubborn = sort.startswith("stubborn")
        # Whoever goes when it is asked may take its time, on a busy machine.
        stopped = await stage.processes.stop(running, grace=GRACE if is_stubborn else 20)
        assert not stopped.left
        assert bool(stopped.killed) == is_stubborn
        if sort == "bare daemon":
            await stage.processes.close()
    if is_portable and sort in TRACELESS:
        assert len(end_bare(stage.nap)) == 1, "the daemon alone survives without a subreaper"
    assert asleep(stage.nap) == []
    assert is_alive(theirs.identity)
    await neighbour.processes.close()


async def test_a_daemon_is_stopped_with_its_root_that_ended_long_before(stage: Stage) -> None:
    running = await stage.shell("(setsid sleep NAP >/dev/null 2>&1 </dev/null &); echo started")
    await running.wait()
    await stage.until(lambda: len(asleep(stage.nap)) == 1)
    assert (await stage.processes.stop(running)).signalled == 1
    assert asleep(stage.nap) == []


async def test_what_forks_while_it_is_stopped_is_stopped_too(stage: Stage) -> None:
    # On the signal it starts more, in a session of its own, and then goes on forking as fast as it can.
    text = "trap 'setsid sleep NAP & sleep NAP &' TERM; echo up; while :; do sleep NAP & sleep 0.01; done"
    running = await stage.shell(text)
    await stage.out.until(b"up")
    stopped = await stage.processes.stop(running, grace=GRACE)
    assert not stopped.left
    assert stopped.killed
    assert asleep(stage.nap) == []


async def test_a_process_may_end_in_its_own_way_within_its_time_and_its_children_too(stage: Stage) -> None:
    text = "trap 'sleep 0.2; echo child done; exit 0' USR1; echo child up; while :; do sleep 0.05; done"
    running = await stage.shell(f"trap 'exit 5' USR1; (setsid sh -c \"{text}\" &); while :; do sleep 0.05; done")
    await stage.out.until(b"child up")
    stopped = await stage.processes.stop(running, signal=signal.SIGUSR1, grace=20)
    assert not stopped.killed
    assert (await running.wait()).code == 5
    await running.drained()
    assert b"child done" in stage.out.data


async def test_a_pid_that_is_somebody_else_s_by_now_is_left_alone(stage: Stage) -> None:
    running = await stage.shell("exec sleep NAP")
    stopped = await stage.processes.stop(other(running.identity), cookie="")
    assert stopped == (0, (), ())
    assert is_alive(running.identity)
    assert await stage.processes.adopt(other(running.identity)) is None


async def test_a_stop_without_grace_kills_at_once_and_one_of_nothing_is_no_error(stage: Stage) -> None:
    running = await stage.shell(SORTS["stubborn"])
    await stage.until(lambda: len(asleep(stage.nap)) >= 3)
    stopped = await stage.processes.stop(running, grace=0)
    assert stopped.signalled == 0
    assert len(stopped.killed) == 3
    assert all(text.endswith((" sh", " sleep")) for text in stopped.killed)
    assert (await running.wait()).signal == signal.SIGKILL
    assert await stage.processes.stop(running) == (0, (), ())


async def test_many_stop_at_once(stage: Stage) -> None:
    started = await asyncio.gather(*(stage.shell("sleep NAP & wait") for _ in range(40)))
    reports = await asyncio.gather(*(stage.processes.stop(running, grace=20) for running in started))
    assert all(not report.killed and not report.left for report in reports)
    assert asleep(stage.nap) == []


async def test_an_adopted_process_is_watched_and_stopped_though_it_is_not_our_child(stage: Stage) -> None:
    elsewhere = Stage()
    theirs = await elsewhere.shell("sleep NAP & wait")
    adopted = await stage.processes.adopt(theirs.identity)
    assert adopted is not None
    assert not adopted.exited.done()
    await stage.processes.stop(adopted, cookie=theirs.cookie)
    end = await adopted.wait()
    assert (end.code, end.signal) == (None, None)
    assert (await theirs.wait()).signal == signal.SIGTERM
    await elsewhere.processes.close()


async def test_a_control_plane_under_a_control_plane_is_stopped_with_all_it_started(stage: Stage) -> None:
    outer = await stage.shell("exec sleep NAP")
    inner = Stage({"SETPOINT_WORKLOAD": outer.cookie})
    running = await inner.shell(SORTS["daemon"].replace("NAP", stage.nap))
    await stage.until(lambda: len(asleep(stage.nap)) == 3)
    await stage.processes.stop(outer, grace=GRACE)
    assert asleep(stage.nap) == []
    await running.wait()
    await inner.processes.close()


async def test_the_state_of_a_suspended_process_is_seen(stage: Stage) -> None:
    running = await stage.shell("kill -STOP $$; echo never")
    await stage.until(lambda: (found := stat(running.identity.pid)) is not None and found.state == "T")
    assert is_alive(running.identity)
    assert identity_of(running.identity.pid) == running.identity
