"""Control planes with installed kinds, from which worlds continue: each combination of kinds is installed once.

Validating, storing and serving a definition with a large schema takes much longer than a usual test. The cache belongs
to the process, is bounded, and contains only immutable snapshots.
"""

from collections import OrderedDict
from datetime import UTC, datetime

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

_templates: OrderedDict[tuple[tuple[type[Resource], ...], int], PlaneSnapshot[ControlPlane]] = OrderedDict()


async def template(kinds: tuple[type[Resource], ...], seed: int) -> PlaneSnapshot[ControlPlane]:
    """Returns the snapshot of a control plane in virtual time, with these kinds. Raises the errors of `install`."""
    found = _templates.get((kinds, seed))
    if found is None:
        found = await _made(kinds, seed)
    _templates[kinds, seed] = found
    _templates.move_to_end((kinds, seed))
    while len(_templates) > _MOST:
        _templates.popitem(last=False)
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
