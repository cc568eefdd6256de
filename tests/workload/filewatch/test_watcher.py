"""Changed files are heard of, however they change, with real files."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from setpoint.machine.chosen import is_portable
from setpoint.objects.clock import SystemClock
from setpoint.workload.filewatch import inotify
from setpoint.workload.filewatch.inotify import Inotify
from setpoint.workload.filewatch.notifier import open_notifier
from setpoint.workload.filewatch.patterns import DEFAULT_IGNORED, root_of
from setpoint.workload.filewatch.watcher import Watcher
from setpoint.workload.filewatch.watchfiles_notifier import WatchfilesNotifier
from setpoint.workload.ignore_patterns import by_git


class Heard:
    """What a watcher told."""

    def __init__(self, watcher: Watcher, top: Path, queue: "asyncio.Queue[list[str]]") -> None:
        self.watcher, self._top, self._queue = watcher, top, queue

    async def next(self) -> list[str]:
        """The files that have changed together, relative to the directory of the test."""
        async with asyncio.timeout(10):
            return [os.path.relpath(path, self._top) for path in await self._queue.get()]

    async def nothing(self) -> None:
        """Nothing was heard: what is heard next is what the test does now."""
        assert self._queue.empty()


@asynccontextmanager
async def watching(
    top: Path, *paths: str, ignore: tuple[str, ...] = (), debounce: float = 0.03, instead: OSError | None = None
) -> AsyncIterator[Heard]:
    queue: asyncio.Queue[list[str]] = asyncio.Queue()
    ignored = by_git([*DEFAULT_IGNORED, *ignore])
    roots = [root_of(path, str(top)) for path in paths]
    watcher = Watcher(roots, ignored, debounce, queue.put_nowait, SystemClock())
    notifier = instead or open_notifier()
    await watcher.start(notifier)
    try:
        yield Heard(watcher, top, queue)
    finally:
        watcher.close()
        if not isinstance(notifier, OSError):
            notifier.close()


async def test_a_file_below_a_directory_is_heard_of_when_it_is_written_and_removed(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    file = tmp_path / "src" / "deep" / "main.py"
    file.write_text("1")
    async with watching(tmp_path, "src") as heard:
        file.write_text("2")
        assert await heard.next() == ["src/deep/main.py"]
        file.unlink()
        assert await heard.next() == ["src/deep/main.py"]


async def test_what_changes_together_is_told_together(tmp_path: Path) -> None:
    # Polling may find the changes in two looks, a fifth of a second apart.
    async with watching(tmp_path, ".", debounce=1.0 if is_portable else 0.2) as heard:
        for number in range(50):
            (tmp_path / f"{number:02}.txt").touch()
            await asyncio.sleep(0.001)
        assert await heard.next() == [f"{number:02}.txt" for number in range(50)]
        await heard.nothing()


async def test_an_editor_that_saves_by_renaming_is_heard_of_once_and_its_leavings_are_not(tmp_path: Path) -> None:
    file = tmp_path / "main.py"
    file.write_text("1")
    async with watching(tmp_path, "main.py") as heard:
        for number in range(3):
            (tmp_path / "4913").touch()
            (tmp_path / "4913").unlink()
            file.rename(tmp_path / "main.py~")
            (tmp_path / ".main.py.swp").touch()
            (tmp_path / "other.py").write_text("not watched")
            (tmp_path / ".new").write_text(str(number))
            (tmp_path / ".new").rename(file)
            assert await heard.next() == ["main.py"]


async def test_directories_that_appear_are_watched_with_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "sub").mkdir(parents=True)
    (tmp_path / "elsewhere" / "sub" / "old.py").touch()
    (tmp_path / "src").mkdir()
    async with watching(tmp_path, "src") as heard:
        (tmp_path / "elsewhere").rename(tmp_path / "src" / "new")
        assert "src/new/sub/old.py" in await heard.next()
        (tmp_path / "src" / "new" / "sub" / "late.py").touch()
        assert await heard.next() == ["src/new/sub/late.py"]
        # What has left is not heard of any more.
        (tmp_path / "src" / "new").rename(tmp_path / "gone")
        # Who compares directories finds each of its files gone, too.
        files = {"src/new/sub", "src/new/sub/late.py", "src/new/sub/old.py"} if is_portable else set()
        told: set[str] = set()
        while told != {"src/new"} | files:
            told |= set(await heard.next())
            assert told <= {"src/new"} | files
        (tmp_path / "gone" / "sub" / "late.py").write_text("nobody hears")
        (tmp_path / "src" / "here.py").touch()
        assert await heard.next() == ["src/here.py"]


async def test_what_is_not_there_yet_is_watched_from_when_it_is(tmp_path: Path) -> None:
    async with watching(tmp_path, "build/out/app") as heard:
        (tmp_path / "build").mkdir()
        (tmp_path / "unrelated").mkdir()
        await asyncio.sleep(0.05)
        (tmp_path / "build" / "out").mkdir()
        await asyncio.sleep(0.05)
        (tmp_path / "build" / "out" / "app").write_text("1")
        assert await heard.next() == ["build/out/app"]
        shutil.rmtree(tmp_path / "build")
        assert await heard.next() == ["build/out/app"]
        (tmp_path / "build" / "out").mkdir(parents=True)
        (tmp_path / "build" / "out" / "app").write_text("2")
        assert await heard.next() == ["build/out/app"]


async def test_a_directory_that_is_made_anew_is_watched_again(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    async with watching(tmp_path, "dist") as heard:
        shutil.rmtree(tmp_path / "dist")
        await asyncio.sleep(0.05)
        (tmp_path / "dist").mkdir()
        (tmp_path / "dist" / "app.js").touch()
        assert await heard.next() == ["dist/app.js"]


async def test_globs_and_what_is_ignored_say_what_counts(tmp_path: Path) -> None:
    for name in ("src/a", "src/gen", "src/node_modules/x"):
        (tmp_path / name).mkdir(parents=True)
    async with watching(tmp_path, "src/**/*.py", "*.toml", ignore=("gen/", "test_*")) as heard:
        for name in ("src/a/x.txt", "src/gen/x.py", "src/node_modules/x/x.py", "src/test_a.py", "src/a.toml"):
            (tmp_path / name).touch()
        (tmp_path / "src" / "a" / "x.py").touch()
        (tmp_path / "app.toml").touch()
        assert await heard.next() == ["src/a/x.py", "app.toml"]


async def test_where_the_system_has_no_watches_left_files_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("1")
    limit = OSError(28, "No space left on device")
    async with watching(tmp_path, "src", "conf.toml", instead=limit) as heard:
        assert "watch fewer directories" in heard.watcher.problem
        (tmp_path / "src" / "a.py").write_text("22")
        (tmp_path / "src" / "node_modules").mkdir()
        (tmp_path / "src" / "node_modules" / "b.js").touch()
        (tmp_path / "conf.toml").touch()
        assert await heard.next() == ["conf.toml", "src/a.py"]


async def test_a_limit_that_is_reached_midway_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (tmp_path / str(number)).mkdir()
    notifier = WatchfilesNotifier if is_portable else Inotify
    real, used = notifier.add, 0

    def add(self: Any, directory: str, listener: Watcher) -> None:
        nonlocal used
        used += 1
        if used > 3:
            raise OSError(28, "No space left on device")
        real(self, directory, listener)

    monkeypatch.setattr(notifier, "add", add)
    async with watching(tmp_path, ".") as heard:
        assert ("fs.inotify" in heard.watcher.problem) is not is_portable
        assert "watch fewer directories" in heard.watcher.problem
        (tmp_path / "4" / "x").touch()
        assert await heard.next() == ["4/x"]


async def test_when_more_happens_than_can_be_told_something_is_told(tmp_path: Path) -> None:
    async with watching(tmp_path, ".") as heard:
        heard.watcher.on_overflow()
        assert await heard.next() == ["."]


async def test_two_who_watch_the_same_are_both_told_and_one_may_leave(tmp_path: Path) -> None:
    queues: list[asyncio.Queue[list[str]]] = [asyncio.Queue(), asyncio.Queue()]
    notifier = open_notifier()
    assert not isinstance(notifier, OSError)
    watchers = [
        Watcher([root_of(".", str(tmp_path))], by_git([]), 0.01, queue.put_nowait, SystemClock()) for queue in queues
    ]
    for watcher in watchers:
        await watcher.start(notifier)
    (tmp_path / "a").touch()
    async with asyncio.timeout(10):
        assert [await queue.get() for queue in queues] == [[str(tmp_path / "a")]] * 2
        watchers[0].close()
        (tmp_path / "b").touch()
        assert await queues[1].get() == [str(tmp_path / "b")]
    assert queues[0].empty()
    watchers[1].close()
    notifier.close()


async def test_a_directory_that_is_made_again_between_two_comparisons_is_told(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles", reason="the portable layer needs watchfiles")
    told: list[tuple[int, str, str]] = []

    class Listener:
        def happened(self, mask: int, directory: str, name: str) -> None:
            told.append((mask, os.path.relpath(directory, tmp_path), name))

        def on_overflow(self) -> None:
            raise AssertionError

    build, listener, notifier = tmp_path / "build", Listener(), WatchfilesNotifier()
    build.mkdir()
    for directory in (tmp_path, build):
        notifier.add(str(directory), listener)
    build.rmdir()
    notifier._compare(str(build))
    build.mkdir()
    notifier._compare(str(tmp_path))
    notifier.close()
    gone, made = (
        (inotify.DELETE | inotify.IS_DIRECTORY, ".", "build"),
        (inotify.CREATE | inotify.IS_DIRECTORY, ".", "build"),
    )
    assert told == [(inotify.DELETE_SELF | inotify.IGNORED, "build", ""), gone, made]
