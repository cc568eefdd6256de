"""Limits the number of open streams, such as watches and followed logs, which last too long to hold seats."""

from setpoint.server.access.flowcontrol.unsent_bytes import Unsent
from setpoint.server.access.flowcontrol.user_shares import UserShares
from setpoint.server.message import Buffered, Sink, Stream


class Streams(UserShares):
    """The open streams of a server."""

    def __init__(self, most: int, unsent: Unsent) -> None:
        super().__init__(most)
        self.unsent = unsent

    def counted(self, user: str, stream: Stream) -> Stream:
        """Returns the stream, counted from its start to its end."""
        return _Counted(self, user, stream)


class _Counted:
    def __init__(self, streams: Streams, user: str, stream: Stream) -> None:
        self._streams = streams
        self._user = user
        self._stream = stream

    async def run(self, sink: Sink) -> None:
        self._streams.opened(self._user)
        if isinstance(sink, Buffered):
            sink.count_unsent(self._streams.unsent, self._user)
        try:
            await self._stream.run(sink)
        finally:
            self._streams.closed(self._user)
