"""Parses a line of a program's log: its level, message and fields. No I/O.

JSON lines are read by the field names of common libraries (pino, zap, zerolog, slog, structlog, Serilog, logback). In
text, a level is a word in capitals near the start, a `level=` field (logfmt), a word in brackets or before a colon, or
the letter of klog.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

LEVELS = ("trace", "debug", "info", "warning", "error", "fatal")
_WORDS = {
    "trace": "trace", "trce": "trace", "verbose": "trace", "finest": "trace", "finer": "trace",
    "debug": "debug", "dbug": "debug", "dbg": "debug", "fine": "debug",
    "info": "info", "information": "info", "informational": "info", "inf": "info", "notice": "info",
    "warn": "warning", "warning": "warning", "wrn": "warning",
    "error": "error", "err": "error", "fail": "error", "severe": "error",
    "fatal": "fatal", "critical": "fatal", "crit": "fatal", "panic": "fatal", "dpanic": "fatal", "emerg": "fatal",
    "alert": "fatal", "ftl": "fatal",
}  # fmt: skip
_KLOG = {"I": "info", "W": "warning", "E": "error", "F": "fatal"}
_LEVEL_KEYS = ("level", "lvl", "severity", "levelname", "log.level", "loglevel", "@l", "LogLevel", "Level")
_MESSAGE_KEYS = ("msg", "message", "@m", "@mt", "event", "text", "body", "Message")
_TIME_KEYS = frozenset(("time", "ts", "timestamp", "@timestamp", "@t", "asctime", "datetime", "date", "Timestamp"))
# Longer lines are not parsed as JSON, and a level is only searched near the start.
_LONGEST_JSON, _HEAD = 64 << 10, 120
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_ALTERNATIVES = "|".join(sorted(_WORDS, key=len, reverse=True))
_CAPITALS = re.compile(rf"(?<![A-Za-z_])({_ALTERNATIVES.upper()})(?![A-Za-z_])")
_MARKED = re.compile(
    rf"(?i)(?:\[({_ALTERNATIVES})\]|^({_ALTERNATIVES}):|\b(?:level|lvl|severity)=\"?({_ALTERNATIVES})\b)"
)
_KLOG_HEAD = re.compile(r"^([IWEF])\d{4} \d\d:")


class ParsedLine(NamedTuple):
    """A line: its level (empty if unknown), its message, and the other fields of a JSON line."""

    level: str
    message: str
    fields: Mapping[str, Any]
    is_json: bool = False


def parse_line(line: str) -> ParsedLine:
    """Parses a line without its line end."""
    text = _ANSI.sub("", line) if "\x1b" in line else line
    if text.startswith("{") and len(text) <= _LONGEST_JSON and (found := _json(text)) is not None:
        return found
    return ParsedLine(_level_in(text[:_HEAD]), line, {})


def rendered(line: str, fields: Collection[str] | None = None) -> str:
    """Returns a JSON line as one line of text: level, message, and the fields (or those selected); other lines
    unchanged."""
    found = parse_line(line)
    if not found.is_json:
        return line
    shown = found.fields if fields is None else {key: found.fields[key] for key in fields if key in found.fields}
    level = f"{found.level.upper():<7} " if found.level else ""
    return f"{level}{found.message}{''.join(f' {key}={_value(value)}' for key, value in shown.items())}".strip()


def _json(text: str) -> ParsedLine | None:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    level_key = next((key for key in _LEVEL_KEYS if key in found), "")
    message_key = next((key for key in _MESSAGE_KEYS if isinstance(found.get(key), str)), "")
    level = _level(found.get(level_key))
    fields = {
        key: value
        for key, value in found.items()
        if key != message_key and key not in _TIME_KEYS and not (key == level_key and level)
    }
    return ParsedLine(level, found.get(message_key, ""), fields, is_json=True)


def _level(value: Any) -> str:
    """Returns a level by its name, or by its number in pino and bunyan."""
    if isinstance(value, str):
        return _WORDS.get(value.lower(), "")
    if isinstance(value, int) and not isinstance(value, bool) and 10 <= value < 70:
        return LEVELS[value // 10 - 1]
    return ""


def _level_in(head: str) -> str:
    if match := _KLOG_HEAD.match(head):
        return _KLOG[match[1]]
    if match := _MARKED.search(head):
        return _WORDS[next(filter(None, match.groups())).lower()]
    if match := _CAPITALS.search(head):
        return _WORDS[match[1].lower()]
    return "error" if head.startswith("Traceback (most recent call last)") else ""


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if text and not re.search(r'[\s"=]', text) else msgspec.json.encode(text).decode()
