"""A replica of a program, as a process: `python -m tests.controller.leader.replica URL TOKEN NAME`.

While it leads it makes one ConfigMap after the other, each of which says who made it.
"""

import asyncio
import sys
from collections.abc import Mapping

from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.leader import LeaderElection
from setpoint.controller.manager import Manager
from setpoint.controller.program import run_until_signal
from setpoint.controller.request import Request

ELECTION = LeaderElection("replicas", "default", lease_seconds=2, renew_seconds=1.2, retry_seconds=0.2)
JOB = "job"


async def main(url: str, token: str, name: str) -> None:
    async def credentials(refused: Mapping[str, str] | None) -> Mapping[str, str]:
        return {"authorization": f"Bearer {token}"}

    async def reconcile(ctx: Context, request: Request) -> None:
        metadata = {"generateName": "act-", "namespace": "default", "annotations": {"by": name}}
        while request.name == JOB:
            await ctx.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
            await ctx.clock.sleep(0.01)

    acting = Controller("acting", reconcile, kind="v1/ConfigMap", namespaces=["default"])
    async with Client(HttpTransport(endpoint(url), credentials=credentials)) as client:
        await run_until_signal(
            Manager(client, controllers=[acting], leader_election=ELECTION._replace(identity=name), graceful=0.2)
        )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
