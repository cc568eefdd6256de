"""The options of log requests and their validation: DCP's, with a few additional parameters."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from setpoint.objects.errors import BadRequest
from setpoint.schema.regex import pattern_error
from setpoint.workload.logs.line_parser import LEVELS

SOURCES = ("stdout", "stderr", "startup_stdout", "startup_stderr", "system", "all")
MAX_TAIL = 1_000_000
# Kubernetes' own names, which its clients send.
FORMATS = ("raw", "text", "json")
# The maximum of `tail` and the length of a pattern for a log whose lines are selected one by one.
MAX_SELECTED_TAIL = 10_000
MAX_PATTERN = 1_000
MAX_FIELDS = 50
_SYNONYMS = {"warn": "warning", "err": "error", "critical": "fatal", "panic": "fatal"}
_ALIASES = {"tailLines": "tail", "sinceTime": "since_time", "untilTime": "until"}
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


class LogOptions(NamedTuple):
    """The selection of lines from a log. `skip` counts lines from the first, `tail` from the last; `all` is stdout and
    stderr merged by time, with their names as prefixes if `sources` is set."""

    source: str = "stdout"
    follow: bool = False
    timestamps: bool = False
    line_numbers: bool = False
    tail: int | None = None
    skip: int | None = None
    limit: int | None = None
    since: timedelta | None = None
    since_time: datetime | None = None
    until: datetime | None = None
    sources: bool = False
    # The selection of single lines: a pattern, the least level, the format and the fields of JSON lines.
    grep: str = ""
    invert: bool = False
    ignore_case: bool = False
    level: str = ""
    format: str = "raw"
    fields: tuple[str, ...] | None = None
    # The names of objects before lines, for several logs in one response.
    names: bool = False
    # One run: by its number, or the one before the current.
    attempt: int | None = None
    previous: bool = False
    # The separator after the time of a line.
    after_time: bytes = b" "
    # With follow: an empty piece marks the end of the past. Not a parameter of requests.
    marks_present: bool = False

    @property
    def selects_lines(self) -> bool:
        """True if lines are selected or changed one by one."""
        return bool(self.grep or self.level or self.names or self.format != "raw")

    @property
    def selects_attempt(self) -> bool:
        return self.attempt is not None or self.previous

    def validated(self) -> "LogOptions":
        """Returns self; raises BadRequest with all errors, each with the parameter's name."""
        wrong = list(_faults(self))
        if wrong:
            raise BadRequest("; ".join(wrong))
        return self

    def earliest(self, now: datetime) -> datetime | None:
        """Returns the earliest time of the requested lines."""
        times = [self.since_time] if self.since_time is not None else []
        if self.since is not None:
            times.append(now - self.since)
        return max(times, default=None)


def parse(parameters: Mapping[str, str]) -> LogOptions:
    """Returns the options in the query of a request; other parameters are ignored. Raises BadRequest."""
    given = {_ALIASES.get(name, name): value for name, value in parameters.items()}
    if "sinceSeconds" in given:
        given.setdefault("since", f"{given['sinceSeconds']}s")
    wrong: list[str] = []

    def integer(name: str) -> int | None:
        text = given.get(name, "")
        if not text or re.fullmatch(r"[+-]?\d{1,18}", text):
            return int(text) if text else None
        wrong.append(f"{name}: {text!r} is not a whole number")
        return None

    def time(name: str) -> datetime | None:
        text = given.get(name, "")
        try:
            found = datetime.fromisoformat(text) if text else None
        except ValueError:
            found = None
        if text and (found is None or found.tzinfo is None):
            wrong.append(f"{name}: {text!r} is not a valid time: expected RFC 3339, e.g. 2026-01-02T15:04:05Z")
            return None
        return found

    def duration(name: str) -> timedelta | None:
        text = given.get(name, "")
        seconds = _seconds(text) if text else None
        if text and seconds is None:
            wrong.append(f"{name}: {text!r} is not a valid duration, e.g. 90s or 1h30m")
        return timedelta(seconds=seconds) if seconds is not None else None

    options = LogOptions(
        given.get("source") or "stdout",
        _truth(given.get("follow")),
        _truth(given.get("timestamps")),
        _truth(given.get("line_numbers")),
        integer("tail"),
        integer("skip"),
        integer("limit"),
        duration("since"),
        time("since_time"),
        time("until"),
        _truth(given.get("sources")),
        given.get("grep", ""),
        _truth(given.get("invert")),
        _truth(given.get("ignore_case")),
        _SYNONYMS.get(given.get("level", "").lower(), given.get("level", "").lower()),
        given.get("format") or "raw",
        tuple(filter(None, given["fields"].split(","))) if "fields" in given else None,
        _truth(given.get("names")),
        integer("attempt"),
        _truth(given.get("previous")),
    )
    wrong += _faults(options)
    if wrong:
        raise BadRequest("; ".join(wrong))
    return options


