"""The session of a control plane, and the cookie that marks what it starts.

A session's name carries the identity of its owner, so anybody can tell whether the owner still lives. A cookie is
`<session>/<uid>`; what is to be kept belongs to no session and carries `kept/<uid>`. A process may carry several, of a
control plane that runs under another.
"""

from setpoint.objects.ids import Ids
from setpoint.workload.process.identity import Identity, boot_id, is_alive

KEPT = "kept"
GUARDIAN = "guardian"


def new_session(owner: Identity, ids: Ids) -> str:
    return f"{owner.pid}-{owner.started}-{boot_id()[:8]}-{ids.suffix()}"


def owner_of(session: str) -> Identity | None:
    """Whose session this is; None for a name that is no session, or one of another boot."""
    parts = session.split("-")
    if len(parts) != 4 or not (parts[0].isdecimal() and parts[1].isdecimal()) or parts[2] != boot_id()[:8]:
        return None
    return Identity(int(parts[0]), int(parts[1]))


def is_dead(session: str) -> bool:
    """Whether this is a session whose owner lives no more."""
    owner = owner_of(session)
    return owner is not None and not is_alive(owner)


def cookie(session: str, uid: str, *, keep: bool) -> str:
    return f"{KEPT if keep else session}/{uid}"
