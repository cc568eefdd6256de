"""Who wrote, in words: `you (kubectl)`, `executable controller`, `jane`. Pure."""

from collections.abc import Collection

from setpoint.objects.provenance import Actor, Cause

# What our own clients write as, unless told otherwise: it says nothing of who it was.
_UNSAID = frozenset({"", "setpoint", "unknown", "Go-http-client"})
_ACCOUNT = "system:serviceaccount:"


def told(actor: Actor, cause: Cause | None, me: Collection[str] = ()) -> str:
    """Who wrote something. `me` are the names of the user who asks."""
    if cause is not None and cause.controller:
        name = cause.controller
        return name if name.endswith("controller") else f"{name} controller"
    user = "you" if actor.user in me else _short(actor.user)
    if actor.impersonator:
        user = f"{user} (really {'you' if actor.impersonator in me else actor.impersonator})"
    manager = actor.field_manager
    return user if manager in _UNSAID or manager == user else f"{user} ({manager})"


def _short(user: str) -> str:
    if user.startswith(_ACCOUNT):
        return user.removeprefix(_ACCOUNT).partition(":")[2] or user
    return user.removeprefix("system:") if user.startswith("system:") else user or "somebody"
