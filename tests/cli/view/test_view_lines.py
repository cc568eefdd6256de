"""What the app prints reaches the view once, in order, over restarts as well, and never more than it can hold."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workload.app import App, app

from setpoint.cli.app.view import log_lines as module
from setpoint.cli.app.view.log_lines import MOST_LINES, Lines, LogLine
from setpoint.cli.app.view.object_watch import Objects

COUNTS = """
import sys, pathlib, time
life = len(pathlib.Path('lives').read_text()) if pathlib.Path('lives').exists() else 0
pathlib.Path('lives').write_text('x' * (life + 1))
for number in range({lines}):
    print(f'{{life}}.{{number}}', file=sys.stderr if number % 3 == 0 else sys.stdout, flush=True)
{end}
"""


async def collected(world: App, lines: Lines, enough: Callable[[list[LogLine]], bool]) -> list[LogLine]:
    """What is printed until it is enough."""
    found: list[LogLine] = []

    def changed(tree: object) -> None:
        lines.attend(tree)  # type: ignore[arg-type]

    objects = Objects(world.client, changed, lines.stop_following)
    await objects.read()
    following = asyncio.ensure_future(objects.follow())
    try:
        async with asyncio.timeout(100):
            while not enough(found):
                await asyncio.sleep(0.02)
                found += lines.drain()
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await lines.close()
    return found


async def test_every_line_comes_once_and_in_order_over_restarts(tmp_path: Path) -> None:
    code = COUNTS.format(lines=50, end="sys.exit(life < 3)")
    async with app(tmp_path) as world:
        await world.python("api", code, restartPolicy="OnFailure", restartBackoff={"initial": "50ms", "max": "50ms"})
        found = await collected(world, Lines(world.client, lambda: None), lambda lines: len(lines) >= 200)
    of_each = {is_error: [line.text for line in found if line.is_error is is_error] for is_error in (True, False)}
    wanted = [(life, number) for life in range(4) for number in range(50)]
    assert of_each[True] == [f"{life}.{number}" for life, number in wanted if number % 3 == 0]
    assert of_each[False] == [f"{life}.{number}" for life, number in wanted if number % 3]
    assert {line.name for line in found} == {"api"}


async def test_no_more_is_held_than_there_is_room_for_and_nothing_is_lost(tmp_path: Path) -> None:
    code = "print('\\n'.join(map(str, range(20_000)))); import signal; signal.pause()"
    async with app(tmp_path) as world:
        await world.python("api", code)
        lines = Lines(world.client, lambda: None)
        most = 0

        def enough(found: list[LogLine]) -> bool:
            nonlocal most
            most = max(most, len(lines._buffered))
            return len(found) >= 20_000

        found = await collected(world, lines, enough)
    assert [line.text for line in found] == [str(number) for number in range(20_000)]
    assert most <= MOST_LINES


async def test_who_prints_much_does_not_keep_others_from_being_heard(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("flood", "while True: print('x' * 80)")
        await world.first_line("flood")
        await world.python("calm", "print('here I am', flush=True); import signal; signal.pause()")
        await collected(
            world, Lines(world.client, lambda: None), lambda found: any(line.text == "here I am" for line in found)
        )


async def test_a_person_is_shown_what_is_new_and_told_how_much_was_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BEHIND_SECONDS", 0.0)
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(module, "_AGAIN_SECONDS", 0.01)
    code = "import itertools, time\nfor n in itertools.count(): print(n, flush=True); n > 3_000 and time.sleep(0.01)"
    async with app(tmp_path) as world:
        await world.python("api", code)
        lines = Lines(world.client, lambda: None, skips=True)
        found = await collected(world, lines, lambda found: sum(not line.skipped for line in found) > 3)
        found += lines.drain()
    while found[-1].skipped:
        found.pop()  # of what came after the last that is shown
    last = max(int(line.text) for line in found if not line.skipped)
    shown, left_out = sum(not line.skipped for line in found), sum(line.skipped for line in found)
    assert left_out > 0
    assert shown + left_out == last + 1


async def test_of_what_was_printed_too_fast_the_last_lines_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BEHIND_SECONDS", 0.0)
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(module, "_AGAIN_SECONDS", 0.01)
    code = "print('\\n'.join(map(str, range(5_000))), flush=True); import signal; signal.pause()"
    async with app(tmp_path) as world:
        await world.python("api", code)
        while "4999" not in await world.log("api"):
            await asyncio.sleep(0.01)
        lines = Lines(world.client, lambda: None, skips=True)
        found = await collected(world, lines, lambda found: any(line.text == "4999" for line in found))
    shown, left_out = [line.text for line in found if not line.skipped], sum(line.skipped for line in found)
    assert len(shown) == len(set(shown))
    assert left_out > 0
    assert len(shown) + left_out == 5_000


async def test_who_joins_sees_the_last_lines(tmp_path: Path) -> None:
    code = "print('\\n'.join(map(str, range(100))), flush=True); import signal; signal.pause()"
    async with app(tmp_path) as world:
        await world.python("api", code)
        while "99" not in await world.log("api"):
            await asyncio.sleep(0.01)
        lines = Lines(world.client, lambda: None)
        lines.attend(await world.get("Executable", "api"), 3)
        found = await collected(world, lines, lambda found: len(found) >= 3)
    assert [line.text for line in found] == ["97", "98", "99"]
