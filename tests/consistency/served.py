"""Servers in processes of their own, which the rounds kill and pause.

`python -m tests.consistency.served` reads a line of JSON for each server from its standard input (`Launch`), forks a
process that serves on a unix socket, and prints the id of that process. A fork saves the import of the server. At the
end of the input all processes are killed.

Two paths control a server beside those of the API: `/control/compact?to=REVISION` and `/control/bookmarks`.
"""

import asyncio
import os
import signal
import sys
import traceback
from urllib.parse import parse_qs

import msgspec
from tests.consistency.world import index_few_objects, waiting_for_clients

from setpoint.objects.clock import SystemClock
from setpoint.objects.ids import SystemIds
from setpoint.server.app import Server
from setpoint.server.edge.listener import Listener
from setpoint.server.message import Request, Response
from setpoint.server.server_options import ServerSettings
from setpoint.store.contract import Retention, Store
from setpoint.store.etcd import EtcdConfig, EtcdStore
from setpoint.store.memory import MemoryStore
from setpoint.store.sqlite import SqliteStore

CONTROL = "/control/"


class Launch(msgspec.Struct, omit_defaults=True):
    """A server to start."""

    socket: str
    cache_bytes: int
    # The file of a store in SQLite, or the address and the prefix of a store in etcd. Without them, the store is in the
    # memory of the process, and a kill loses all writes.
    file: str = ""
    endpoint: str = ""
    root: str = ""
    is_shared: bool = False


async def _open(launch: Launch) -> Store:
    if launch.file:
        return await SqliteStore.open(launch.file, retention=Retention(), durability="off")
    if not launch.endpoint:
        return MemoryStore(retention=Retention())
    return await EtcdStore.open(EtcdConfig((launch.endpoint,), root=launch.root), retention=Retention())


async def _serve(launch: Launch) -> None:
    store = await _open(launch)
    settings = ServerSettings(state_cache_bytes=launch.cache_bytes)
    server = Server(store, clock=SystemClock(), ids=SystemIds(), settings=settings)
    server.services.views.shared = launch.is_shared
    index_few_objects(server)
    await server.start()

    async def answer(request: Request) -> Response:
        if not request.path.startswith(CONTROL):
            return await server(request)
        if request.path == CONTROL + "compact":
            await store.compact(int(parse_qs(request.query)["to"][0]))
        elif request.path == CONTROL + "bookmarks":
            for watch in tuple(server.services.watches):
                watch.send_bookmarks()
        return Response(200, "text/plain", str(await store.revision()).encode())

    with waiting_for_clients():
        await Listener(answer, SystemClock()).listen_unix(launch.socket)
        await asyncio.Event().wait()


def _fork(launch: Launch) -> int:
    child = os.fork()
    if child:
        return child
    try:
        asyncio.run(_serve(launch))
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(1)  # only an error leads here


def main() -> None:
    started: list[int] = []
    for line in sys.stdin.buffer:
        started.append(_fork(msgspec.json.decode(line, type=Launch)))
        os.write(1, b"%d\n" % started[-1])
    for pid in started:
        # The system keeps the id of an ended process until here, so that no other process has the id.
        if os.waitpid(pid, os.WNOHANG) == (0, 0):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
