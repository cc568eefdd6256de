"""The session of a control plane, and the cookie that marks its processes.

The name of a session includes the identity of its owner, so that any process can check if the owner is alive. A cookie
is `<session>/<uid>`; kept processes belong to no session and have the cookie `kept/<uid>`. A process has several
cookies if its control plane runs under another one.
"""

from setpoint.objects.ids import Ids
from setpoint.workload.process.identity import Identity, boot_id, is_alive

KEPT = "kept"
GUARDIAN = "guardian"


def new_session(owner: Identity, ids: Ids) -> str:
    return f"{owner.pid}-{owner.started}-{boot_id()[:8]}-{ids.suffix()}"


def owner_of(session: str) -> Identity | None:
    """Returns the owner of a session; None for an invalid name, or a session of another boot."""
    parts = session.split("-")
    if len(parts) != 4 or not (parts[0].isdecimal() and parts[1].isdecimal()) or parts[2] != boot_id()[:8]:
        return None
    return Identity(int(parts[0]), int(parts[1]))


def is_dead(session: str) -> bool:
    """Returns True if the name is a session whose owner has ended."""
    owner = owner_of(session)
    return owner is not None and not is_alive(owner)


def cookie(session: str, uid: str, *, keep: bool) -> str:
    return f"{KEPT if keep else session}/{uid}"
