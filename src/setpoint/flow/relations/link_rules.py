"""The rules for references between objects, as a table that can be extended for custom kinds.

    rules = relation_rules().extended('''
    links:
    - {of: Website.example.com, at: spec.tls.secretName, to: v1/Secret, as: uses}
    - {of: Website.example.com, at: spec.backendRef, name: name, kind: kind, apiVersion: apiVersion, as: routes}
    ''')

A link has a source (`of`: one or more of `Kind.group`, or a shape), a path, and a target: an object of the kind `to`,
or of the kind in the fields `kind` and `apiVersion` or `apiGroup` below that path. The name is the value itself or the
field `name` below it; the namespace is that of the object, or the field `namespace`. With `selector` the value selects
by labels (`labels`: a map, `object`: a LabelSelector). Tables are immutable.
"""

import importlib.resources
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import msgspec

from setpoint.flow.paths import Path, PathError
from setpoint.objects import yamltext
from setpoint.objects.errors import BadRequest
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Object


class RuleError(ValueError):
    """An invalid table of rules.

    try:
        rules = relation_rules().extended(text)
    except RuleError as error:
        print(error)
    """


class _LinkEntry(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A link as written in a table."""

    of: str | list[str]
    at: str
    verb: str = msgspec.field(name="as")
    to: str = ""
    name: str = ""
    namespace: str = ""
    kind: str = ""
    api_version: str = ""
    api_group: str = ""
    selector: Literal["", "labels", "object"] = ""


class _LinkTable(msgspec.Struct, forbid_unknown_fields=True):
    verbs: dict[str, str] = {}
    cluster: list[str] = []
    shapes: dict[str, dict[str, str]] = {}
    links: list[_LinkEntry] = []


class LinkRule(msgspec.Struct, frozen=True):
    """A compiled rule for references of one kind."""

    path: Path
    verb: str
    to: GroupKind | None
    name: Path
    namespace: Path | None
    kind: Path | None
    # The field of the group; of an `apiVersion` the part before the slash.
    group: Path | None
    group_is_version: bool
    selector: str


class LinkRules(msgspec.Struct, frozen=True):
    """A table of rules."""

    links: Mapping[GroupKind, tuple[LinkRule, ...]] = {}
    # The name of each verb in the opposite direction.
    verbs: Mapping[str, str] = {}
    cluster: frozenset[GroupKind] = frozenset()
    _tables: tuple[_LinkTable, ...] = ()

    def extended(self, table: str | Object) -> "LinkRules":
        """Returns this table extended by another, given as YAML or as a tree.

        A kind that joins a shape gets the links of the shape, including those of the first table. Raises RuleError with
        the location of the mistake.
        """
        return _made((*self._tables, _read(table)))


def _made(tables: tuple[_LinkTable, ...]) -> LinkRules:
    shapes: dict[str, dict[str, str]] = {}
    verbs: dict[str, str] = {}
    cluster: set[GroupKind] = set()
    for table in tables:
        verbs |= table.verbs
        cluster.update(map(GroupKind.parse, table.cluster))
        for name, places in table.shapes.items():
            shapes.setdefault(name, {}).update(places)
    links: dict[GroupKind, list[LinkRule]] = {}
    for table in tables:
        for at, link in enumerate(table.links):
            for kind, path in _places(link, shapes):
                links.setdefault(GroupKind.parse(kind), []).append(_rule(f"links[{at}]", link, path))
    return LinkRules({kind: tuple(rules) for kind, rules in links.items()}, verbs, frozenset(cluster), tables)


def _read(table: str | Object) -> _LinkTable:
    try:
        tree = yamltext.load(table).tree if isinstance(table, str) else table
        return msgspec.convert({} if tree is None else tree, _LinkTable)
    except (BadRequest, msgspec.ValidationError) as error:
        raise RuleError(f"invalid table of links: {error}") from None


def _places(link: _LinkEntry, shapes: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """Returns the kinds of a link, with the path in each."""
    found: list[tuple[str, str]] = []
    for of in [link.of] if isinstance(link.of, str) else link.of:
        if of in shapes:
            found += [(kind, f"{start}.{link.at}") for kind, start in shapes[of].items()]
        else:
            found.append((of, link.at))
    return found


def _rule(where: str, link: _LinkEntry, path: str) -> LinkRule:
    if bool(link.to) is bool(link.kind):
        raise RuleError(f"{where}: specify the target with either `to` or `kind`")
    group = link.api_version or link.api_group
    try:
        return LinkRule(
            Path(path),
            link.verb,
            _group_kind(where, link.to) if link.to else None,
            Path(link.name),
            Path(link.namespace) if link.namespace else None,
            Path(link.kind) if link.kind else None,
            Path(group) if group else None,
            bool(link.api_version),
            link.selector,
        )
    except PathError as error:
        raise RuleError(f"{where}: {error}") from None


def _group_kind(where: str, text: str) -> GroupKind:
    api_version, slash, kind = text.rpartition("/")
    if not slash or not kind or not api_version:
        raise RuleError(f"{where}: invalid kind {text!r}: expected VERSION/Kind or GROUP/VERSION/Kind")
    return GroupKind(api_version.rpartition("/")[0], kind)


@lru_cache(maxsize=1)
def relation_rules() -> LinkRules:
    """Returns the built-in rules for the kinds of Kubernetes.

    links_of(website, relation_rules().extended(table))
    """
    return LinkRules().extended(
        importlib.resources.files(__package__).joinpath("rules.yaml").read_text(encoding="utf-8")
    )
