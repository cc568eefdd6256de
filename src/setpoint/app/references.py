"""References in the texts of an app file: `${services.db.url}`, `${port.http}`, `${env.NAME:-default}`, `${secret.db}`.

`$$` is a dollar. A dollar before anything else stays as it is: a shell may make something of it.
"""

import re
from typing import NamedTuple

_TOKEN = re.compile(r"\$\$|\$\{([^{}]*)\}|\$\{")
_FORM = re.compile(r"([A-Za-z_][\w-]*(?:\.[\w-]+)*)(?::-(.*))?", re.DOTALL)


class BadReference(ValueError):  # noqa: N818 - Python has a ReferenceError for something else
    """A text has a reference that cannot be read, or that leads nowhere; says what to write."""


class Reference(NamedTuple):
    """What is referred to, step by step, and the value to take where that is not set."""

    path: tuple[str, ...]
    default: str | None = None

    def __str__(self) -> str:
        return f"${{{'.'.join(self.path)}}}"


def parse(text: str) -> list[str | Reference]:
    """The texts and references of a text, in order. Raises BadReference."""
    found: list[str | Reference] = []
    at = 0
    for token in _TOKEN.finditer(text):
        found.append(text[at : token.start()])
        at = token.end()
        if token.group() == "$$":
            found.append("$")
        elif token[1] is None:
            raise BadReference(f"{text[token.start() : token.start() + 20]!r} is not closed; write }} at its end")
        else:
            found.append(_reference(token[1]))
    found.append(text[at:])
    return _joined(found)


def _reference(inner: str) -> Reference:
    form = _FORM.fullmatch(inner.strip())
    if form is None:
        message = f"${{{inner}}} is no reference; write ${{services.NAME.url}}, ${{port.NAME}}, ${{env.NAME}}, "
        raise BadReference(f"{message}${{env.NAME:-default}} or ${{secret.NAME}}, and $${{...}} for the text itself")
    return Reference(tuple(form[1].split(".")), form[2])


def _joined(parts: list[str | Reference]) -> list[str | Reference]:
    """Without empty texts, and with texts that follow each other as one."""
    found: list[str | Reference] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return found


def written(text: str) -> str:
    """The text as it stands in a file where it is meant as it is: its dollars doubled before what could be mistaken."""
    return re.sub(r"\$(?=[${])", "$$", text)
