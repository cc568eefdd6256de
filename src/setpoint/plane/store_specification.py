"""Specifications of stores: `memory`, `sqlite:PATH` or `etcd:URL`."""

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.ids import Ids
from setpoint.plane.errors import PlaneError
from setpoint.store.contract import Retention, Store
from setpoint.store.files import make_directory

if TYPE_CHECKING:
    from setpoint.store.sqlite import Durability

_DURABILITIES: tuple["Durability", ...] = ("full", "normal", "off")


def data_directory(store: Store | str, data: Path | str | None) -> Path | None:
    """Returns the directory of the keys: the given one, or the one beside the SQLite file; None for other stores."""
    if data is not None:
        return Path(data)
    if isinstance(store, str) and store.startswith("sqlite:"):
        path, _ = _durability(store.removeprefix("sqlite:"))
        return Path(f"{path}.keys")
    return None


def _durability(where: str) -> tuple[Path, "Durability"]:
    """Returns the path and the durability of an SQLite store. Raises PlaneError."""
    path, found, durability = where.rpartition("?durability=")
    if not found:
        return Path(where), "full"
    chosen: Durability | None = next((each for each in _DURABILITIES if each == durability), None)
    if chosen is None:
        raise PlaneError(f"durability must be one of {', '.join(_DURABILITIES)}, not {durability!r}")
    return Path(path), chosen


class _Kept(TypedDict, total=False):
    retention: Retention


async def open_store(spec: str, clock: Clock, ids: Ids, retention: Retention | None = None) -> Store:
    """Opens the store of a specification: `memory`, `sqlite:PATH` or `etcd:URL`. `memory:PATH` is a store in memory
    that is saved to a file at the end and loaded at the next start; with `sqlite:PATH?durability=off`, writes survive
    the end of the process but not a crash of the machine. Without a retention, the store's default history is kept.
    Raises PlaneError, OSError or StoreError."""
    kind, _, where = spec.partition(":")
    kept: _Kept = {} if retention is None else {"retention": retention}
    if kind == "memory" and where:
        from setpoint.store.memory import KeptMemoryStore

        return await KeptMemoryStore.open(Path(where), clock=clock, **kept)
    if spec == "memory":
        from setpoint.store.memory import MemoryStore

        return MemoryStore(clock=clock, **kept)
    if kind == "sqlite" and where:
        from setpoint.store.sqlite import SqliteStore

        path, durability = _durability(where)
        make_directory(path.parent)
        return await SqliteStore.open(
            path, clock=clock, durability=durability, threaded=isinstance(clock, SystemClock), **kept
        )
    if kind == "etcd" and where:
        try:
            from setpoint.store.etcd import EtcdConfig, EtcdStore
        except ImportError as error:
            raise PlaneError(
                f"the etcd store needs additional packages ({error}): pip install 'setpoint[etcd]'"
            ) from error
        return await EtcdStore.open(EtcdConfig.from_url(where), clock=clock, ids=ids, **kept)
    raise PlaneError(f"invalid store {spec!r}: expected memory, sqlite:PATH or etcd:URL")
