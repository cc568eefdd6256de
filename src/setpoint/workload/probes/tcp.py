"""The TCP probe: an established connection is a success."""

import asyncio

from setpoint.client.http.dial import reason_of
from setpoint.workload.probes.verdict import Finding


async def probe_tcp(address: str, port: int) -> Finding:
    """Runs the probe once."""
    try:
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, address, port)
    except OSError as error:
        return Finding("Failure", f"connecting to {address}:{port}: {reason_of(error)}")
    transport.close()
    return Finding("Success")
