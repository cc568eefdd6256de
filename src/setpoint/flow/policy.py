"""What an apply set may do, and how: the choices of its user, for the whole set or for one object of it."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from setpoint.objects.gvk import GroupKind


class Mode(Enum):
    """How an object is written."""

    # Server-side apply: what is left out is given up.
    APPLY = "apply"
    # The whole object is put in the place of what is there: what others added to its maps goes.
    UPDATE = "update"
    # A merge patch of what is said: what is left out stays.
    MERGE = "merge"


class Adopt(Enum):
    """Whether an object that is there already, and not of this set, becomes part of it."""

    NEVER = "never"
    # Unless a controller, another set or another tool has it.
    IF_UNMANAGED = "if-unmanaged"
    ALWAYS = "always"


class Replace(Enum):
    """What happens where a field has to change that cannot change."""

    # The server's refusal is the answer.
    NEVER = "never"
    # The object is deleted, and made anew once it is gone, in the same run.
    WAIT_GONE = "wait-gone"
    # The object is deleted; a later run makes it anew.
    LATER = "later"


class How(NamedTuple):
    """How one object is written. What is None is as the set says."""

    mode: Mode | None = None
    # Only if nobody wrote meanwhile: of the version that the object says, or else that the plan has seen.
    lock: bool | None = None
    # Takes fields over from their managers. Only server-side apply knows managers, and so conflicts about them.
    force: bool | None = None
    owner_references: bool | None = None
    adopt: Adopt | None = None
    replace: Replace | None = None

    def over(self, default: "How") -> "How":
        """This, and where it says nothing, the other."""
        return default._replace(**{name: value for name, value in self._asdict().items() if value is not None})


AS_THE_SET = How()
DEFAULT = How(Mode.APPLY, False, False, True, Adopt.IF_UNMANAGED, Replace.NEVER)


class Prune(NamedTuple):
    """When what a completed run no longer has is deleted."""

    enabled: bool = True
    # More at once than this look like a mistake, and none is deleted.
    limit: int | None = None
    # For how many seconds it must have been unwanted.
    grace: float = 0.0
    propagation: str = "Background"


PRUNE = Prune()


class Policy(NamedTuple):
    """The choices for a whole set."""

    how: How = DEFAULT
    prune: Prune = PRUNE
    # JSON Pointers of fields that are left to others once the object is there; `*` is any item or key.
    ignore: Mapping[GroupKind, Sequence[str]] = {}
    replace: Mapping[GroupKind, Replace] = {}
