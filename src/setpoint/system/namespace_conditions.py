"""The conditions of a terminating namespace: five conditions with the texts of kube-controller-manager."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from setpoint.objects.tree import Object

# By type, in the order they are set: the reason and the message without a problem.
_WELL = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@dataclass
class Outcome:
    """The result of one attempt to delete the content of a namespace."""

    # The error of discovery, and of parsing a group and version.
    discovery_failure: str = ""
    parsing_failure: str = ""
    # The errors, one text for each resource.
    failures: list[str] = field(default_factory=list)
    # The number of remaining objects by resource (`widgets.example.com`; with a trailing dot for the core group), and
    # by finalizer.
    remaining: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)

    def problems(self) -> dict[str, tuple[str, str]]:
        """Returns the reasons and messages of the conditions that are true."""
        found = {}
        if self.discovery_failure:
            found["NamespaceDeletionDiscoveryFailure"] = "DiscoveryFailed", self.discovery_failure
        if self.parsing_failure:
            found["NamespaceDeletionGroupVersionParsingFailure"] = "GroupVersionParsingFailed", self.parsing_failure
        if self.failures:
            text = f"Failed to delete all resource types, {len(self.failures)} remaining: "
            found["NamespaceDeletionContentFailure"] = "ContentDeletionFailed", text + ", ".join(sorted(self.failures))
        if self.remaining:
            found["NamespaceContentRemaining"] = (
                "SomeResourcesRemain",
                "Some resources are remaining: " + _counted(self.remaining, "has"),
            )
        if self.finalizers:
            found["NamespaceFinalizersRemaining"] = (
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: " + _counted(self.finalizers, "in"),
            )
        return found


def _counted(counts: Counter[str], verb: str) -> str:
    return ", ".join(sorted(f"{name} {verb} {count} resource instances" for name, count in counts.items() if count))


def judged(conditions: Sequence[Object], outcome: Outcome, now: str) -> list[Object]:
    """Returns the conditions after an attempt. Unchanged conditions are kept."""
    troubles = outcome.problems()
    found = [dict(condition) for condition in conditions]
    by_type = {condition.get("type"): condition for condition in found}
    for name, well in _WELL.items():
        reason, message = troubles.get(name, well)
        status = "True" if name in troubles else "False"
        condition = by_type.get(name)
        if condition is None:
            condition = {"type": name}
            found.append(condition)
        if condition.get("status") != status:
            condition["lastTransitionTime"] = now
        condition |= {"status": status, "reason": reason, "message": message}
    return found
