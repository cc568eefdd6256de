"""The option `-f`: reads objects from files, directories, URLs and stdin."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from setpoint.cli.support.errors import NOT_FOUND, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.objects.tree import Object

_URLS = ("http://", "https://")
# The maximum size of a download.
_MOST_BYTES = 64 << 20
_URL_SECONDS = 30.0


def read_manifests(places: tuple[str, ...], *, recursive: bool = False) -> "list[Object]":
    """Returns the objects of all places in order. Raises Failure."""
    if not places:
        raise Failure("no files specified: use -f FILE, -f DIRECTORY, -f URL, or -f - for standard input", USAGE)
    found = [obj for place in places for obj in _read(place, recursive)]
    if not found:
        raise Failure(f"no objects found in {', '.join(places)}")
    return found


def _read(place: str, recursive: bool) -> "list[Object]":
    from setpoint.client.manifests import SUFFIXES, load_yaml, parse_yaml

    try:
        if place == "-":
            return parse_yaml(sys.stdin.buffer.read())
        if place.startswith(_URLS):
            return parse_yaml(_fetch(place))
        path = Path(place)
        if not path.is_dir():
            return load_yaml(path)
        below = path.rglob("*") if recursive else path.iterdir()
        files = sorted(each for each in below if each.suffix in SUFFIXES and each.is_file())
        return [obj for file in files for obj in load_yaml(file)]
    except FileNotFoundError:
        raise Failure(f"file {place} not found", NOT_FOUND) from None
    except OSError as error:
        raise Failure(f"cannot read {place}: {error.strerror or error}") from None
    except ValueError as error:
        name = "standard input" if place == "-" else place
        text = str(error)
        raise Failure(text if text.startswith(place) else f"{name}: {text}") from None


def _fetch(url: str) -> bytes:
    from urllib.error import URLError
    from urllib.request import urlopen

    if not urlsplit(url).hostname:
        raise Failure(f"{url} has no host", USAGE)
    try:
        with urlopen(url, timeout=_URL_SECONDS) as answer:
            data: bytes = answer.read(_MOST_BYTES + 1)
    except URLError as error:
        raise Failure(f"cannot download {url}: {error.reason}") from None
    if len(data) > _MOST_BYTES:
        raise Failure(f"{url} is larger than {_MOST_BYTES >> 20} MiB")
    return data
