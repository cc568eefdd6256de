"""Stories as text for a terminal of any width, with colours or without. Pure."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Literal, TypeAlias

from setpoint.past.why.story import Step, Story

Meaning: TypeAlias = Literal["good", "pending", "bad", "quiet", "heading"]
# A text, in the colour of what it means.
Paint: TypeAlias = Callable[[str, Meaning], str]
_MEANINGS: Mapping[str, Meaning] = {"ready": "good", "progressing": "pending", "failed": "bad", "gone": "bad"}
_NARROWEST = 20


def plain(text: str, meaning: Meaning) -> str:
    """No colours."""
    return text


def render(story: Story, *, width: int | None, zone: tzinfo, now: datetime, paint: Paint = plain) -> str:
    """The text of a story; it ends with a newline. Without a width lines are as long as they are."""
    return "\n".join(_lines(story, width, zone, now, paint)) + "\n"


def _lines(story: Story, width: int | None, zone: tzinfo, now: datetime, paint: Paint) -> Iterator[str]:
    since = f" (since {clock_time(story.since, zone, now)})" if story.since is not None else ""
    for line in wrapped(f"{story.headline}{since}", width):
        yield paint(line, _MEANINGS[story.verdict])
    for text in story.details:
        yield from wrapped(text, width, "  ", "    ")
    yield from _steps(story.steps, width, zone, now, paint)
    for number, line in enumerate(story.output):
        yield cut(f"{'last output' if number == 0 else '':11} │ {line}", width)
    for text in story.hints:
        for line in wrapped(f"hint: {text}", width, "", "      "):
            yield paint(line, "heading")


def _steps(steps: Sequence[Step], width: int | None, zone: tzinfo, now: datetime, paint: Paint) -> Iterator[str]:
    """Each with what it led to below it; the names of who did it stand in a column."""
    heads = [f" {clock_time(step.time, zone, now)}  rv {step.revision:<5} " for step in steps]
    texts = [f"{'   ' * step.depth}{step.object} {step.what}" for step in steps]
    room = max(map(len, texts), default=0)
    if width is not None:
        longest = max((len(head) + len(step.who) + 2 for head, step in zip(heads, steps, strict=True)), default=0)
        room = max(min(room, width - longest), _NARROWEST)
    for head, text, step in zip(heads, texts, steps, strict=True):
        yield f"{paint(head, 'quiet')}{cut(text, room):<{room}}  {paint(step.who, 'heading')}".rstrip()
        if step.caused:
            yield paint(cut(f"{' ' * len(head)}{'   ' * step.depth}└─ {step.caused}", width), "quiet")


def clock_time(moment: datetime, zone: tzinfo, now: datetime) -> str:
    """The time of day; with the day, where that is not today."""
    here = moment.astimezone(zone)
    is_today = here.date() == now.astimezone(zone).date()
    return here.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S")


def wrapped(text: str, width: int | None, first: str = "", following: str = "  ") -> list[str]:
    """A text in lines of at most a width."""
    if width is None:
        return [f"{first}{text}"]
    how = textwrap.TextWrapper(
        width, initial_indent=first, subsequent_indent=following, break_on_hyphens=False, break_long_words=False
    )
    return how.wrap(text) or [first]


def cut(text: str, width: int | None) -> str:
    """The beginning of a text, with an ellipsis where something is missing."""
    return text if width is None or len(text) <= width else f"{text[: max(width - 1, 1)]}…"
