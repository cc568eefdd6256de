"""The modules that only some requests need are loaded once the server serves."""

import errno
import subprocess
import sys

import pytest

from setpoint.plane import ControlPlane

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


async def test_a_server_without_descriptors_left_goes_on_and_loads_modules_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_descriptor(name: str) -> None:
        raise OSError(errno.EMFILE, "Too many open files", f"{name}.py")

    async with ControlPlane("memory", system=False) as plane:
        monkeypatch.setattr("setpoint.server.preload.import_module", no_descriptor)
        await plane.preload()
    assert "Too many open files" in caplog.text
