"""Control planes with installed kinds, from which worlds continue: each combination of kinds is installed once.

Validating, storing and serving a definition with a large schema takes much longer than a usual test. The cache belongs
to the process, is bounded, and contains only immutable snapshots. Its keys are the contents of the definitions, so that
a class that each test defines anew is installed once, too.
"""

from collections import OrderedDict
from datetime import UTC, datetime
from hashlib import sha256
from weakref import WeakKeyDictionary

import msgspec

from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.plane import ControlPlane
from setpoint.plane.plane_snapshot import PlaneSnapshot
from setpoint.schema.types import Resource
from setpoint.testing.virtual_time import Passing

# The time at which each world begins.
START = datetime(2030, 1, 1, tzinfo=UTC)
# The number of templates that are kept.
_MOST = 32

_templates: OrderedDict[tuple[tuple[bytes, ...], int], PlaneSnapshot[ControlPlane]] = OrderedDict()
# The digests of the definitions of classes.
_digests: WeakKeyDictionary[type[Resource], bytes] = WeakKeyDictionary()


async def template(kinds: tuple[type[Resource], ...], seed: int) -> PlaneSnapshot[ControlPlane]:
    """Returns the snapshot of a control plane in virtual time, with these kinds. Raises the errors of `install`."""
    key = tuple(map(_digest, kinds)), seed
    found = _templates.get(key)
    if found is None:
        found = await _made(kinds, seed)
    _templates[key] = found
    _templates.move_to_end(key)
    while len(_templates) > _MOST:
        _templates.popitem(last=False)
    return found


def _digest(kind: type[Resource]) -> bytes:
    found = _digests.get(kind)
    if found is None:
        found = _digests[kind] = sha256(msgspec.json.encode(kind.crd())).digest()
    return found


async def _made(kinds: tuple[type[Resource], ...], seed: int) -> PlaneSnapshot[ControlPlane]:
    clock = ManualClock(START)
    async with ControlPlane(clock=clock, system=False, ids=SeededIds(seed)) as plane, plane.client() as client:
        for kind in kinds:
            await Passing(clock, _Still()).drive(client.install(kind))
        return await plane.snapshot()


class _Still:
    """Reports no activity: a control plane without controllers has none of its own."""

    def pulse(self) -> object:
        return None

    def check(self) -> None:
        """Has no problems."""
