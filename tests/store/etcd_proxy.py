"""A network that fails when told to: a TCP proxy in front of an etcd server."""

import asyncio
from types import TracebackType
from typing import Self

from .etcd_server import EtcdServer


class Proxy:
    """Passes bytes both ways until it is told otherwise."""

    def __init__(self, server: EtcdServer) -> None:
        self._host, port = server.endpoint.split(":")
        self._port = int(port)
        self._answers = asyncio.Event()  # while set, what etcd says passes
        self._requests = asyncio.Event()  # while set, what is said to etcd passes
        self._answers.set()
        self._requests.set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.refusing = False
        self.endpoint = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.endpoint = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
        self.release()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def stop(self) -> None:
        """Nobody listens here any more."""
        self._server.close()
        self.cut()
        await asyncio.sleep(0.05)

    def swallow_answers(self) -> None:
        """From now on etcd is heard, but does not come through."""
        self._answers.clear()

    def hold_requests(self) -> None:
        """From now on what is said to etcd is kept back, until `release`."""
        self._requests.clear()

    def drop(self) -> None:
        """Ends the connections; what is kept back never arrives."""
        for task in self._tasks:
            task.cancel()
        self.cut()

    def release(self) -> None:
        self._answers.set()
        self._requests.set()

    def cut(self) -> None:
        """Ends the connections to the clients. What was said to etcd, or is being kept back, still arrives there."""
        for client in self._clients:
            client.transport.abort()
        self._clients.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            writer.transport.abort()
            return
        try:
            etcd_reader, etcd_writer = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.transport.abort()
            return
        self._clients.add(writer)
        for source, target, gate in ((reader, etcd_writer, self._requests), (etcd_reader, writer, self._answers)):
            task = asyncio.get_running_loop().create_task(self._pass(source, target, gate))
            self._tasks.add(task)

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, gate: asyncio.Event) -> None:
        try:
            while data := await source.read(65536):
                await gate.wait()
                target.write(data)
                await target.drain()
        except OSError:
            pass
        finally:
            await gate.wait()
            target.close()