def _faults(options: LogOptions) -> list[str]:
    wrong = []
    if options.source not in SOURCES:
        wrong.append(f"source: unsupported value {options.source!r}; supported: {', '.join(SOURCES)}")
    if options.limit is not None:
        if options.limit <= 0:
            wrong.append(f"limit: {options.limit} must be greater than 0")
        elif options.follow:
            wrong.append("limit: cannot be used together with follow; remove one of them")
    if options.tail is not None:
        if not 0 < options.tail <= MAX_TAIL:
            wrong.append(f"tail: {options.tail} must be between 1 and {MAX_TAIL}")
        elif options.skip:
            wrong.append("tail: cannot be used together with skip; remove one of them")
    if options.skip is not None and options.skip < 0:
        wrong.append(f"skip: {options.skip} must be 0 or greater")
    if options.sources and options.source != "all":
        wrong.append(f"sources: not supported for source {options.source}; remove it, or use source=all")
    wrong += _selection_faults(options)
    if options.until is not None and options.follow:
        wrong.append("until: cannot be used together with follow; remove one of them")
    return wrong


def _selection_faults(options: LogOptions) -> list[str]:
    wrong = []
    if len(options.grep) > MAX_PATTERN:
        wrong.append(f"grep: the pattern is longer than {MAX_PATTERN} characters; shorten it")
    elif fault := pattern_error(options.grep):
        wrong.append(f"grep: {fault}; correct the pattern (syntax of RE2)")
    if (options.invert or options.ignore_case) and not options.grep:
        name = "invert" if options.invert else "ignore_case"
        wrong.append(f"{name}: requires grep; add a pattern, or remove it")
    if options.level and options.level not in LEVELS:
        wrong.append(f"level: unsupported value {options.level!r}; supported: {', '.join(LEVELS)}")
    if options.format not in FORMATS:
        wrong.append(f"format: unsupported value {options.format!r}; supported: {', '.join(FORMATS)}")
    if options.fields is not None and options.format == "raw":
        wrong.append("fields: requires format=text or format=json")
    if options.fields is not None and len(options.fields) > MAX_FIELDS:
        wrong.append(f"fields: at most {MAX_FIELDS} names are supported")
    if options.selects_lines and (options.tail or 0) > MAX_SELECTED_TAIL:
        wrong.append(f"tail: {options.tail} must be at most {MAX_SELECTED_TAIL} together with a selection of lines")
    if options.selects_lines and (options.skip or options.line_numbers):
        wrong.append("skip, line_numbers: cannot be used together with a selection of lines")
    if options.selects_attempt and options.follow:
        wrong.append("attempt, previous: cannot be used together with follow; remove one of them")
    if options.attempt is not None and options.previous:
        wrong.append("attempt: cannot be used together with previous; remove one of them")
    if options.attempt is not None and options.attempt < 1:
        wrong.append(f"attempt: {options.attempt} must be 1 or greater")
    return wrong


def _truth(text: str | None) -> bool:
    """Parses a boolean as the API server does: a present parameter is true, unless its value is false or 0."""
    return text is not None and text.lower() not in ("false", "0")


def _seconds(text: str) -> float | None:
    if not re.fullmatch(f"(?:{_PART.pattern})+", text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
