"""A process whose port somebody else has: it may run well, and nobody can reach it. Every question says so."""

import socket
from collections.abc import Iterator

import pytest
from tests.cli.conftest import Command

pytestmark = pytest.mark.slow

GROUP = "usvc-dev.developer.microsoft.com/v1"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def web(setpoint: Command, taken: int) -> Iterator[str]:
    """A process that would be reached there."""
    text = f"""
apiVersion: {GROUP}
kind: Service
metadata: {{name: taken-http}}
spec: {{port: {taken}}}
---
apiVersion: {GROUP}
kind: Executable
metadata: {{name: taken-web}}
spec:
  executablePath: sleep
  args: ["600"]
  serves: [{{service: taken-http, port: 1}}]
  healthProbes: [{{name: log, type: Exec, execProbe: {{command: ["true"]}}, schedule: {{interval: 1s}}}}]
"""
    assert setpoint("apply", "-f", "-", text=text).code == 0
    assert setpoint("wait", "exe/taken-web").code == 0
    assert setpoint("wait", "service.usvc-dev/taken-http", "--for", "condition=Ready=False").code == 0
    yield "taken-web"
    setpoint("delete", "-f", "-", text=text)


def test_who_has_the_port_is_told_wherever_one_asks(setpoint: Command, web: str, taken: int) -> None:
    said = f"port {taken} is in use by"
    line = next(line for line in setpoint("ps").stdout.splitlines() if line.startswith(web))
    assert line.split()[2:4] == ["Unreachable", "0/1"]
    assert said in line
    first = setpoint("why", web).stdout.splitlines()[0]
    assert first.startswith(f"{web} cannot be reached: {said}")
