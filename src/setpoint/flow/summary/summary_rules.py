"""The rules for summaries, as a table that can be extended for custom kinds.

    rules = builtin().extended('''
    kinds:
      Website.example.com:
      - when: status.url missing
        is: progressing
        state: publishing
        message: waiting for {spec.host}
    ''')

A table has four parts, evaluated in this order: `first` (rules for every object: removal, generations, the kstatus
conditions), `kinds` (by `Kind.group`), `conditions` (the meaning of well-known condition types) and `last` (phases). In
each part the first matching rule decides. Rules of an extension precede the existing ones, so that custom rules take
precedence. Tables are immutable: `extended` returns a new one.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from setpoint.flow.summary.expression import ExpressionError, Test, Text, compile_test, compile_text
from setpoint.objects import duration
from setpoint.objects.errors import BadRequest
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Json, Object

Verdict: TypeAlias = Literal["ready", "progressing", "failed"]
_SECOND = 1_000_000_000


class RuleError(ValueError):
    """An invalid table of rules."""


class _RuleEntry(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A rule as written in a table."""

    is_: Verdict = msgspec.field(name="is")
    when: str | list[str] = []
    state: str = ""
    reason: str = ""
    message: str = ""
    # The rule applies only after this time has passed since the time in the field `since`.
    after: str = ""
    since: str = ""


class _ConditionTypesEntry(msgspec.Struct, forbid_unknown_fields=True):
    """The meaning of some condition types, as written in a table."""

    # The condition types, each with the resulting state. Empty: all types.
    types: dict[str, str] = {}
    # Restricts the rule to conditions with this reason; then the verdict is `is` for any status.
    reason: str = ""
    is_: Verdict | None = msgspec.field(name="is", default=None)
    state: str = ""
    true: Verdict | None = msgspec.field(name="True", default=None)
    false: Verdict | None = msgspec.field(name="False", default=None)
    unknown: Verdict | None = msgspec.field(name="Unknown", default=None)


class _RuleTable(msgspec.Struct, forbid_unknown_fields=True):
    first: list[_RuleEntry] = []
    kinds: dict[str, list[_RuleEntry]] = {}
    conditions: list[_ConditionTypesEntry] = []
    last: list[_RuleEntry] = []


class SummaryRule(msgspec.Struct, frozen=True):
    """One compiled rule."""

    # The position in the table: `Deployment.apps[2]`.
    name: str
    verdict: Verdict
    tests: tuple[Test, ...]
    state: Text
    reason: Text
    message: Text
    # Seconds, and the field with the start time.
    after: float = 0
    since: Text | None = None


class ConditionTypes(msgspec.Struct, frozen=True):
    """The meaning of some condition types."""

    name: str
    types: Mapping[str, str]
    verdicts: Mapping[str, Verdict]
    reason: str = ""
    state: str = ""


class SummaryRules(msgspec.Struct, frozen=True):
    """A table of rules."""

    first: tuple[SummaryRule, ...] = ()
    kinds: Mapping[GroupKind, tuple[SummaryRule, ...]] = {}
    conditions: tuple[ConditionTypes, ...] = ()
    last: tuple[SummaryRule, ...] = ()

    def extended(self, table: str | Object) -> "SummaryRules":
        """Returns this table preceded by another, given as YAML or as a tree.

        Raises RuleError with the location of the mistake.
        """
        added = read(table)
        kinds = {kind: (*added.kinds.get(kind, ()), *self.kinds.get(kind, ())) for kind in {*added.kinds, *self.kinds}}
        return SummaryRules(
            (*added.first, *self.first), kinds, (*added.conditions, *self.conditions), (*added.last, *self.last)
        )


def read(table: str | Object) -> SummaryRules:
    """Reads a table from YAML or a tree. Raises RuleError."""
    try:
        tree = _from_yaml(table) if isinstance(table, str) else table
        given = msgspec.convert({} if tree is None else tree, _RuleTable)
    except (BadRequest, msgspec.ValidationError) as error:
        raise RuleError(f"invalid table of rules: {error}") from None
    kinds = {}
    for kind, rules in given.kinds.items():
        kinds[GroupKind.parse(kind)] = _rules(kind, rules)
    lists = (_types(f"conditions[{at}]", each) for at, each in enumerate(given.conditions))
    return SummaryRules(_rules("first", given.first), kinds, tuple(lists), _rules("last", given.last))


def _from_yaml(text: str) -> Json:
    from setpoint.objects import yamltext  # who has no rules of their own need not wait for it

    return yamltext.load(text).tree


def _rules(where: str, rules: Iterable[_RuleEntry]) -> tuple[SummaryRule, ...]:
    return tuple(_rule(f"{where}[{at}]", given) for at, given in enumerate(rules))


def _rule(name: str, entry: _RuleEntry) -> SummaryRule:
    when = [entry.when] if isinstance(entry.when, str) else entry.when
    if bool(entry.after) is not bool(entry.since):
        raise RuleError(f"{name}: `after` and `since` must be given together")
    try:
        return SummaryRule(
            name,
            entry.is_,
            tuple(map(compile_test, when)),
            compile_text(entry.state),
            compile_text(entry.reason),
            compile_text(entry.message),
            duration.parse(entry.after) / _SECOND if entry.after else 0,
            compile_text(f"{{{entry.since}}}") if entry.since else None,
        )
    except (ExpressionError, ValueError) as error:
        raise RuleError(f"{name}: {error}") from None


def _types(name: str, entry: _ConditionTypesEntry) -> ConditionTypes:
    if bool(entry.reason) is not bool(entry.is_):
        raise RuleError(f"{name}: `reason` and `is` must be given together")
    stated = {"True": entry.true, "False": entry.false, "Unknown": entry.unknown}
    verdicts: dict[str, Verdict] = {}
    for status, verdict in stated.items():
        if (found := entry.is_ or verdict) is not None:
            verdicts[status] = found
    if not verdicts or not (entry.types or entry.reason):
        raise RuleError(f"{name}: specify `types`, and a verdict for `True`, `False` or `Unknown`")
    return ConditionTypes(name, entry.types, verdicts, entry.reason, entry.state)


@lru_cache(maxsize=1)
def builtin() -> SummaryRules:
    """Returns the rules for the kinds of Kubernetes, and for custom resources that follow the conventions.

    The rules are written in `rules.yaml` and shipped as JSON, which loads faster (`tools.rule_tables`).
    """
    table: Object = msgspec.json.decode(Path(__file__).with_name("rules.json").read_bytes())
    return read(table)
