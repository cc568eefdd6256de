"""Renders stories as text for a terminal of any width, with or without colours. Has no side effects."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Literal, TypeAlias

from setpoint.past.why.story import Story, StoryStep

Meaning: TypeAlias = Literal["good", "pending", "bad", "quiet", "heading"]
# Returns a text in the colour of its meaning.
Paint: TypeAlias = Callable[[str, Meaning], str]
_MEANINGS: Mapping[str, Meaning] = {"ready": "good", "progressing": "pending", "failed": "bad", "gone": "bad"}
_NARROWEST = 10
# The maximum number of lines for a change.
_MOST_LINES = 3


def plain(text: str, meaning: Meaning) -> str:
    """Returns the text without colours."""
    return text


def render(story: Story, *, width: int | None, zone: tzinfo, now: datetime, paint: Paint = plain) -> str:
    """Returns the text of a story, ending with a newline. Without a width, lines are not wrapped."""
    return "\n".join(_lines(story, width, zone, now, paint)) + "\n"


def _lines(story: Story, width: int | None, zone: tzinfo, now: datetime, paint: Paint) -> Iterator[str]:
    since = f" (since {clock_time(story.since, zone, now)})" if story.since is not None else ""
    for line in wrapped(f"{story.headline}{since}", width):
        yield paint(line, _MEANINGS[story.verdict])
    for text in story.details:
        yield from wrapped(text, width, "  ", "    ")
    yield from _steps(story.object, story.steps, width, zone, now, paint)
    for number, line in enumerate(story.output):
        yield cut(f"{'last output' if number == 0 else '':11} │ {line}", width)
    for text in story.hints:
        for line in wrapped(f"hint: {text}", width, "", "      "):
            yield paint(line, "heading")


def _steps(
    own: str, steps: Sequence[StoryStep], width: int | None, zone: tzinfo, now: datetime, paint: Paint
) -> Iterator[str]:
    """Yields the steps, each with its effect below; the names of the writers form a column."""
    heads = [f" {clock_time(step.time, zone, now)}  rv {step.revision:<5} " for step in steps]
    # The object of the story is not repeated.
    texts = [f"{'   ' * step.depth}{'' if step.object == own else f'{step.object} '}{step.what}" for step in steps]
    room = max(map(len, texts), default=0)
    if width is not None:
        longest = max((len(head) + len(step.who) + 2 for head, step in zip(heads, steps, strict=True)), default=0)
        room = max(min(room, width - longest), _NARROWEST)
    for head, text, step in zip(heads, texts, steps, strict=True):
        gap, indent = " " * len(head), "   " * step.depth
        first, *rest = _broken(text, room, indent)
        yield f"{paint(head, 'quiet')}{first:<{room}}  {paint(step.who, 'heading')}".rstrip()
        yield from (f"{gap}{line}" for line in rest)
        if step.caused:
            for line in wrapped(f"└─ {step.caused}", width, f"{gap}{indent}", f"{gap}{indent}   "):
                yield paint(line, "quiet")


def _broken(text: str, room: int, indent: str) -> list[str]:
    """Wraps a text; long words may be broken anywhere."""
    if len(text) <= room:
        return [text]
    how = textwrap.TextWrapper(
        room,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
        max_lines=_MOST_LINES,
        placeholder="…",
    )
    return how.wrap(text.strip())


def clock_time(moment: datetime, zone: tzinfo, now: datetime) -> str:
    """Returns the time of day, with the date if not today."""
    here = moment.astimezone(zone)
    is_today = here.date() == now.astimezone(zone).date()
    return here.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S")


def wrapped(text: str, width: int | None, first: str = "", following: str = "  ") -> list[str]:
    """Wraps a text to lines of at most the given width."""
    if width is None:
        return [f"{first}{text}"]
    how = textwrap.TextWrapper(
        width, initial_indent=first, subsequent_indent=following, break_on_hyphens=False, break_long_words=False
    )
    return how.wrap(text) or [first]


def cut(text: str, width: int | None) -> str:
    """Truncates a text, with an ellipsis if truncated."""
    return text if width is None or len(text) <= width else f"{text[: max(width - 1, 1)]}…"
