"""A control plane in a thread: its loop goes on while that of the test is blocked."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.plane import ControlPlane

TOKEN = "secret"


@contextmanager
def served() -> Iterator[str]:
    """A control plane in a thread, at a URL where the token is that of the administrator."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    plane = ControlPlane(token=TOKEN)

    async def start() -> str:
        await plane.__aenter__()
        return await plane.listen(tls=False)

    async def stop() -> None:
        await plane.__aexit__(None, None, None)

    try:
        yield asyncio.run_coroutine_threadsafe(start(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def token(refused: object) -> dict[str, str]:
    """The credentials of the administrator."""
    return {"authorization": f"Bearer {TOKEN}"}


def client_of(url: str) -> Client:
    """A client of the administrator."""
    return Client(HttpTransport(endpoint(url), credentials=token))
