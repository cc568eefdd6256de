"""The event loop for programs with many requests: uvloop, if installed."""

import asyncio
from collections.abc import Callable


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Returns the factory of the event loop."""
    try:
        import uvloop
    except ImportError:  # uvloop does not support Windows
        return asyncio.new_event_loop
    return uvloop.new_event_loop
