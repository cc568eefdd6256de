"""The summary of an object: its state in one word, a verdict, and the reason.

    found = summarize(deployment, now=clock.now())
    if not found.ready: print(found)    # updating [progressing] 1 of 3 replicas are updated

The summary is a pure function of the object, the rules (`flow.summary.summary_rules`) and the time, for any JSON.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from setpoint.client.kinds import AnyObject
from setpoint.flow.paths import path
from setpoint.flow.summary.summary_rules import SummaryRule, SummaryRules, Verdict, builtin
from setpoint.objects.gvk import GroupKind
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Json, Object

ACTIVE, REMOVING, UNKNOWN = "active", "removing", "unknown"
# The verdicts in order of precedence.
_WEIGHT: tuple[Verdict, ...] = ("failed", "progressing", "ready")


class Summary(msgspec.Struct, frozen=True):
    """The state of an object."""

    verdict: Verdict
    # One lowercase word: `active`, `updating`, `removing`.
    state: str
    # In CamelCase, as in conditions; empty if unknown.
    reason: str = ""
    messages: tuple[str, ...] = ()
    # True if the state is changing. A stuck transition has failed as well.
    transitioning: bool = False
    # The deciding rule, by its position in the table: `Deployment.apps[2]`.
    rule: str = ""

    @property
    def ready(self) -> bool:
        return self.verdict == "ready"

    @property
    def error(self) -> bool:
        return self.verdict == "failed"

    @property
    def message(self) -> str:
        return "; ".join(self.messages)

    def to_json(self) -> Object:
        """Returns the summary as a tree, with the field names of wrangler."""
        return {
            "state": self.state,
            "ready": self.ready,
            "transitioning": self.transitioning,
            "error": self.error,
            "reason": self.reason,
            "message": self.message,
        }

    def __str__(self) -> str:
        text = self.state if self.ready else f"{self.state} [{self.verdict}]"
        return " ".join(filter(None, (text, self.message or self.reason)))


def summarize(
    obj: AnyObject, *, rules: SummaryRules | None = None, now: datetime | None = None, observes_generation: bool = False
) -> Summary:
    """Returns the state of an object, by the built-in rules unless others are given. Never raises, for any object.

    Without `now` (with a time zone), no timeout applies: states that fail only after a while (an unschedulable pod, a
    stuck removal) count as progressing. `observes_generation` means that the kind's controller always reports
    `status.observedGeneration`, so that an object without the field was not processed yet.

        summarize(deployment, now=datetime.now(UTC)).ready
    """
    tree: Json = obj.to_json() if hasattr(obj, "to_json") else obj
    if not isinstance(tree, dict):
        return Summary("failed", UNKNOWN, "NotAnObject", ("this is not an object of the API",))
    rules = rules or builtin()
    conditions = _conditions(tree)
    seen = {**tree, "conditions": {condition["type"]: condition for condition in reversed(conditions)}}
    found = (
        _by_rules(rules.first, seen, now)
        or _unseen(seen, observes_generation)
        or _by_rules(rules.kinds.get(_kind(tree), ()), seen, now)
        or _by_conditions(rules, conditions, tree)
        or _by_rules(rules.last, seen, now)
        or Summary("ready", ACTIVE)
    )
    return _with_reported_state(found, tree)


def _kind(tree: Object) -> GroupKind:
    api_version, kind = tree.get("apiVersion"), tree.get("kind")
    group, slash, _ = api_version.partition("/") if isinstance(api_version, str) else ("", "", "")
    return GroupKind(group if slash else "", kind if isinstance(kind, str) else "")


def _conditions(tree: Object) -> list[Object]:
    """Returns the conditions in order; of several with the same type, the first counts."""
    status = tree.get("status")
    listed = status.get("conditions") if isinstance(status, dict) else None
    if not isinstance(listed, list):
        return []
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("type"), str)]


def _unseen(seen: Object, observes_generation: bool) -> Summary | None:
    status = seen.get("status")
    if not observes_generation or (isinstance(status, dict) and status.get("observedGeneration") is not None):
        return None
    return _made("progressing", "pending", "NotObserved", ["no controller has seen this object yet"], "")


def _by_rules(rules: Sequence[SummaryRule], seen: Object, now: datetime | None) -> Summary | None:
    for rule in rules:
        if all(test(seen) for test in rule.tests) and _is_due(rule, seen, now):
            return _made(rule.verdict, rule.state(seen), rule.reason(seen), [rule.message(seen)], rule.name)
    return None


def _is_due(rule: SummaryRule, seen: Object, now: datetime | None) -> bool:
    if rule.since is None:
        return True
    if now is None:
        return False
    try:
        return (now - parse_time(rule.since(seen))).total_seconds() >= rule.after
    except (ValueError, OverflowError):
        return False


def _by_conditions(rules: SummaryRules, conditions: Iterable[Object], tree: Object) -> Summary | None:
    """Returns the summary by well-known condition types. In one list, failed outweighs progressing, and that ready."""
    generation = path("metadata.generation").find(tree)
    for listed in rules.conditions:
        found: dict[Verdict, list[Object]] = {}
        for condition in conditions:
            status = condition.get("status")
            told_as = listed.verdicts.get(status) if isinstance(status, str) else None
            if told_as is None or (listed.types and condition["type"] not in listed.types):
                continue
            if listed.reason and condition.get("reason") != listed.reason:
                continue
            found.setdefault(told_as, []).append(condition)
        for verdict in _WEIGHT:
            if conditions_of_verdict := found.get(verdict):
                first = conditions_of_verdict[0]
                if _is_older(first, generation):
                    message = f"{first['type']} is of an older generation"
                    return _made("progressing", "updating", "LatestGenerationNotObserved", [message], listed.name)
                state = listed.types.get(first["type"]) or listed.state
                reason = _text(first.get("reason"))
                if state == "REASON":
                    state = reason or first["type"]
                if verdict == "ready":
                    state = ACTIVE
                return _made(
                    verdict, state, reason, [_text(each.get("message")) for each in conditions_of_verdict], listed.name
                )
    return None


def _is_older(condition: Object, generation: list[Any]) -> bool:
    observed = condition.get("observedGeneration")
    return isinstance(observed, int) and any(isinstance(each, int) and observed < each for each in generation)


def _made(verdict: Verdict, state: str, reason: str, messages: Iterable[str], rule: str) -> Summary:
    stated = state.lower() or (ACTIVE if verdict == "ready" else verdict)
    unique = tuple(dict.fromkeys(filter(None, map(str.strip, messages))))
    # A removal that takes too long has failed, and is still a removal.
    transitioning = verdict == "progressing" or (verdict == "failed" and stated == REMOVING)
    return Summary(verdict, stated, reason, unique, transitioning, rule)


def _with_reported_state(found: Summary, tree: Object) -> Summary:
    """Applies the state that an object reports itself (`status.display`, `status.summary`).

    Ignored if the object is being deleted, or its status is of an older generation.
    """
    status = tree.get("status")
    if not isinstance(status, dict) or (found.transitioning and found.rule.startswith("first[")):
        return found
    for name in ("display", "summary"):
        value = status.get(name)
        if not isinstance(value, dict):
            continue
        state, error, moving = _text(value.get("state")), value.get("error"), value.get("transitioning")
        if not state and not isinstance(error, bool) and not isinstance(moving, bool):
            continue
        verdict = found.verdict
        if isinstance(error, bool) or isinstance(moving, bool):
            verdict = "failed" if error is True else "progressing" if moving is True else "ready"
        messages = (_text(value.get("message")), *found.messages)
        return _made(verdict, state or found.state, found.reason, messages, f"status.{name}")
    return found


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
