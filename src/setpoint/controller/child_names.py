"""Names for what a controller makes, the same each time: the surest way to make nothing twice.

A controller that makes children can meet its own past: it died after a create and before it noted it, its cache does
not show the child yet, or the answer to a create was lost. What keeps it from making a second one, from the strongest:

* A name that follows from the parent (`child_name`), with `apply` or `create`: the server itself refuses a second one
  (AlreadyExists), or applies the same again. It holds over restarts and among replicas.
* Reads that show what was written (`ctx.get`, `ctx.list`): the cache waits for the controller's own writes, and after a
  write whose outcome is unknown the server is asked (`controller.expectations`). It holds while the process lives.
* `generateName` has only the second to rely on: use it where children are many and alike, are counted by `ctx.list`
  before more are made, and one too many is no harm.
"""

import hashlib

import msgspec

from setpoint.client.kinds import AnyObject
from setpoint.controller.recording_client import placed

# The longest that is good everywhere: also as a label's value, and as a host name.
LONGEST = 63
# Without vowels, so that nothing rude comes of it, and without what is mistaken for each other.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_DIGITS = 10

_encode = msgspec.json.Encoder().encode


def child_name(parent: AnyObject | str, *parts: str | int) -> str:
    """The name of a child of an object, or of one called so: the parent's, as far as it fits, and a hash of its whole
    name and the parts that tell this child from others (its role, its number, the hash of its template).

    It is at most 63 characters, and a label of DNS where the parent's name begins like one. Raises ValueError for a
    parent without a name.
    """
    name = parent if isinstance(parent, str) else placed(parent).name
    if not name:
        raise ValueError("the parent has no name yet: create it first")
    digest = int.from_bytes(hashlib.sha256(_encode([name, *map(str, parts)])).digest())
    letters = ""
    for _ in range(_DIGITS):
        digest, place = divmod(digest, len(_LETTERS))
        letters += _LETTERS[place]
    shown = name.replace(".", "-")[: LONGEST - 1 - _DIGITS].rstrip("-")
    return f"{shown}-{letters}"
