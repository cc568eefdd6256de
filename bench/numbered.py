"""Requests with a number of their own in them, for the clients of benchmarks."""

from collections.abc import Iterator
from itertools import count

NUMBER = "{n}"


def numbered(method: str, path: str, body: str, headers: str, content_type: str, first: int) -> Iterator[bytes]:
    """Requests without end. `{n}` in the path or the body becomes a number of its own for each."""
    head = f"Host: 127.0.0.1\r\nUser-Agent: bench\r\n{headers}"
    if content_type:
        head += f"Content-Type: {content_type}\r\n"
    for number in count(first):
        sent = body.replace(NUMBER, str(number)).encode()
        target = path.replace(NUMBER, str(number))
        length = f"Content-Length: {len(sent)}\r\n" if sent else ""
        request = f"{method} {target} HTTP/1.1\r\n{head}{length}\r\n".encode() + sent
        if NUMBER not in path + body:
            # To make it anew would be most of the client's work.
            while True:
                yield request
        yield request
