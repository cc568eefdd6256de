"""Durations on the command line: `90s`, `5m`, `1h30m`, or a number of seconds."""

import re
from collections.abc import Callable
from typing import Any

import click

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")


class Seconds(click.ParamType[float]):
    """A duration that is not negative, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        from setpoint.objects.duration import parse

        try:
            found = float(value) if _NUMBER.fullmatch(value) else parse(value) / 1e9
        except ValueError:
            found = -1.0
        if found < 0:
            self.fail(f"invalid duration {value!r}: expected e.g. 30s, 5m or 1h30m", param, ctx)
        return found


def seconds_option(*names: str, help: str, default: str | None = None) -> Callable[..., Any]:  # noqa: A002 - click's word
    """Adds an option for a duration in seconds; None if absent or 0."""
    return click.option(
        *names,
        metavar="DURATION",
        type=Seconds(),
        default=default,
        show_default=default is not None,
        callback=lambda ctx, param, value: value or None,
        help=help,
    )
