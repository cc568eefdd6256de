"""Why a call came to nothing, in the words of Go's client: those are what people search for."""

import os
import socket
import ssl

from setpoint.client.http.connection import MAX_HEAD_BYTES, Broken, Loss
from setpoint.objects.gotext import quote

# What OpenSSL finds wrong with a certificate, by its number.
_NOT_YET_VALID, _EXPIRED = 9, 10
_NOT_TRUSTED = frozenset((2, 18, 19, 20, 21, 27))
_OTHER_NAME = frozenset((62, 64))
# The plain beginning of an answer that came where a handshake was due.
_PLAIN_HTTP = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")

DEADLINE = "context deadline exceeded"


class CallFailed(Exception):  # noqa: N818 - it says what happened
    """No answer came. The text says why."""


def in_body(why: str) -> CallFailed:
    """The answer began, and its body did not end."""
    return CallFailed(f"unexpected error when reading response body. Please retry. Original error: {why}")


def before_answer(method: str, url: str, why: str) -> CallFailed:
    """No answer began."""
    return CallFailed(f"{method.capitalize()} {quote(url)}: {why}")


def of_dial(address: str, error: OSError) -> str:
    """No connection was made."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: x509: {_certificate(error)}"
    if isinstance(error, ssl.SSLError):
        if error.reason in _PLAIN_HTTP:
            return "http: server gave HTTP response to HTTPS client"
        return f"remote error: tls: {(error.reason or str(error)).replace('_', ' ').lower()}"
    if isinstance(error, TimeoutError):
        return "net/http: TLS handshake timeout"
    if isinstance(error, ConnectionError) and error.errno is None:
        return "EOF"
    return f"dial tcp {address}: connect: {_system(error)}"


def of_lookup(host: str, error: OSError | UnicodeError) -> str:
    """The name of the host leads nowhere, or is none."""
    if isinstance(error, UnicodeError) or error.errno in (socket.EAI_NONAME, socket.EAI_NODATA):
        return f"dial tcp: lookup {host}: no such host"
    return f"dial tcp: lookup {host}: {_system(error)}"


def of_exchange(broken: Broken, body_bytes: int) -> str:
    """An answer did not come whole; at most so many bytes of its body were taken."""
    match broken.loss:
        case Loss.CLOSED | Loss.CUT:
            is_half = broken.has_begun and (broken.error is None or not broken.has_head)
            return "unexpected EOF" if is_half else _of_loss(broken.error)
        case Loss.NOT_HTTP:
            return f"net/http: HTTP/1.x transport connection broken: malformed HTTP response {quote(broken.text)}"
        case Loss.BAD_BODY:
            return "invalid byte in chunk length"
        case Loss.LARGE_HEAD:
            return f"net/http: server response headers exceeded {MAX_HEAD_BYTES} bytes; aborted"
        case Loss.LARGE_BODY:
            return f"the answer is larger than {body_bytes} bytes"
        case Loss.SWITCHED:
            return "the server wants to change the protocol"


def _of_loss(error: Exception | None) -> str:
    """The connection was lost."""
    if error is None or not isinstance(error, OSError) or error.errno is None:
        return "EOF"
    return f"read: {_system(error)}"


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    code = error.verify_code
    if code in (_NOT_YET_VALID, _EXPIRED):
        return f"certificate has expired or is not yet valid: {error.verify_message}"
    if code in _NOT_TRUSTED:
        return "certificate signed by unknown authority"
    if code in _OTHER_NAME:
        # OpenSSL names the host that was asked for.
        return error.verify_message.partition(", ")[2].rstrip(".") or error.verify_message
    return error.verify_message


def _system(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
