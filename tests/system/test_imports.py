"""A plane without nodes does not load the controllers of workloads."""

import subprocess
import sys

from setpoint.system.catalog import CATALOG
from setpoint.system.controller_names import NODE_NAMES

PROGRAM = """
import asyncio, sys
from setpoint.plane import ControlPlane

async def main():
    async with ControlPlane(system=["*"]) as plane:
        await plane.settle()
    print(*sorted(name for name in sys.modules if name.startswith("setpoint.system.")))

asyncio.run(main())
"""


def test_controllers_of_workloads_are_not_imported_without_nodes() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert "setpoint.system.garbage_collector" in loaded
    modules = {entry.starter.partition(":")[0] for entry in CATALOG if entry.name in NODE_NAMES}
    assert modules
    assert not {f"setpoint.system.{module}" for module in modules} & loaded
    assert not [name for name in loaded if name.startswith("setpoint.system.pods")]
