"""The store in memory."""

from setpoint.store.memory.file_backed import KeptMemoryStore
from setpoint.store.memory.store import MemoryStore

__all__ = ["KeptMemoryStore", "MemoryStore"]
