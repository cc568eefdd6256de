"""The bytes of requests as HTTP/1.1 has them, and ways to break them."""

import re
from random import Random

from tests.fuzz.paths import target
from tests.server.damage import Asked

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff]*")
# The server answers these itself, or they change the meaning of what follows on the connection.
_FRAMING = frozenset(("content-length", "transfer-encoding", "connection", "upgrade", "expect", "host"))
_KNOWN = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))

GARBAGE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(18),
    b"\0" * 100,
    b"\r\n" * 500,
    b"GET\r\n\r\n",
    b"GET /\r\n\r\n",
    b"GET / HTTP/1.1",
    b" GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET  /  HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\nHost: x\n\n",
    b"GET / HTTP/1.1\rHost: x\r\r",
    b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\nabc",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://x/healthz HTTP/1.1\r\nHost: y\r\n\r\n",
    b"GET //x//healthz HTTP/1.1\r\nHost: y\r\n\r\n",
    b"SSH-2.0-x\r\n",
    b"<policy-file-request/>\0",
)
VERSIONS = (b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/9.9", b"HTTP/1.12", b"http/1.1", b"HTTP/1.", b"", b"XTTP/1.1")
LENGTHS = (
    b"-1",
    b"+5",
    b"0x5",
    b"5 5",
    b"5,5",
    b"5, 6",
    b"9" * 30,
    b"",
    b"\0",
    b"1e3",
    b"18446744073709551616",
    b"00005",
)
CODINGS = (
    *(b"chunked", b"chunked, chunked", b"identity", b"gzip, chunked", b"chunked, gzip", b" chunked", b"xchunked"),
    *(b"\x0bchunked", b"chunked;a=b", b"CHUNKED", b"", b"chunked\r\nTransfer-Encoding: identity", b"chunked, "),
)
CHUNKS = (
    *(b"5\r\nhello\r\n0\r\n\r\n", b"-1\r\nhello\r\n0\r\n\r\n", b"FFFFFFFFFFFFFFFFF\r\nhello", b"5hello\r\n0\r\n\r\n"),
    *(b"0x5\r\nhello\r\n0\r\n\r\n", b"5\nhello\n0\n\n", b"5;" + b"a" * 5000 + b"\r\nhello\r\n0\r\n\r\n", b"\r\n\r\n"),
    *(b"5\r\nhello0\r\n\r\n", b"0\r\nTrailer: " + b"a" * 5000 + b"\r\n\r\n", b"0\r\nContent-Length: 5\r\n\r\nhello"),
    *(b"7FFFFFFFFFFFFFFF\r\nhello", b"5 \r\nhello\r\n0\r\n\r\n", b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
)
LINES = (
    *(
        b"a",
        b": a",
        b"a : b",
        b"a\0b: c",
        b"a: b\0c",
        b"a: b\rc",
        b" folded",
        b"a: " + b"\xff" * 50,
        b"a" * 70_000 + b": b",
    ),
    *(
        b"Host: y",
        b"Host:",
        b"Content-Length: 5",
        b"Expect: 100-continue",
        b"Expect: zz",
        b"Connection: close, keep-alive",
    ),
    *(
        b"Connection: Content-Length",
        b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk",
    ),
    *(b"Upgrade: websocket", b"Connection: upgrade", b"Cookie: a=b", b"X: " + b"b" * 70_000, b"Range: bytes=0-1"),
    *(b"Impersonate-User: a\r\nImpersonate-User: b", b"Impersonate-Extra-%zz: a", b"Authorization: Basic !!!"),
    *(
        b"Authorization: Bearer " + b"a" * 9000,
        b"Authorization: Bearer a.b.c",
        b"Authorization: Bearer eyJhbGciOiJub25lIn0.e30.",
    ),
    *(
        b"Accept: " + b",".join([b"a/b;q=0.1"] * 900),
        b"Accept-Encoding: gzip;q=nan",
        b"Date: x",
        b"Content-Encoding: gzip",
    ),
)


def intact(asked: Asked) -> bool:
    """Tells if the framing of the request is valid, so that exactly one answer to it is due."""
    return (
        asked.method in _KNOWN
        and _VISIBLE.fullmatch(target(asked)) is not None
        and target(asked).startswith("/")
        and not _FRAMING & asked.headers.keys()
        and all(_TOKEN.fullmatch(name) and _VALUE.fullmatch(value) for name, value in asked.headers.items())
    )


def encoded(asked: Asked, token: str, random: Random) -> bytes:
    """The request as it goes over the wire."""
    data = asked.data
    lines = [f"{asked.method} {target(asked)} HTTP/1.1", "Host: fuzz"]
    if token and "authorization" not in asked.headers:
        lines.append(f"Authorization: Bearer {token}")
    lines += [f"{name}: {value}" for name, value in asked.headers.items()]
    if data and random.random() < 0.05:
        lines.append("Transfer-Encoding: chunked")
        size = random.choice((1, 7, 1000)) if len(data) < 500 else 1000
        parts = [data[start : start + size] for start in range(0, len(data), size)]
        data = b"".join([b"%x\r\n%b\r\n" % (len(part), part) for part in parts]) + b"0\r\n\r\n"
    elif data or asked.method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(data)}")
    head = "\r\n".join(lines) + "\r\n\r\n"
    return head.encode("utf-8", "surrogatepass") + data


def broken(data: bytes, random: Random) -> bytes:
    """The bytes of a request after damage to its framing."""
    match random.randrange(12):
        case 0:
            return random.choice(GARBAGE)
        case 1:
            return random.randbytes(random.choice((1, 10, 500)))
        case 2:
            return data[: random.randrange(len(data))]
        case 3:
            return _changed(data, random)
        case 4:
            return data.replace(b"HTTP/1.1", random.choice(VERSIONS), 1)
        case 5:
            return _with_line(data, b"Content-Length: " + random.choice(LENGTHS))
        case 6:
            return _with_line(data, b"Transfer-Encoding: " + random.choice(CODINGS))
        case 7:
            head = data.partition(b"\r\n\r\n")[0]
            head = b"\r\n".join([line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")])
            return head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + random.choice(CHUNKS)
        case 8:
            method = random.choice(
                (b"get", b"G\0T", b"A" * 5000, b"", b"\xff", b"GET\t", b"TRACE", b"PROPFIND", b"SUBSCRIBE")
            )
            return method + b" " + data.partition(b" ")[2]
        case 9:
            path = random.choice(
                (
                    b"/" * 5000,
                    b"/\0",
                    b"/\xff\xfe",
                    b"/api/v1/\r\nX: y",
                    b"/a b c",
                    b"http://[::1",
                    b"/%",
                    b"/?" + b"a=b&" * 9000,
                )
            )
            method, _, rest = data.partition(b" ")
            return method + b" " + path + b" " + rest.partition(b" ")[2]
        case 10 if random.random() < 0.03:
            return _with_line(
                data,
                b"\r\n".join([b"h%d: v" % number for number in range(20_000)]) + b"\r\n" + b"x: " + b"y" * (1 << 20),
            )
        case _:
            return _with_line(data, b"\r\n".join(random.choices(LINES, k=random.choice((1, 1, 2, 3)))))


def _with_line(data: bytes, line: bytes) -> bytes:
    first, _, rest = data.partition(b"\r\n")
    return first + b"\r\n" + line + b"\r\n" + rest


def _changed(data: bytes, random: Random) -> bytes:
    made = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        place = random.randrange(len(made))
        match random.randrange(3):
            case 0:
                made[place] ^= 1 << random.randrange(8)
            case 1:
                made[place:place] = random.choice(
                    (b"\0", b"\r", b"\n", b"\r\n", b"\xff", b":", b" ", b"\t", b"\r\n\r\n")
                )
            case _:
                del made[place : place + random.choice((1, 2, 10))]
        if not made:
            break
    return bytes(made)


FRAME_KINDS = (*range(16), 0x81, 0x82, 0x88, 0x89, 0x8A, 0xC1, 0xF2)


def frames(random: Random) -> bytes:
    """Frames of a WebSocket, few of which are valid."""
    made = b""
    for _ in range(random.choice((1, 2, 5))):
        payload = random.choice(
            (b"", b"\0a", b"\xff\xfe", b"a" * 126, b"a" * 70_000, b"\x03\xe8", b"\x03", b"\xff\0{}", b"\x04{")
        )
        first = random.choice(FRAME_KINDS)
        masked = 0x80 if random.random() < 0.8 else 0
        size = len(payload) if random.random() < 0.8 else random.choice((2**63, 2**64 - 1, 2**31, 125, 0))
        if size < 126:
            length = bytes((masked | size,))
        elif size < 1 << 16:
            length = bytes((masked | 126,)) + size.to_bytes(2)
        else:
            length = bytes((masked | 127,)) + size.to_bytes(8)
        made += bytes((first,)) + length + (b"\0\0\0\0" if masked else b"") + payload
    return made if random.random() < 0.8 else made + random.randbytes(20)
