"""The synchronous client, for scripts, notebooks, and code without asyncio.

    with SyncClient.connect() as client:
        for pod in client.each("v1/Pod", "default"): ...
        with client.watch("v1/ConfigMap", "default") as events:
            for event in events: ...

`SyncClient` has the methods of `Client` with the same arguments and types. Coroutines become blocking calls, and
asynchronous iterators become plain iterators. An event loop in a separate thread does the work, so that the client can
be used next to another event loop, and from several threads. Interrupting a blocked call cancels its request.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, closing, contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from setpoint.client.channels import Forwarded, Process, ProcessOutput
from setpoint.client.client import Client

P = ParamSpec("P")
T = TypeVar("T")
# The seconds to wait for the cleanup of an interrupted call.
_END_SECONDS = 2.0


class CoroutineRunner(Protocol):
    """Runs coroutines in an event loop for the threads that call the client."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the loop, and blocks until the coroutine is done."""


class _Loop:
    """An event loop in a separate thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="setpoint-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the loop, and blocks until the coroutine is done."""
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            work.close()
            raise RuntimeError("the client is closed, or is called from its own thread: use `Client` there")
        done = threading.Event()

        async def main() -> T:
            try:
                return await work
            finally:
                done.set()

        future = asyncio.run_coroutine_threadsafe(main(), self._loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C in this thread, or an error of the coroutine, which is done then.
            if not future.done() or future.cancelled():
                future.cancel()
                done.wait(_END_SECONDS)
            raise

    def stop(self) -> None:
        """Stops the loop and its thread."""
        if self._thread.is_alive():
            # In the thread of the loop: another loop may run in this one.
            asyncio.run_coroutine_threadsafe(self._loop.shutdown_asyncgens(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        if not self._loop.is_closed():
            self._loop.close()


class _Threaded:
    """Base of the classes that run on such a loop."""

    def __init__(self, loop: CoroutineRunner) -> None:
        self._loop = loop

    def _iterate(self, items: AsyncIterator[T]) -> Generator[T, None, None]:
        async def next_() -> tuple[T] | None:
            async for item in items:
                return (item,)
            return None

        try:
            while (found := self._loop.run(next_())) is not None:
                yield found[0]
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                self._loop.run(close())

    @contextmanager
    def _entered(self, context: AbstractAsyncContextManager[T]) -> Iterator[T]:
        async def enter() -> T:
            return await context.__aenter__()

        async def leave() -> None:
            # The stream is not passed the error of the body.
            await context.__aexit__(None, None, None)

        entered = self._loop.run(enter())
        try:
            yield entered
        finally:
            self._loop.run(leave())


class SyncProcess(_Threaded):
    """A process that runs in a container. Iterate over the process to read its output; `exit_code` is set when the
    output ends."""

    def __init__(self, loop: CoroutineRunner, process: Process) -> None:
        super().__init__(loop)
        self._process = process

    @property
    def exit_code(self) -> int | None:
        return self._process.exit_code

    def write(self, data: bytes) -> None:
        """Sends bytes to the standard input of the process."""
        self._loop.run(self._process.write(data))

    def close_stdin(self) -> None:
        """Closes the standard input of the process."""
        self._loop.run(self._process.close_stdin())

    def resize(self, columns: int, rows: int) -> None:
        """Sends the size of the terminal."""
        self._loop.run(self._process.resize(columns, rows))

    def __iter__(self) -> Iterator[ProcessOutput]:
        return self._iterate(aiter(self._process))


class SyncForwarded(_Threaded):
    """A connection to a port of a pod. Iterate over the connection to read its data."""

    def __init__(self, loop: CoroutineRunner, forwarded: Forwarded) -> None:
        super().__init__(loop)
        self._forwarded = forwarded

    def write(self, data: bytes) -> None:
        """Sends bytes to the port."""
        self._loop.run(self._forwarded.write(data))

    def __iter__(self) -> Iterator[bytes]:
        return self._iterate(aiter(self._forwarded))


def _waiting(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["SyncClient", P], T]:
    name = method.__name__

    @wraps(method)
    def call(self: "SyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        # By name: the client may be of a subclass.
        found: T = self._loop.run(getattr(self.client, name)(*args, **kwargs))
        return found

    return call


def _iterating(
    method: Callable[Concatenate[Client, P], AsyncIterator[T]],
) -> Callable[Concatenate["SyncClient", P], Iterator[T]]:
    name = method.__name__

    @wraps(method)
    def call(self: "SyncClient", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._iterate(getattr(self.client, name)(*args, **kwargs))

    return call


def _watching(
    method: Callable[Concatenate[Client, P], AbstractAsyncContextManager[AsyncIterator[T]]],
) -> Callable[Concatenate["SyncClient", P], AbstractContextManager[Iterator[T]]]:
    name = method.__name__

    @wraps(method)
    @contextmanager
    def call(self: "SyncClient", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Iterator[T]]:
        opened: AbstractAsyncContextManager[AsyncIterator[T]] = getattr(self.client, name)(*args, **kwargs)
        with self._entered(opened) as items, closing(self._iterate(items)) as found:
            yield found

    return call


class SyncClient(_Threaded):
    """The synchronous client. `client` is the asynchronous client that runs in the loop's thread."""

    def __init__(self, client: Client, *, _loop: CoroutineRunner | None = None) -> None:
        self._own_loop: _Loop | None = None
        if _loop is None:
            _loop = self._own_loop = _Loop()
        super().__init__(_loop)
        self.client = client

    @classmethod
    def connect(cls, **how: Any) -> Self:
        """Returns a client of the current cluster; see `Client.connect`."""
        return cls(Client.connect(**how))

    @classmethod
    def from_kubeconfig(cls, path: Any = None, context: str = "", **how: Any) -> Self:
        """Returns a client from a kubeconfig file; see `Client.from_kubeconfig`."""
        return cls(Client.from_kubeconfig(path, context, **how))

    @classmethod
    def in_cluster(cls, **how: Any) -> Self:
        """Returns a client for code that runs in a pod; see `Client.in_cluster`."""
        return cls(Client.in_cluster(**how))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancels calls in progress, closes all connections, and stops the thread."""
        if self._own_loop is None:
            return  # the client that created the loop closes the connections
        try:
            self._loop.run(self.client.close())
        finally:
            self._own_loop.stop()

    def with_options(self, **how: Any) -> "SyncClient":
        """Returns a client with other default options; see `Client.with_options`. Both share the thread and the
        connections."""
        return SyncClient(self.client.with_options(**how), _loop=self._loop)

    def as_(self, user: str, *groups: str, **more: Any) -> "SyncClient":
        """Returns a client that impersonates another user; see `Client.as_`."""
        return SyncClient(self.client.as_(user, *groups, **more), _loop=self._loop)

    send = _waiting(Client.send)
    raw = _waiting(Client.raw)
    resource = _waiting(Client.resource)

    get = _waiting(Client.get)
    list = _waiting(Client.list)
    pages = _iterating(Client.pages)
    each = _iterating(Client.each)
    wait_for = _waiting(Client.wait_for)

    create = _waiting(Client.create)
    update = _waiting(Client.update)
    patch = _waiting(Client.patch)
    apply = _waiting(Client.apply)
    update_status = _waiting(Client.update_status)
    patch_status = _waiting(Client.patch_status)
    apply_status = _waiting(Client.apply_status)
    edit = _waiting(Client.edit)
    create_or_update = _waiting(Client.create_or_update)
    diff = _waiting(Client.diff)
    install = _waiting(Client.install)
    delete = _waiting(Client.delete)
    delete_all = _waiting(Client.delete_all)

    scale = _waiting(Client.scale)
    evict = _waiting(Client.evict)
    update_scale = _waiting(Client.update_scale)
    bind = _waiting(Client.bind)
    token = _waiting(Client.token)
    log_text = _waiting(Client.log_text)
    exec = _waiting(Client.exec)
    logs = _watching(Client.logs)
    watch = _watching(Client.watch)

    @contextmanager
    def open_exec(self, name: str, namespace: str = "", **how: Any) -> Iterator[SyncProcess]:
        """Starts a command in a container; see `Client.open_exec`."""
        with self._entered(self.client.open_exec(name, namespace, **how)) as process:
            yield SyncProcess(self._loop, process)

    @contextmanager
    def attach(self, name: str, namespace: str = "", **how: Any) -> Iterator[SyncProcess]:
        """Attaches to the main process of a container; see `Client.attach`."""
        with self._entered(self.client.attach(name, namespace, **how)) as process:
            yield SyncProcess(self._loop, process)

    @contextmanager
    def port_forward(self, name: str, namespace: str = "", *, port: int) -> Iterator[SyncForwarded]:
        """Opens a connection to a port of a pod; see `Client.port_forward`."""
        with self._entered(self.client.port_forward(name, namespace, port=port)) as forwarded:
            yield SyncForwarded(self._loop, forwarded)
