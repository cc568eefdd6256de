"""Deterministic names for child objects, which are the safest way to avoid duplicates.

A controller that creates children may have lost track of earlier writes: the process died between a create and its
status update, the cache does not show the child yet, or the response to a create was lost. Protection against creating
a second child:

* A name derived from the parent (`child_name`), with `apply` or `create`: the server itself refuses a second one
  (AlreadyExists), or applies the same again. This holds across restarts and among replicas.
* Reads that show the controller's own writes (`ctx.client.get`, `ctx.client.list`): the cache waits for these writes,
  and after a write with an unknown outcome the client asks the server (`controller.expectations`). This holds while
  the process lives.
* `ctx.create_once(child, key)` for a child with `generateName`: the child is found again by its owner and its key, and
  the server is asked before another one is created. This holds across restarts, and among replicas that elect a leader.
* `generateName` without a key relies on the second protection alone: use this for many similar children that are
  counted with `ctx.client.list` before more are created, if one child too many does no harm.
"""

import hashlib

import msgspec

from setpoint.client.kinds import AnyObject
from setpoint.controller.recording_client import metadata_of

# The longest name that is also valid as a label value and as a host name.
LONGEST = 63
# Without vowels, so that no rude words appear, and without characters that are easily confused.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_DIGITS = 10

_encode = msgspec.json.Encoder().encode


def child_name(parent: AnyObject | str, *parts: str | int) -> str:
    """Returns the name of a child of an object, or of a parent with the given name.

    The name starts with the parent's name, shortened if necessary, followed by a hash of the full name and of the parts
    that tell this child from others (its role, its number, the hash of its template). The name has at most 63
    characters and is a valid DNS label if the parent's name begins like one. Raises ValueError for a parent without a
    name.

        child_name("website-1", "config")          # "website-1-" and ten letters or digits
        child_name(website, "worker", 3)           # the same name on each call
    """
    name = parent if isinstance(parent, str) else metadata_of(parent).name
    if not name:
        raise ValueError("the parent has no name yet: create it first")
    digest = int.from_bytes(hashlib.sha256(_encode([name, *map(str, parts)])).digest())
    letters = ""
    for _ in range(_DIGITS):
        digest, place = divmod(digest, len(_LETTERS))
        letters += _LETTERS[place]
    shown = name.replace(".", "-")[: LONGEST - 1 - _DIGITS].rstrip("-")
    return f"{shown}-{letters}"
