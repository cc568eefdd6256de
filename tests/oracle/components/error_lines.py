"""The warnings and errors in the logs of the components, comparable between two runs."""

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ALLOWED = Path(__file__).with_name("allowed_errors.yaml")

_LINE = re.compile(r"[WEF]\d{4} [\d:.]+ +\d+ (?P<file>[\w.]+\.go):\d+\] (?P<text>.*)")
# Values that differ between two runs, and their stand-ins. The order matters: long ones first.
_VALUES = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( [+-]\d{4} UTC|Z)?( m=\+[\d.]+)?"), "TIME"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "SERVER"),
    (re.compile(r"\b127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\b0x[0-9a-f]+\b"), "POINTER"),
    # A hash of a template, the random end of a generated name, or both.
    (re.compile(r"(?<=[a-z])-[0-9bcdf-hj-np-tv-xz]{8,10}(-[0-9bcdf-hj-np-tv-xz]{5})?\b"), "-RANDOM"),
    (re.compile(r"(?<=[a-z])-[2-9bcdf-hj-np-tv-xz]{5}\b"), "-RANDOM"),
    (re.compile(r"\b\d+(\.\d+)?(ns|µs|ms|s|m)\b"), "DURATION"),
    (re.compile(r"(?<=version: )\d+"), "REVISION"),
    (re.compile(r"(?<=resourceVersion=\")\d+"), "REVISION"),
    (re.compile(r"(?<=tick-)\d+"), "MINUTE"),
)


class Allowed(NamedTuple):
    """An error that either run may have or lack, and the reason."""

    line: re.Pattern[str]
    reason: str


def normalized(line: str) -> str:
    """A warning or an error as source file and text, without the values of its run; empty for any other line."""
    found = _LINE.match(line)
    if found is None:
        return ""
    text = found["text"]
    for pattern, stand_in in _VALUES:
        text = pattern.sub(stand_in, text)
    return f"{found['file']}: {text}"


def errors(log: Path) -> Counter[str]:
    """The errors of a log and their counts."""
    lines = map(normalized, log.read_text(errors="replace").splitlines())
    return Counter(line for line in lines if line)


def allowed() -> list[Allowed]:
    """The table of allowed errors."""
    rows: list[dict[str, Any]] = yaml.safe_load(ALLOWED.read_text())
    return [Allowed(re.compile(row["line"]), row["reason"]) for row in rows]


def unexplained(ours: Counter[str], real: Counter[str], table: list[Allowed]) -> Counter[str]:
    """The errors of our run that the real run does not have and that the table does not allow."""
    return Counter(
        {
            line: count
            for line, count in ours.items()
            if line not in real and not any(row.line.fullmatch(line) for row in table)
        }
    )
