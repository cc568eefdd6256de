"""What a change changes, line by line. The values of Secrets are never shown, only that they change."""

import difflib
from hashlib import sha256

from setpoint.cli.printing.terminal import Meaning, Terminal, harmless
from setpoint.objects import yamltext
from setpoint.objects.tree import Object

_SIGNS: dict[str, Meaning] = {"+": "good", "-": "bad", "@": "quiet"}


def difference_lines(before: Object | None, after: Object | None, terminal: Terminal) -> list[str]:
    """The lines of a unified diff between two states of an object, without the head; none where nothing changes."""
    old, new = (_lines(tree) for tree in (before, after))
    lines = list(difflib.unified_diff(old, new, lineterm="", n=3))[2:]
    return [terminal.paint(harmless(line), _SIGNS.get(line[:1], "")) for line in lines]


def _lines(tree: Object | None) -> list[str]:
    return [] if tree is None else yamltext.dump(_masked(tree)).splitlines()


def _masked(tree: Object) -> Object:
    """A Secret with digests in the place of its values: they are the same where the values are."""
    if tree.get("kind") != "Secret":
        return tree
    masked = {
        name: {key: f"(hidden, {_digest(value)})" for key, value in tree[name].items()}
        for name in ("data", "stringData")
        if isinstance(tree.get(name), dict)
    }
    return {**tree, **masked}


def _digest(value: object) -> str:
    return sha256(str(value).encode()).hexdigest()[:6]
