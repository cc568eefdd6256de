"""Formats writers: `you (kubectl)`, `executable controller`, `jane`, `jane (claimed: web controller)`. Has no side
effects."""

from collections.abc import Collection

from setpoint.objects.provenance import Actor, Cause

# The default field managers of clients, which do not identify the writer.
_UNSAID = frozenset({"", "setpoint", "unknown", "Go-http-client"})
_ACCOUNT = "system:serviceaccount:"
_SYSTEM = "kube-system"


def writer_name(actor: Actor, cause: Cause | None, me: Collection[str] = ()) -> str:
    """Returns the name of a writer. `me` are the names of the current user. An unverified controller is shown after the
    name of the user."""
    claimed = ""
    if cause is not None and cause.controller:
        name = cause.controller if cause.controller.endswith("controller") else f"{cause.controller} controller"
        claimant = cause.claimant(actor)
        if not claimant:
            return name
        by = "" if claimant == actor.user else f" by {'you' if claimant in me else _short(claimant)}"
        claimed = f" (claimed{by}: {name})"
    user = "you" if actor.user in me else _short(actor.user)
    if actor.impersonator:
        user = f"{user} (really {'you' if actor.impersonator in me else actor.impersonator})"
    manager = actor.field_manager
    if claimed:
        return f"{user}{claimed}"
    return user if manager in _UNSAID or manager == user else f"{user} ({manager})"


def _short(user: str) -> str:
    if user.startswith(_ACCOUNT):
        namespace, _, name = user.removeprefix(_ACCOUNT).partition(":")
        # Any namespace may have a service account of that name; those of kube-system are well known.
        return (name if namespace == _SYSTEM else f"{namespace}/{name}") if name else user
    return user.removeprefix("system:") if user.startswith("system:") else user or "unknown user"
