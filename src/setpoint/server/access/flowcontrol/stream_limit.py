"""Limits the number of open streams, such as watches and followed logs, which last too long to hold seats."""

from setpoint.server.access.flowcontrol.unsent_bytes import Unsent
from setpoint.server.message import Buffered, Sink, Stream


class Streams:
    """The open streams of a server. One user may have at most three quarters of them, so that other users are not
    locked out."""

    def __init__(self, most: int, unsent: Unsent) -> None:
        self.unsent = unsent
        self._most = most
        self._most_of_one = max(most * 3 // 4, 1)
        self.open = 0
        self._by_user: dict[str, int] = {}

    def is_full(self, user: str) -> bool:
        """Returns True if the user may not open another stream."""
        return self.open >= self._most or self._by_user.get(user, 0) >= self._most_of_one

    def counted(self, user: str, stream: Stream) -> Stream:
        """Returns the stream, counted from its start to its end."""
        return _Counted(self, user, stream)

    def opened(self, user: str) -> None:
        self.open += 1
        self._by_user[user] = self._by_user.get(user, 0) + 1

    def closed(self, user: str) -> None:
        self.open -= 1
        left = self._by_user[user] - 1
        if left:
            self._by_user[user] = left
        else:
            del self._by_user[user]


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
