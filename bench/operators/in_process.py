"""The same operator with the server and whoever creates the objects in one process:
`python -m bench.operators.in_process WORKERS OBJECTS`."""

import asyncio
import sys
import time

import msgspec
import uvloop

import setpoint as sp
from bench.operators.job import Job, do
from bench.operators.ours import controller
from bench.operators.tank import Tank
from setpoint.controller.manager import Manager


async def main(workers: int, objects: int) -> Job:
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.install(Tank)
        stop = asyncio.Event()
        manager = Manager(client, controllers=[controller(workers)])
        running = asyncio.create_task(manager.run(stop))
        before = time.process_time()
        seconds = await do(client, objects)
        spent = time.process_time() - before
        stop.set()
        await running
        return Job(seconds, spent, 0.0)


if __name__ == "__main__":
    found = uvloop.run(main(int(sys.argv[1]), int(sys.argv[2])))
    print(msgspec.json.encode(found).decode())
