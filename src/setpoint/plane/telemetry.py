"""The telemetry of a control plane: its store and files, and the receiver with its addresses and its key."""

import logging
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from setpoint.objects.clock import Clock
from setpoint.server import secret_files
from setpoint.server.edge.limits import Limits
from setpoint.server.edge.listener import Listener
from setpoint.server.request.context import Services
from setpoint.server.telemetry.receiver import TelemetryReceiver
from setpoint.store.files import make_directory
from setpoint.telemetry.journal import Journal
from setpoint.telemetry.recorder import TelemetryRecorder
from setpoint.telemetry.settings import TelemetrySettings
from setpoint.telemetry.store import TelemetryStore

if TYPE_CHECKING:
    from setpoint.server.telemetry.grpc_receiver import GrpcReceiver

LOOPBACK: Final = "127.0.0.1"
_FILE: Final = "receiver.json"
# Larger than the receiver accepts, so that the receiver itself answers in the form of OTLP.
_BODY_BYTES: Final = 8 << 20
_log = logging.getLogger(__name__)


class StoredReceiver(Struct, frozen=True):
    """The key and port of the receiver, which persistent workloads keep using after a restart of the session."""

    key: str
    port: int = 0
    grpc_port: int = 0


class PlaneTelemetry:
    """Telemetry of one control plane. `directory` has its files; None: in memory only."""

    def __init__(self, settings: TelemetrySettings, clock: Clock, directory: Path | None) -> None:
        self._clock, self._directory = clock, directory
        # Three kinds of records, in a form about as large as in memory.
        journal = Journal(directory, 3 * settings.max_bytes) if directory is not None else None
        self.recorder = TelemetryRecorder(TelemetryStore(settings, clock), journal, clock)
        self.key = ""
        self.receiver: TelemetryReceiver | None = None
        self._listener: Listener | None = None
        # The port of the receiver by address; 0 for an address at which listening failed.
        self._ports: dict[str, int] = {}
        # The receiver over gRPC, from the first exporter that needs it; its ports by address, as above.
        self._grpc: GrpcReceiver | None = None
        self._grpc_ports: dict[str, int] = {}
        self._stored = StoredReceiver("")

    def open(self, services: Services) -> None:
        """Serves the stored records; records are not received before `receive`."""
        services.telemetry = self.recorder
        self.recorder.start()

    async def receive(self, services: Services) -> None:
        """Listens for exporters on the loopback interface. Raises OSError."""
        known = stored_receiver(self._directory)
        self.key = known.key or secrets.token_urlsafe(24)
        self.receiver = TelemetryReceiver(self.recorder, services.offload, self.key)
        self._listener = Listener(self.receiver, self._clock, Limits(body_bytes=_BODY_BYTES))
        try:
            _, port = await self._listener.listen(LOOPBACK, known.port)
        except OSError:
            if not known.port:
                raise
            _, port = await self._listener.listen(LOOPBACK, 0)
        self._ports[LOOPBACK] = port
        self._store(StoredReceiver(self.key, port, known.grpc_port))

    async def endpoint(self, address: str = LOOPBACK) -> str:
        """Returns the URL for exporters that reach this machine at an address; empty if this process cannot listen
        at that address."""
        port = self._ports.get(address)
        if port is None and self._listener is not None:
            port = self._ports[address] = await self._listen(self._listener, address)
        return f"http://{f'[{address}]' if ':' in address else address}:{port}/otlp" if port else ""

    async def grpc_endpoint(self, address: str = LOOPBACK) -> str:
        """Returns the URL for exporters over gRPC; empty also if grpcio is not installed."""
        port = self._grpc_ports.get(address)
        if port is None and self.receiver is not None:
            port = self._grpc_ports[address] = await self._listen_grpc(self.receiver, address)
        return f"http://{f'[{address}]' if ':' in address else address}:{port}" if port else ""

    async def close(self) -> None:
        """Ends the receivers, and writes the last records."""
        if self._listener is not None:
            await self._listener.close(0.0)
        if self._grpc is not None:
            await self._grpc.close()
        await self.recorder.close()

    def _store(self, receiver: StoredReceiver) -> None:
        self._stored = receiver
        if self._directory is not None:
            make_directory(self._directory)
            secret_files.write(self._directory / _FILE, msgspec.json.encode(receiver))

    async def _listen_grpc(self, receiver: TelemetryReceiver, address: str) -> int:
        if self._grpc is None:
            try:
                from setpoint.server.telemetry.grpc_receiver import GrpcReceiver
            except ImportError:
                _log.warning(
                    "a service exports telemetry over gRPC, which needs a package: run `pip install 'setpoint[grpc]'`"
                )
                return 0
            self._grpc = GrpcReceiver(receiver)
        for wanted in (self._stored.grpc_port, 0):
            with suppress(OSError):
                port = await self._grpc.listen(address, wanted)
                if port != self._stored.grpc_port and address == LOOPBACK:
                    self._store(msgspec.structs.replace(self._stored, grpc_port=port))
                return port
        return 0

    async def _listen(self, listener: Listener, address: str) -> int:
        # Some engines create the network on this machine with its first container.
        for wanted in (self._ports[LOOPBACK], 0):
            with suppress(OSError):
                return (await listener.listen(address, wanted, is_expected=True))[1]
        return 0


def stored_receiver(directory: Path | None) -> StoredReceiver:
    """Returns the key and port in a directory of telemetry; an empty key if no file has one."""
    if directory is not None:
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return msgspec.json.decode((directory / _FILE).read_bytes(), type=StoredReceiver)
    return StoredReceiver("")
