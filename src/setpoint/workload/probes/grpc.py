"""The gRPC health probe (`grpc.health.v1.Health/Check`): SERVING is a success."""

import asyncio

from setpoint.client.http.dial import reason_of
from setpoint.workload.probes.unary import call, number
from setpoint.workload.probes.verdict import Finding

_STATUSES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}


async def probe_grpc(address: str, port: int, service: str) -> Finding:
    """Runs the probe once."""
    what = f"the health of {service or 'the server'} at {address}:{port}"
    name = service.encode()
    try:
        message = b"\x0a" + number(len(name)) + name if name else b""
        answer = await call(address, port, "/grpc.health.v1.Health/Check", message)
    except (ConnectionResetError, BrokenPipeError, asyncio.IncompleteReadError):
        return Finding(
            "Failure", f"requesting {what}: the server closed the connection; check that it serves gRPC without TLS"
        )
    except OSError as error:
        return Finding("Failure", f"requesting {what}: {reason_of(error)}")
    if answer is None:
        return Finding(
            "Failure",
            f"{what} is unknown: the server does not implement grpc.health.v1.Health for this service",
            answered=True,
        )
    status = _status(answer)
    if status == 1:
        return Finding("Success")
    return Finding("Failure", f"{what} is {_STATUSES.get(status, status)}", answered=True)


def _status(message: bytes) -> int:
    # A message without the field has the value 0.
    return message[1] if len(message) >= 2 and message[0] == 0x08 else 0
