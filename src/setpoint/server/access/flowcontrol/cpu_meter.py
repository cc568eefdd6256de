"""Measures the CPU time of the event loop's thread that a request uses, step by step.

A step is the code between two awaits that suspend. Work of other tasks during the suspension is not counted.
"""

from collections.abc import Callable, Coroutine, Generator
from time import thread_time
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Metered(Generic[T]):
    """An awaitable that calls `spent` with the CPU seconds of each step of a coroutine."""

    __slots__ = ("_spent", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], spent: Callable[[float], None]) -> None:
        self._work = work
        self._spent = spent

    def __await__(self) -> Generator[Any, Any, T]:
        work, spent = self._work, self._spent
        send, throw = work.send, work.throw
        got: Any = None
        error: BaseException | None = None
        while True:
            began = thread_time()
            try:
                awaited = send(got) if error is None else throw(error)
            except StopIteration as done:
                result: T = done.value
                return result
            finally:
                spent(thread_time() - began)
            got = error = None
            try:
                got = yield awaited
            except GeneratorExit:
                work.close()
                raise
            except BaseException as thrown:
                error = thrown
