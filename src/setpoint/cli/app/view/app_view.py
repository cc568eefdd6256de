"""The view: a table while the app starts, and lines of output while the app runs.

On a terminal the table is redrawn until all parts are ready or waiting longer is useless. Then the table stays,
followed by the output of the app and messages about its parts. Without a terminal, every change of state is one line.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TextIO, TypeAlias

from setpoint.cli.app.view import layout
from setpoint.cli.app.view.app_events import happenings
from setpoint.cli.app.view.failure_reasons import reasons
from setpoint.cli.app.view.keyboard import REPAINT, keyboard, on_signals
from setpoint.cli.app.view.log_lines import LOGGED, Lines
from setpoint.cli.app.view.model import Model, Row
from setpoint.cli.app.view.object_watch import Objects, ServerGone
from setpoint.cli.app.view.output import OutputWriter
from setpoint.cli.app.view.output_lines import Printed
from setpoint.cli.app.view.part_record import News
from setpoint.cli.app.view.question import Question
from setpoint.cli.app.view.screen import Screen
from setpoint.cli.app.view.view_settings import ViewSettings
from setpoint.cli.output.terminal import Terminal, harmless, terminal
from setpoint.cli.support.errors import Failure
from setpoint.cli.workloads.inventory import Workload, called
from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.objects.clock import timeout
from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object

Ending: TypeAlias = Literal["quit", "detached", "left", "ready", "failed", "late", "ended"]

# The minimum interval between two frames, and the maximum interval while seconds are counted.
_FRAME_SECONDS, _TICK_SECONDS = 0.1, 0.5
# The number of past lines per part shown when joining a running app.
_JOINED_TAIL = 5
# The time limit for explaining a failure before the view ends.
_EXPLAIN_SECONDS = 3.0
# The default size if the terminal does not report one.
_COLUMNS, _LINES = 80, 24
# The number of messages kept while the output is blocked.
_MOST_NOTED = 500
_INTERRUPT = "\x03"
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Outcome(NamedTuple):
    """The result of a view. `failed` lists the parts that failed, or that were not ready in time (`late`)."""

    how: Ending
    failed: tuple[str, ...] = ()


async def watch_app(
    client: Client,
    settings: ViewSettings,
    *,
    place: Terminal,
    seconds: float | None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
) -> Outcome:
    """Shows an app until the user leaves, the app ends, or as the settings say. `seconds` limits the time until all
    parts are ready. Raises APIError and TransportError if the app cannot be read.
    """
    news = asyncio.Event()
    output = OutputWriter(stdout or sys.stdout, news.set)
    view = _View(client, settings, place, output, news)
    try:
        # If the output is redirected, keys are left to the program that shows the output.
        with keyboard(stdin or sys.stdin if place.width is not None else None) as keys, on_signals(view.signals()):
            return await view.run(keys.keys() if keys is not None else None, seconds)
    finally:
        # Flushes the output before other code writes to the terminal.
        await output.close(client.clock)


class _View:
    """A single view. Collects changes and paints them in frames."""

    def __init__(
        self, client: Client, settings: ViewSettings, place: Terminal, output: OutputWriter, news: asyncio.Event
    ) -> None:
        self._client, self._settings, self._place, self._output = client, settings, place, output
        self._clock = client.clock
        self._model = Model(settings.parts, settings.began)
        self._objects = Objects(client, self._changed, self._removed)
        self._screen = Screen(place.width or _COLUMNS) if place.moves else None
        self._widths = layout.Widths()
        zone = self._clock.now().astimezone().tzinfo
        assert zone is not None
        self._zone = zone
        self._printed = Printed(place, [part.name for part in settings.parts], zone)
        self._lines: Lines | None = None
        # Set when there is a change to process or to paint.
        self._news = news
        # The lines of the next frame: first `_messages`, then `_noted` merged with the output of the app by time.
        self._messages: list[str] = []
        self._noted: list[tuple[datetime, str]] = []
        self._is_starting, self._is_ready_reported = True, False
        self._repaint = False
        self._question: Question | None = None
        self._outcome: Outcome | None = None
        self._operations: set[asyncio.Task[None]] = set()
        self._has_keys = False

    async def run(self, keys: AsyncIterator[str] | None, seconds: float | None) -> Outcome:
        """Shows the app until the view ends. Raises APIError and TransportError."""
        settings, place = self._settings, self._place
        self._messages += [layout.header(settings.app, settings.session, settings.dashboard, place)]
        self._messages += layout.change_lines(settings.changes, place)
        deadline = None if seconds is None else self._clock.monotonic() + seconds
        await self._objects.read()
        following = asyncio.ensure_future(self._objects.follow())
        following.add_done_callback(lambda _: self._news.set())
        tasks = [following, asyncio.ensure_future(self._read_keys())]
        if keys is not None:
            self._has_keys = True
            tasks.append(asyncio.ensure_future(self._listen(keys)))
        try:
            while self._outcome is None:
                self._news.clear()
                self._advance(following)
                if deadline is not None and self._clock.monotonic() >= deadline:
                    self._end_on_timeout()
                self._paint()
                if self._outcome is None:
                    await self._next()
            return self._outcome
        finally:
            await self._end(tasks)

    async def _next(self) -> None:
        """Waits for a change to paint, and at least one frame interval."""
        await self._clock.sleep(_FRAME_SECONDS)
        with contextlib.suppress(TimeoutError):
            if self._model.has_pending or self._settings.until_ready:
                async with timeout(self._clock, _TICK_SECONDS):
                    await self._news.wait()
            else:
                await self._news.wait()

    async def _end(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        if self._outcome is not None and self._outcome.how == "failed":
            with contextlib.suppress(TimeoutError):
                async with timeout(self._clock, _EXPLAIN_SECONDS):
                    await asyncio.gather(*self._operations, return_exceptions=True)
        ending = (*tasks, *self._operations)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        if self._lines is not None:
            await self._lines.close()
        if self._is_starting and self._screen is not None:
            self._messages += layout.table(self._table(), self._widths, self._place)
        self._paint(last=True)

    # Incoming changes

    def _changed(self, tree: Object) -> None:
        self._model.put(tree, self._clock.now())
        if self._lines is not None:
            self._lines.attend(tree)
        self._news.set()

    def _removed(self, tree: Object) -> None:
        self._model.remove(tree)
        if self._lines is not None:
            self._lines.stop_following(tree)
        self._news.set()

    async def _read_keys(self) -> None:
        async for each in happenings(self._client, self._settings.app):
            self._note(News(each.text, "bad" if each.bad else ""))

    def signals(self) -> Mapping[signal.Signals, Callable[[], None]]:
        """Returns the signal handlers: termination signals end the view, SIGWINCH updates its width."""
        found: dict[signal.Signals, Callable[[], None]] = dict.fromkeys(_ENDS, lambda: self._press(_INTERRUPT))
        return found if self._screen is None else {**found, signal.SIGWINCH: self._resized}

    def _resized(self) -> None:
        if self._screen is not None and self._place.width is not None:
            self._place = self._place._replace(width=terminal().width or self._place.width)
            self._screen.resize(self._place.width or _COLUMNS)
            self._repaint = True
            self._news.set()

    # Keys

    async def _listen(self, keys: AsyncIterator[str]) -> None:
        async for key in keys:
            self._press(key)

    def _press(self, key: str) -> None:
        joined = self._settings.joined
        if key == _INTERRUPT or (key == "q" and self._question is None):
            self._outcome = Outcome("left" if joined else "quit")
        elif self._question is not None:
            self._answer(self._question.press(key))
        elif key == "d":
            self._outcome = Outcome("left" if joined else "detached")
        elif key == "l":
            self._switch_logs()
        elif key == "r":
            self._ask_part()
        elif key == "?":
            self._messages += layout.help_lines(joined, self._place)
        elif key == REPAINT:
            self._repaint = True
        elif key in "\r\n" and not self._is_starting:
            self._messages.append("")
        self._news.set()

    def _switch_logs(self) -> None:
        if self._is_starting:
            self._finish_starting(layout.starting_line(self._table(), None, self._keys, self._place))
        elif self._lines is None:
            self._show_logs(since_now=True)
            self._note(News("output shown"))
        else:
            self._do(self._lines.close())
            self._lines = None
            self._note(News("output hidden · press l to show"))

    def _ask_part(self) -> None:
        """Asks which part to restart."""
        workloads = self._model.workloads()
        services = [name for name, workload in workloads.items() if workload.kind != "Task"]
        self._question = Question(list(workloads), services)
        if self._screen is None:
            self._messages += layout.question(self._question, self._place)

    def _answer(self, names: Sequence[str] | None) -> None:
        if names is None:
            return
        self._question = None
        workloads = self._model.workloads()
        for name in names:
            if name in workloads:
                self._do(self._restart(workloads[name]))

    async def _restart(self, workload: Workload) -> None:
        from setpoint.cli.app.restart import RESTART

        try:
            await RESTART.act(self._client, workload)
        except (APIError, TransportError, Failure) as error:
            self._note(News(f"cannot restart {workload.name}: {error}", "bad"))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine in the background."""
        task = asyncio.ensure_future(work)
        self._operations.add(task)
        task.add_done_callback(self._operations.discard)

    # Progress and result

    def _advance(self, following: "asyncio.Task[None]") -> None:
        if following.done():
            self._outcome = self._outcome or _ended(following)
        for news in self._model.refresh(self._clock.now()):
            self._print_message(news)
        verdict = self._model.verdict()
        if self._is_starting:
            rows = self._table()
            if verdict.ready:
                self._is_ready_reported = True
                seconds, path = self._model.seconds(), self._model.critical_path()
                self._finish_starting(layout.ready_line(seconds, path, self._keys, self._place))
            elif verdict.stuck or (verdict.failed and self._settings.until_ready):
                self._finish_starting(layout.stuck_line(rows, verdict, self._keys, self._place))
        elif verdict.ready and not self._is_ready_reported:
            self._is_ready_reported = True
            self._note(News("all ready", "good"))
        if self._settings.until_ready and self._outcome is None:
            if verdict.ready:
                self._outcome = Outcome("ready")
            elif verdict.failed:
                self._outcome = Outcome("failed", verdict.failed)

    def _print_message(self, news: News) -> None:
        """Prints a message; for a permanent failure, with its reasons. Messages are suppressed while the table is
        shown.
        """
        if self._is_starting and self._screen is not None:
            return
        workload = self._model.workloads().get(news.failed)
        if workload is None:
            self._note(news)
        else:
            self._do(self._explain(news, workload))

    async def _explain(self, news: News, workload: Workload) -> None:
        found = await reasons(self._client, workload)
        self._note(news)
        time = self._noted[-1][0]
        self._noted += [(time, line) for text in found for line in layout.below(text, self._place)]

    def _note(self, news: News) -> None:
        """Queues a line about a change."""
        now = self._clock.now()
        time = "" if self._is_starting else f"{now.astimezone(self._zone):%H:%M:%S} "
        text = self._place.paint(time, "quiet") + self._place.paint(harmless(news.text), news.meaning)
        self._noted.append((now, text))
        self._news.set()

    def _finish_starting(self, below: Sequence[str]) -> None:
        """Ends the starting phase: prints the table a last time, and the output of the app follows."""
        self._messages += [text for _, text in self._noted]
        self._noted.clear()
        if self._screen is not None:
            self._messages += layout.table(self._table(), self._widths, self._place)
        self._messages += below
        self._is_starting = False
        self._model.finish_starting()
        for name, workload in self._model.workloads().items():
            if self._screen is not None and name in self._model.verdict().failed:
                self._do(self._explain(self._model.failure(name, self._clock.now()), workload))
        if self._settings.logs and not self._settings.until_ready:
            self._show_logs()

    def _end_on_timeout(self) -> None:
        """Ends the view because the time limit was exceeded."""
        if self._outcome is None:
            verdict = self._model.verdict()
            if self._is_starting:
                self._finish_starting(layout.starting_line(self._table(), None, "", self._place))
            self._outcome = Outcome("late", verdict.waiting)

    def _show_logs(self, *, since_now: bool = False) -> None:
        since = self._clock.now() if since_now else None if self._settings.joined else self._settings.began
        tail = _JOINED_TAIL if self._settings.joined and not since_now else None
        self._lines = Lines(self._client, self._news.set, since=since, skips=self._screen is not None)
        known = self._objects.all()
        self._printed.widen(called(tree) for tree in known if tree["kind"] in LOGGED)
        for tree in known:
            self._lines.attend(tree, tail)

    # Painting

    @property
    def _keys(self) -> str:
        if not self._has_keys or self._settings.until_ready:
            return ""
        return layout.JOINED_KEYS if self._settings.joined else layout.KEYS

    def _table(self) -> list[Row]:
        rows = self._model.rows(self._clock.now())
        self._widths = self._widths.grown(rows)
        return rows

    def _paint(self, *, last: bool = False) -> None:
        """Writes the new lines, unless earlier output is still being written."""
        if not self._output.is_free and not last:
            del self._noted[:-_MOST_NOTED]
            return
        if self._output.is_broken:
            self._outcome = self._outcome or Outcome("left" if self._settings.joined else "quit")
            return
        noted, self._noted = self._noted, []
        if self._lines is not None:
            noted += [(line.time, self._printed.line(line)) for line in self._lines.drain()]
        messages = [*self._messages, *(text for _, text in sorted(noted, key=itemgetter(0)))]
        self._messages = []
        if self._screen is None:
            self._output.write("".join(f"{line}\n" for line in messages))
            return
        self._output.write(self._screen.frame(messages, [] if last else self._bottom(), repaint=self._repaint))
        self._repaint = False

    def _bottom(self) -> list[str]:
        """Returns the lines at the bottom that are redrawn in each frame."""
        if self._question is not None:
            return layout.question(self._question, self._place)
        if not self._is_starting:
            return []
        rows = self._table()
        seconds = (self._clock.now() - self._settings.began).total_seconds() if self._settings.began else None
        below = layout.starting_line(rows, seconds, self._keys, self._place)
        shown, more = layout.folded(rows, max(_lines_of_screen() - len(below) - 1, 1))
        return [*layout.table(shown, self._widths, self._place), *([more] if more else []), *below]


def _ended(following: "asyncio.Task[None]") -> Outcome:
    """Returns the outcome `ended` if the server is gone. Raises any other error of the task."""
    error = following.exception()
    if isinstance(error, BaseExceptionGroup) and error.split(ServerGone)[1] is None:
        return Outcome("ended")
    assert error is not None
    raise error


def _lines_of_screen() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines or _LINES
    except (OSError, ValueError):
        return _LINES
