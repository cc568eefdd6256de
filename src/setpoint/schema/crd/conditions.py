"""The conditions of a definition and the other parts of its status, as functions of the definition and the time.

Each function takes a definition's tree and returns a new one, or the same one without a change, so that a caller writes
only changes. The transition time changes only with the status of the condition.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from setpoint.objects import conditions
from setpoint.objects.clock import Clock
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.schema.crd.approval import approval, is_protected
from setpoint.schema.crd.conversion import ca_bundle_of, ca_bundle_problem
from setpoint.schema.crd.definition import FINALIZER, CustomResourceDefinition, CustomResourceDefinitionCondition
from setpoint.schema.crd.names import NameRegistry, accept_names

NAMES_ACCEPTED = "NamesAccepted"
ESTABLISHED = "Established"
TERMINATING = "Terminating"
API_APPROVAL = "KubernetesAPIApprovalPolicyConformant"


class Verdict(NamedTuple):
    """A condition without its time."""

    type: str
    status: str
    reason: str
    message: str


NO_CONFLICTS = Verdict(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
NOT_ACCEPTED = Verdict(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")
INSTALLING = Verdict(ESTABLISHED, "False", "Installing", "the initial names have been accepted")
INITIAL_NAMES_ACCEPTED = Verdict(ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted")
INVALID_CA_BUNDLE = Verdict(ESTABLISHED, "False", "InvalidCABundle", "The conversion webhook CABundle is invalid")
DELETION_PENDING = Verdict(
    TERMINATING,
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
DELETION_IN_PROGRESS = Verdict(
    TERMINATING, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
)
DELETION_COMPLETED = Verdict(TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances")
NEVER_ESTABLISHED = Verdict(TERMINATING, "False", "NeverEstablished", "resource was never established")


def set_condition(tree: Object, verdict: Verdict, clock: Clock) -> Object:
    """Returns the definition with this condition."""
    crd = CustomResourceDefinition.parse(tree)
    return tree if _has_status(crd.condition(verdict.type), verdict) else _with(tree, crd, clock, verdict)


def update_name_conditions(tree: Object, others: Iterable[Object] | NameRegistry, clock: Clock) -> Object:
    """Returns the definition with its accepted names, and with the matching conditions NamesAccepted and Established.

    A definition with all requested names becomes Installing; `establish` completes the transition. An Established
    definition stays Established, whatever happens to its names.
    """
    crd = CustomResourceDefinition.parse(tree)
    if crd.spec.names == crd.status.accepted_names:
        return tree
    held = others if isinstance(others, NameRegistry) else map(CustomResourceDefinition.parse, others)
    accepted = accept_names(crd, held)
    verdict = NO_CONFLICTS
    if not accepted.complete:
        verdict = Verdict(NAMES_ACCEPTED, "False", accepted.reason, accepted.message)
    if accepted.names == crd.status.accepted_names and _has_status(crd.condition(NAMES_ACCEPTED), verdict):
        return tree
    crd.status.accepted_names = accepted.names
    if not crd.is_true(ESTABLISHED) and accepted.complete:
        return _with(tree, crd, clock, verdict, INSTALLING)
    if crd.condition(ESTABLISHED) is None:
        return _with(tree, crd, clock, verdict, NOT_ACCEPTED)
    return _with(tree, crd, clock, verdict)


def establish(tree: Object, clock: Clock) -> Object:
    """Returns the definition as Established, if its names are accepted (unless established already)."""
    crd = CustomResourceDefinition.parse(tree)
    if not crd.is_true(NAMES_ACCEPTED) or crd.is_true(ESTABLISHED):
        return tree
    bundle = ca_bundle_of(crd.spec.conversion)
    broken = bool(bundle) and ca_bundle_problem(bundle) is not None
    return set_condition(tree, INVALID_CA_BUNDLE if broken else INITIAL_NAMES_ACCEPTED, clock)


def judge_approval(tree: Object, clock: Clock) -> Object:
    """Returns the definition with its approval condition, which only groups of the Kubernetes project have."""
    crd = CustomResourceDefinition.parse(tree)
    if not is_protected(crd.spec.group):
        return tree
    state, message = approval(crd.annotations)
    return set_condition(tree, Verdict(API_APPROVAL, state.status, state.reason, message), clock)


def mark_for_deletion(tree: Object, clock: Clock) -> Object:
    """Returns the definition after the first delete request: with a timestamp, the cleanup finalizer, Terminating."""
    crd = CustomResourceDefinition.parse(tree)
    finalizers = crd.metadata.get("finalizers") or []
    crd.metadata = {
        **crd.metadata,
        "deletionTimestamp": crd.metadata.get("deletionTimestamp") or format_time(clock.now()),
        "finalizers": finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER],
    }
    return _with(tree, crd, clock, DELETION_PENDING)


def finish_deletion(tree: Object, verdict: Verdict, clock: Clock) -> Object:
    """Returns the definition without the cleanup finalizer, after its instances are deleted or if there were none."""
    crd = CustomResourceDefinition.parse(tree)
    finalizers = crd.metadata.get("finalizers") or []
    crd.metadata = {**crd.metadata, "finalizers": [found for found in finalizers if found != FINALIZER]}
    return _with(tree, crd, clock, verdict)


def is_served(crd: CustomResourceDefinition) -> bool:
    """Returns True if the resource is served: established, and not with all its instances deleted."""
    terminating = crd.condition(TERMINATING)
    gone = terminating is not None and terminating.status == "False"
    return crd.is_true(ESTABLISHED) and not ("deletionTimestamp" in crd.metadata and gone)


def _has_status(condition: CustomResourceDefinitionCondition | None, verdict: Verdict) -> bool:
    return condition is not None and verdict == (
        condition.type,
        condition.status,
        condition.reason,
        condition.message,
    )


def _with(tree: Object, crd: CustomResourceDefinition, clock: Clock, *verdicts: Verdict) -> Object:
    """Returns the tree of the definition with the current metadata and status of `crd` and these conditions. The spec
    is not traversed: its schemas may be large."""
    status = msgspec.to_builtins(crd.status)
    found = status["conditions"] = status["conditions"] or []
    for verdict in verdicts:
        conditions.set_condition(found, clock, **verdict._asdict())
    return {**tree, "metadata": crd.metadata, "status": status}
