"""The store in one SQLite file."""

from setpoint.store.sqlite.errors import Damaged, DiskFailed, InUse, NoSpace, UnknownLayout
from setpoint.store.sqlite.layout import Durability
from setpoint.store.sqlite.store import SqliteStore

__all__ = ["Damaged", "DiskFailed", "Durability", "InUse", "NoSpace", "SqliteStore", "UnknownLayout"]
