"""Admission webhooks: the webhooks to call, and the requests they match."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from setpoint.objects import labels
from setpoint.objects.field import FieldError, duplicate, index, invalid, not_supported, required
from setpoint.objects.names import dns1035_label, dns1123_subdomain
from setpoint.objects.tree import Object
from setpoint.schema.crd.conversion import validate_client_config
from setpoint.schema.crd.definition import WebhookClientConfig
from setpoint.server.registry.kinds.admissionregistration.match_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    default_match,
    default_rules,
    validate_conditions,
    validate_rule,
)
from setpoint.server.registry.kinds.base_strategy import ValidatingStrategy
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, count
from setpoint.server.registry.kinds.validation.values import enum, repeats, wrong
from setpoint.server.registry.strategy import Column

_REVIEW_VERSIONS = ("v1", "v1beta1")
_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_STATUS: Sequence[str] = ()


class ValidatingWebhookConfigurationStrategy(ValidatingStrategy):
    without_domains = ("",)
    name_on_update = "before"
    keeps_generation = True
    counts_empty_in = "webhooks"
    allows_unconditional_update = False
    status_fields = _STATUS
    columns = (NAME, Column("Webhooks", count("webhooks"), "integer"), AGE)
    mutates: ClassVar[bool] = False

    def default(self, tree: Object) -> None:
        for hook in tree.get("webhooks") or ():
            hook.setdefault("failurePolicy", "Fail")
            default_match(hook)
            hook.setdefault("timeoutSeconds", 10)
            if self.mutates:
                hook.setdefault("reinvocationPolicy", "Never")
            default_rules(hook.get("rules") or ())
            service = (hook.get("clientConfig") or {}).get("service")
            if service is not None:
                service.setdefault("port", 443)

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        hooks, before = tree.get("webhooks") or [], (old or {}).get("webhooks") or []
        # Existing values remain allowed; otherwise the configuration could not be changed any more.
        no_effects = all(hook.get("sideEffects") in _NO_SIDE_EFFECTS for hook in before)
        known_versions = all(
            set(hook.get("admissionReviewVersions") or ()) & set(_REVIEW_VERSIONS)
            for hook in before
            if hook.get("admissionReviewVersions")
        )
        unique = len({hook.get("name") for hook in before}) == len(before)
        same = old is not None and _conditions(hooks) == _conditions(before)
        found: list[FieldError] = []
        names: set[str] = set()
        for position, hook in enumerate(hooks):
            path, name = index("webhooks", position), hook.get("name") or ""
            found += self._check_hook(hook, path, _NO_SIDE_EFFECTS if no_effects else _SIDE_EFFECTS)
            if not same:
                conditions = hook.get("matchConditions") or []
                found += validate_conditions(conditions, f"{path}.matchConditions", params=False)
            versions = hook.get("admissionReviewVersions") or []
            found += _validate_versions(versions, f"{path}.admissionReviewVersions", known_versions)
            if unique and name and name in names:
                found.append(duplicate(f"{path}.name", name))
            names.add(name)
        return found

    def _check_hook(self, hook: Object, path: str, effects: Sequence[str]) -> list[FieldError]:
        found = validate_qualified_name(hook.get("name") or "", f"{path}.name")
        for position, rule in enumerate(hook.get("rules") or ()):
            found += validate_rule(rule, index(f"{path}.rules", position))
        for name, supported in (("failurePolicy", FAILURE_POLICIES), ("matchPolicy", MATCH_POLICIES)):
            if hook.get(name) is not None:
                found += enum(hook[name], f"{path}.{name}", supported, needed=False)
        side_effects, seconds = hook.get("sideEffects"), hook.get("timeoutSeconds")
        if not side_effects:
            found.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(effects)}"))
        elif side_effects not in effects:
            found.append(not_supported(f"{path}.sideEffects", side_effects, effects))
        if seconds is not None and not 1 <= seconds <= 30:
            why = "the timeout value must be between 1 and 30 seconds"
            found.append(invalid(f"{path}.timeoutSeconds", seconds, why))
        for name in ("namespaceSelector", "objectSelector"):
            found += labels.validate_object(hook.get(name), f"{path}.{name}")
        if self.mutates and hook.get("reinvocationPolicy") is not None:
            place = f"{path}.reinvocationPolicy"
            found += enum(hook["reinvocationPolicy"], place, REINVOCATION_POLICIES, needed=False)
        config = msgspec.convert(hook.get("clientConfig") or {}, WebhookClientConfig, strict=False)
        return found + validate_client_config(config, f"{path}.clientConfig", any_ca_bundle=True)


class MutatingWebhookConfigurationStrategy(ValidatingWebhookConfigurationStrategy):
    mutates = True


def _conditions(hooks: list[Object]) -> list[list[Object]]:
    return [hook.get("matchConditions") or [] for hook in hooks]


def validate_qualified_name(name: str, path: str) -> list[FieldError]:
    """Validates a qualified name: a domain of at least three parts."""
    if not name:
        return [required(path)]
    problems = dns1123_subdomain(name)
    if problems:
        return [invalid(path, name, ",".join(problems))]
    if name.count(".") < 2:
        return [invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def _validate_versions(versions: list[str], path: str, must_be_known: bool) -> list[FieldError]:
    if not versions:
        return [required(path, f"must specify one of {', '.join(_REVIEW_VERSIONS)}")]
    found: list[FieldError] = []
    for position, (version, again) in enumerate(zip(versions, repeats(versions), strict=True)):
        if again:
            found.append(invalid(index(path, position), version, "duplicate version"))
        else:
            found += wrong(index(path, position), version, dns1035_label(version))
    if must_be_known and not set(versions) & set(_REVIEW_VERSIONS):
        found.append(invalid(path, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"))
    return found
