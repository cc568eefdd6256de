"""Warnings of the server: the Warning headers with code 299."""

import re

# `299 - "text"`, with escaped quotes and backslashes; several are joined by commas.
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


def parse_warnings(header: str) -> list[str]:
    """Returns the texts of Warning headers that were joined by commas."""
    return [_ESCAPED.sub(r"\1", text) for text in _WARNING.findall(header)]
