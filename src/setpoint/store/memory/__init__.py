"""The store in memory."""

from setpoint.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
