"""The store in memory."""

from setpoint.store.memory.file_backed import KeptMemoryStore
from setpoint.store.memory.log_state import MemorySnapshot, State
from setpoint.store.memory.store import MemoryStore, in_memory

__all__ = ["KeptMemoryStore", "MemorySnapshot", "MemoryStore", "State", "in_memory"]
