"""Renders stories as text for a terminal of any width, with or without colours. Has no side effects."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Literal, TypeAlias

from setpoint.past.why.explanation import Explanation, ExplanationStep

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


def render(explanation: Explanation, *, width: int | None, zone: tzinfo, now: datetime, paint: Paint = plain) -> str:
    """Returns the text of an explanation, ending with a newline. Without a width, lines are not wrapped."""
    return "\n".join(_lines(explanation, width, zone, now, paint)) + "\n"


def _lines(explanation: Explanation, width: int | None, zone: tzinfo, now: datetime, paint: Paint) -> Iterator[str]:
    since = f" (since {clock_time(explanation.since, zone, now)})" if explanation.since is not None else ""
    for line in wrapped(f"{explanation.headline}{since}", width):
        yield paint(line, _MEANINGS[explanation.verdict])
    for text in explanation.details:
        yield from wrapped(text, width, "  ", "    ")
    yield from _steps(explanation.object, explanation.steps, width, zone, now, paint)
    for number, line in enumerate(explanation.output):
        yield cut(f"{'last output' if number == 0 else '':11} │ {line}", width)
    for text in explanation.hints:
        for line in wrapped(f"hint: {text}", width, "", "      "):
            yield paint(line, "heading")


def _steps(
    own: str, steps: Sequence[ExplanationStep], width: int | None, zone: tzinfo, now: datetime, paint: Paint
) -> Iterator[str]:
    """Yields the steps, each with its effect below; the names of the writers form a column."""
    heads = [f" {clock_time(step.time, zone, now)}  rv {step.revision:<5} " for step in steps]
    # The object of the explanation is not repeated.
    texts = [f"{'   ' * step.depth}{'' if step.object == own else f'{step.object} '}{step.what}" for step in steps]
    width_left = max(map(len, texts), default=0)
    if width is not None:
        longest = max((len(head) + len(step.who) + 2 for head, step in zip(heads, steps, strict=True)), default=0)
        width_left = max(min(width_left, width - longest), _NARROWEST)
    for head, text, step in zip(heads, texts, steps, strict=True):
        gap, indent = " " * len(head), "   " * step.depth
        first, *rest = _broken(text, width_left, indent)
        yield f"{paint(head, 'quiet')}{first:<{width_left}}  {paint(step.who, 'heading')}".rstrip()
        yield from (f"{gap}{line}" for line in rest)
        if step.caused:
            for line in wrapped(f"└─ {step.caused}", width, f"{gap}{indent}", f"{gap}{indent}   "):
                yield paint(line, "quiet")


def _broken(text: str, width_left: int, indent: str) -> list[str]:
    """Wraps a text; long words may be broken anywhere."""
    if len(text) <= width_left:
        return [text]
    how = textwrap.TextWrapper(
        width_left,
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
