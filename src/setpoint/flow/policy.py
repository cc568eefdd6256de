"""The policies of an apply set, for the whole set or for single objects."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from setpoint.objects.gvk import GroupKind


class Mode(Enum):
    """The method of writing an object.

    ApplySet(client, "members", owner=team, field_manager="teams", how=How(mode=Mode.MERGE))
    """

    # Server-side apply: omitted fields are given up.
    APPLY = "apply"
    # Replaces the whole object: additions of others to its maps are removed.
    UPDATE = "update"
    # A merge patch: omitted fields stay.
    MERGE = "merge"


class Adopt(Enum):
    """The policy for existing objects that do not belong to the set."""

    NEVER = "never"
    # Adopts the object unless another controller, set or tool manages it.
    IF_UNMANAGED = "if-unmanaged"
    ALWAYS = "always"


class Replace(Enum):
    """The policy for changes of immutable fields."""

    # Raises the server's rejection.
    NEVER = "never"
    # Deletes the object, and creates the object again in the same run.
    WAIT_GONE = "wait-gone"
    # Deletes the object; a later run creates the object again.
    LATER = "later"


class How(NamedTuple):
    """The policies for writing one object. None stands for the policy of the set."""

    mode: Mode | None = None
    # Makes writes conditional on the version in the given object, or else on the version that the plan has seen.
    lock: bool | None = None
    # Takes over fields from their managers. Only server-side apply has managers and conflicts.
    force: bool | None = None
    owner_references: bool | None = None
    adopt: Adopt | None = None
    replace: Replace | None = None

    def over(self, default: "How") -> "How":
        """Returns these policies, with unset ones taken from `default`."""
        return default._replace(**{name: value for name, value in self._asdict().items() if value is not None})


AS_THE_SET = How()
DEFAULT = How(Mode.APPLY, False, False, True, Adopt.IF_UNMANAGED, Replace.NEVER)


class Prune(NamedTuple):
    """The policy for deleting objects that a completed run no longer wants."""

    enabled: bool = True
    # If more objects are to be deleted at once, none is: this is likely a mistake.
    limit: int | None = None
    # The seconds for which an object must have been unwanted.
    grace: float = 0.0
    propagation: str = "Background"


PRUNE = Prune()


class ApplySetPolicy(NamedTuple):
    """The policies of a whole set."""

    how: How = DEFAULT
    prune: Prune = PRUNE
    # JSON Pointers of fields that are left to other managers on existing objects; `*` is any item or key.
    ignore: Mapping[GroupKind, Sequence[str]] = {}
    replace: Mapping[GroupKind, Replace] = {}
