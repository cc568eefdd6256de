"""Hints about the cause of a problem and the solution, from a table of rules and from the services. Has no side
effects.

The rules are in `hints.yaml`, and are shipped as JSON, which loads faster (`tools.rule_tables`).
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from string import Formatter

import msgspec

from setpoint.objects.tree import Json, Object
from setpoint.past.secret_mask import masked_text
from setpoint.past.why.controller_runs import UNSEEN, failing
from setpoint.past.why.facts import Facts, RelatedObject

_MOST = 3
_refused = re.compile(
    r"refused.*?\b(?:port\s+|:)(\d{2,5})\b|\b(?:port\s+|:)(\d{2,5})\b.*?refused", re.IGNORECASE
).search


class _Rule(msgspec.Struct, forbid_unknown_fields=True):
    """A rule of the table."""

    hint: str
    kinds: list[str] = []
    reasons: list[str] = []
    says: str = ""
    holds: str = ""


@lru_cache(maxsize=1)
def _rules() -> list[_Rule]:
    return msgspec.json.decode(Path(__file__).with_name("hints.json").read_bytes(), type=list[_Rule])


def hints(facts: Facts) -> tuple[str, ...]:
    """Returns the hints, the most certain first."""
    found = [*_wrong_ports(facts), *_next_objects(facts), *filter(None, (_of_rule(rule, facts) for rule in _rules()))]
    return tuple(masked_text(text) for text in dict.fromkeys(found))[:_MOST]


def _next_objects(facts: Facts) -> Iterator[str]:
    """Yields the next objects to examine: the last one of a chain of dependencies, and dependents."""
    for first in facts.waits:
        wait = first
        while wait.deeper:
            wait = wait.deeper[0]
        if wait.why == "it does not exist":
            yield f"{wait.kind} {wait.name} does not exist: create the object, or correct the name in the dependency"
        else:
            yield f"next: setpoint why {wait.kind.lower()}/{wait.name}"
    for each in facts.owned:
        if each.summary is not None and (each.summary.error or each.summary.state == "removing"):
            namespace = f" -n {each.place.namespace}" if each.place.namespace not in ("", "default") else ""
            yield f"next: setpoint why {each.place.gvk.kind.lower()}/{each.place.name}{namespace}"
            return


def _of_rule(rule: _Rule, facts: Facts) -> str:
    """Returns the hint of a rule, or an empty string if the rule does not match."""
    if rule.kinds and facts.place.gvk.kind not in rule.kinds:
        return ""
    if rule.reasons and not _reasons(facts) & set(rule.reasons):
        return ""
    if rule.holds and not _field(facts.tree or {}, rule.holds):
        return ""
    values: dict[str, str] = {"name": facts.place.name}
    if rule.says:
        match = next((found for text in _texts(facts) if (found := re.search(rule.says, text))), None)
        if match is None:
            return ""
        values |= {key: value or "" for key, value in match.groupdict().items()}
    return Formatter().vformat(rule.hint, (), values)


def _field(tree: Object, path: str) -> Json:
    value: Json = tree
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _reasons(facts: Facts) -> set[str]:
    found = set(_reasons_of(facts.tree, facts.summary.reason if facts.summary else ""))
    if any(failing(facts)):
        found -= UNSEEN  # the change was observed, but its controller fails
    found |= {event.get("reason", "") for event in facts.events if event.get("type") == "Warning"}
    for each in facts.owned:
        found |= set(_reasons_of_related(each))
    return found


def _reasons_of_related(each: RelatedObject) -> Iterator[str]:
    if each.summary is not None and not each.summary.ready:
        yield each.summary.reason


def _reasons_of(tree: Object | None, reason: str) -> Iterator[str]:
    yield reason
    for each in _conditions(tree):
        if each.get("status") != "True" or each.get("type") not in ("Ready", "Started", "Available"):
            yield each.get("reason", "")


def _conditions(tree: Object | None) -> list[Object]:
    listed = ((tree or {}).get("status") or {}).get("conditions") or ()
    return [each for each in listed if isinstance(each, dict)]


def _texts(facts: Facts) -> Iterator[str]:
    """Yields all texts about the object."""
    for each in _conditions(facts.tree):
        yield str(each.get("message", ""))
    if facts.summary is not None:
        yield facts.summary.message
    yield from reversed(facts.output)
    for event in facts.events:
        yield str(event.get("message") or event.get("note") or "")
    for child in facts.owned:
        if child.summary is not None and not child.summary.ready:
            yield child.summary.message


def _wrong_ports(facts: Facts) -> Iterator[str]:
    """Yields a hint if a connection was refused at a port in a variable, while the service has another port."""
    for line in _texts(facts):
        if (match := _refused(line)) is None:
            continue
        port = match[1] or match[2]
        for name, value in _variables(facts.tree or {}):
            if not re.search(rf"(?<!\d){port}(?!\d)", value):
                continue
            meant = _meant(name, value, facts)
            if meant and str(facts.ports[meant]) != port:
                yield f"{name} has port {port}, but Service {meant} has {facts.ports[meant]}: use its address"
                return


def _variables(tree: Object) -> Iterator[tuple[str, str]]:
    status, spec = tree.get("status") or {}, tree.get("spec") or {}
    for each in (*(spec.get("env") or ()), *(status.get("effectiveEnv") or ())):
        if isinstance(each, dict):
            yield str(each.get("name", "")), str(each.get("value") or "")


def _meant(variable: str, value: str, facts: Facts) -> str:
    """Returns the service that a variable refers to: by name, or the only other service."""
    words = set(re.split(r"[^a-z0-9]+", f"{variable} {value}".lower()))
    named = [name for name in facts.ports if set(re.split(r"[^a-z0-9]+", name.lower())) & words]
    if named:
        return named[0]
    others = [name for name in facts.ports if name != facts.place.name]
    return others[0] if len(others) == 1 else ""
