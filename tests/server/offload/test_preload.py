"""The modules that only some requests need are loaded once the server serves."""

import subprocess
import sys

_PROGRAM = """
import asyncio, pkgutil, sys
import setpoint.server
from setpoint.plane import ControlPlane

async def main():
    async with ControlPlane() as plane:
        before = len(sys.modules)
        assert "setpoint.server.registry.kinds.apiextensions.custom_resource_definition" not in sys.modules
        await plane.preload()
        assert len(sys.modules) > before
    missing = [
        module.name
        for module in pkgutil.walk_packages(setpoint.server.__path__, "setpoint.server.")
        if module.name not in sys.modules
    ]
    print(missing)

asyncio.run(main())
"""


def test_every_module_of_the_server_is_loaded() -> None:
    found = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout == "[]\n"
