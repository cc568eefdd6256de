"""The OTLP receiver over gRPC, for exporters that cannot use HTTP. Needs grpcio: `pip install 'setpoint[grpc]'`.

The services and messages are those of OTLP; keys, limits and stored records are those of the receiver over HTTP.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import grpc

from setpoint.server.telemetry.otlp_answers import GRPC_CODES, partial_success
from setpoint.server.telemetry.receiver import KEY_HEADER, MAX_BODY, TelemetryReceiver, TelemetryRefusedError
from setpoint.telemetry.decoder import Signal

# The service of each signal; all of them have the method Export.
_SERVICES: Final[dict[str, Signal]] = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": "traces",
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": "metrics",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": "logs",
}
_OPTIONS: Final = (("grpc.max_receive_message_length", MAX_BODY), ("grpc.so_reuseport", 0))
_STATUS: Final = {code.value[0]: code for code in grpc.StatusCode}
_MAX_CALLS: Final = 64

Handler = Callable[[bytes, Any], Awaitable[bytes]]


class GrpcReceiver(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Answers the calls of exporters, at the ports of one server."""

    def __init__(self, receiver: TelemetryReceiver) -> None:
        self._receiver = receiver
        self._servers: list[Any] = []

    async def listen(self, address: str, port: int) -> int:
        """Listens at an address, without TLS, and returns the port. Raises OSError."""
        server = grpc.aio.server(handlers=[self], options=_OPTIONS, maximum_concurrent_rpcs=_MAX_CALLS)
        host = f"[{address}]" if ":" in address else address
        try:
            bound = int(server.add_insecure_port(f"{host}:{port}"))
        except RuntimeError as error:
            raise OSError(str(error)) from error
        if not bound:
            raise OSError(f"cannot listen at {host}:{port}")
        await server.start()
        self._servers.append(server)
        return bound

    async def close(self) -> None:
        """Ends all calls."""
        for server in self._servers:
            await server.stop(None)
        self._servers.clear()

    def service(self, handler_call_details: Any) -> Any:
        """Returns the handler of a method; None for other methods, which are answered with UNIMPLEMENTED."""
        signal = _SERVICES.get(handler_call_details.method)
        return None if signal is None else grpc.unary_unary_rpc_method_handler(partial(self._export, signal))

    async def _export(self, signal: Signal, body: bytes, call: Any) -> bytes:
        key = next((value for name, value in call.invocation_metadata() or () if name == KEY_HEADER), "")
        try:
            refusal = await self._receiver.export(signal, body, key)
        except TelemetryRefusedError as error:
            await call.abort(_STATUS[GRPC_CODES.get(error.status, 2)], str(error))
            raise
        return partial_success(refusal.rejected, refusal.reason)
