"""PEM files: the blocks in them.

A block is a line `-----BEGIN LABEL-----`, a body, and the next line `-----END LABEL-----` with the same label. A begin
without such an end is no block. Time and memory are linear in the text, because texts come from requests: a pattern
that looks for the end of each begin takes quadratic time.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import NamedTuple

CERTIFICATE = "CERTIFICATE"
# Both match in front of the marker, because markers can share dashes.
_BEGIN = re.compile(r"(?=-----BEGIN ([^-\n]++)-----)")
_END = re.compile(r"(?=-----END ([^-\n]++)-----)")
_DASHES = "-----"


class Block(NamedTuple):
    """A block of a PEM file."""

    label: str
    # The text between the markers.
    body: str
    # The whole block with its markers.
    text: str


def pem_blocks(text: str, is_label: Callable[[str], object] = bool, least: int = 0) -> Iterator[Block]:
    """Yields the blocks of a PEM file, in order.

    Markers with a label for which `is_label` is false count as text, and so do ends fewer than `least` characters after
    their begin.
    """
    ends: dict[str, list[int]] = {}
    for marker in _END.finditer(text):
        ends.setdefault(marker[1], []).append(marker.start())
    free = 0  # the end of the last block
    for marker in _BEGIN.finditer(text):
        label, start = marker[1], marker.start()
        known = ends.get(label)
        if start < free or known is None or not is_label(label):
            continue
        body = marker.end(1) + len(_DASHES)
        following = bisect_left(known, body + least)
        if following < len(known):
            end = known[following]
            free = end + len(f"-----END {label}-----")
            yield Block(label, text[body:end], text[start:free])


def certificates_in(text: str) -> list[str]:
    """Returns the certificates of a PEM file, each with a line end; other parts, such as keys, are left out."""
    return [f"{block.text}\n" for block in pem_blocks(text, is_certificate, least=1)]


def is_certificate(label: str) -> bool:
    """Returns True for the label of a certificate."""
    return label == CERTIFICATE
