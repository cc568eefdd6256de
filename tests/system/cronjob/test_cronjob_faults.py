"""Cron jobs under faults: each time starts one job."""

import pytest
from tests.system.cronjob.test_cronjob import JOBS, KIND, cron_job, next_hour
from tests.system.fault_runs import FaultCase, Objects, check_faults

from setpoint import testing
from setpoint.system.controller_names import CRON_JOB, JOB

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


async def is_done(world: testing.World) -> bool:
    """Returns True before the first time, and when the job of that time has ended."""
    status = (await world.find(KIND, "tick")).get("status") or {}
    is_past = world.clock.now().hour > 0
    is_over = bool(status.get("lastSuccessfulTime")) and not status.get("active")
    return len(await world.names(JOBS)) == is_past and is_over == is_past


def too_many(objects: Objects) -> str:
    number = len(objects.get(JOBS, {}))
    return f"{number} jobs for one time" if number > 1 else ""


async def test_a_start_survives_all_faults() -> None:
    runs = await check_faults(FaultCase([CRON_JOB], [cron_job()], next_hour, is_done, too_many, [JOB]))
    assert runs >= 15 + 2 * 2
