"""The store in memory."""

from setpoint.store.memory.kept import KeptMemoryStore
from setpoint.store.memory.store import MemoryStore

__all__ = ["KeptMemoryStore", "MemoryStore"]
