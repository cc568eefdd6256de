"""References in the texts of an app file: `${services.db.url}`, `${port.http}`, `${env.NAME:-default}`, `${secret.db}`.

`$$` is a literal dollar. A dollar before any other character is unchanged: a shell may interpret it.
"""

import re
from typing import NamedTuple

_TOKEN = re.compile(r"\$\$|\$\{([^{}]*)\}|\$\{")
_FORM = re.compile(r"([A-Za-z_][\w-]*(?:\.[\w-]+)*)(?::-(.*))?", re.DOTALL)


class BadReference(ValueError):  # noqa: N818 - Python has a ReferenceError with another meaning
    """An invalid or unresolvable reference. The message says how to write the reference."""


class ValueReference(NamedTuple):
    """A reference: its path, and the default value."""

    path: tuple[str, ...]
    default: str | None = None

    def __str__(self) -> str:
        return f"${{{'.'.join(self.path)}}}"


def parse(text: str) -> list[str | ValueReference]:
    """Splits a text into plain texts and references, in order. Raises BadReference."""
    found: list[str | ValueReference] = []
    at = 0
    for token in _TOKEN.finditer(text):
        found.append(text[at : token.start()])
        at = token.end()
        if token.group() == "$$":
            found.append("$")
        elif token[1] is None:
            raise BadReference(f"{text[token.start() : token.start() + 20]!r} is not closed; add }} at the end")
        else:
            found.append(_reference(token[1]))
    found.append(text[at:])
    return _joined(found)


def _reference(inner: str) -> ValueReference:
    form = _FORM.fullmatch(inner.strip())
    if form is None:
        message = f"invalid reference ${{{inner}}}: expected ${{services.NAME.url}}, ${{port.NAME}}, ${{env.NAME}}, "
        raise BadReference(f"{message}${{env.NAME:-default}} or ${{secret.NAME}}, or $${{...}} for the literal text")
    return ValueReference(tuple(form[1].split(".")), form[2])


def _joined(parts: list[str | ValueReference]) -> list[str | ValueReference]:
    """Removes empty texts, and joins adjacent texts."""
    found: list[str | ValueReference] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return found


def written(text: str) -> str:
    """Escapes a text for an app file: doubles the dollars that would begin a reference."""
    return re.sub(r"\$(?=[${])", "$$", text)
