"""The parameters of operations. Those of the query are the fields of the options types of Kubernetes, as data that
`tools/openapi_texts.py` generates."""

import importlib.resources
import lzma
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import msgspec


class Parameter(NamedTuple):
    """One parameter of the path or the query."""

    name: str
    type: str
    description: str
    place: str = "query"


PRETTY = Parameter(
    "pretty",
    "string",
    "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or "
    "command-line HTTP tool (curl and wget).",
)
NAMESPACE = Parameter("namespace", "string", "object name and auth scope, such as for teams and projects", "path")
PATH = Parameter("path", "string", "path to the resource", "path")


def named(kind: str) -> Parameter:
    """Returns the parameter of an object's name."""
    return Parameter("name", "string", f"name of the {kind}", "path")


@cache
def options(type_name: str, *omitted: str) -> Sequence[Parameter]:
    """Returns the parameters of an options type, without the omitted ones."""
    fields = _data()[type_name].items()
    return tuple(Parameter(name, kind, text) for name, (kind, text) in fields if name not in omitted)


@cache
def _data() -> Mapping[str, Mapping[str, tuple[str, str]]]:
    data = importlib.resources.files(__package__).joinpath("parameters.json.xz").read_bytes()
    return msgspec.json.decode(lzma.decompress(data), type=dict[str, dict[str, tuple[str, str]]])
