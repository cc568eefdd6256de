"""The errors of failed calls, in the wording of Go's client, which users search for."""

import os
import socket
import ssl

from setpoint.client.http.connection import MAX_HEAD_BYTES, Broken, Loss
from setpoint.objects.gotext import quote

# OpenSSL's verification error codes.
_NOT_YET_VALID, _EXPIRED = 9, 10
_NOT_TRUSTED = frozenset((2, 18, 19, 20, 21, 27))
_OTHER_NAME = frozenset((62, 64))
# OpenSSL's errors for a plain HTTP response instead of a TLS handshake.
_PLAIN_HTTP = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")

DEADLINE = "context deadline exceeded"


class CallFailed(Exception):  # noqa: N818 - an outcome
    """No complete response was received. The message says why."""


def in_body(why: str) -> CallFailed:
    """Returns the error for a response whose body is incomplete."""
    return CallFailed(f"unexpected error when reading response body. Please retry. Original error: {why}")


def before_answer(method: str, url: str, why: str) -> CallFailed:
    """Returns the error for a call that failed before the response."""
    return CallFailed(f"{method.capitalize()} {quote(url)}: {why}")


def of_dial(address: str, error: OSError) -> str:
    """Describes a failed connection attempt."""
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
    """Describes a failed lookup of a host name."""
    if isinstance(error, UnicodeError) or error.errno in (socket.EAI_NONAME, socket.EAI_NODATA):
        return f"dial tcp: lookup {host}: no such host"
    return f"dial tcp: lookup {host}: {_system(error)}"


def of_exchange(broken: Broken, body_bytes: int) -> str:
    """Describes an incomplete or invalid response; `body_bytes` is the size limit of the body."""
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
            return f"the response is larger than {body_bytes} bytes"
        case Loss.SWITCHED:
            return "the server responded with a protocol upgrade"


def _of_loss(error: Exception | None) -> str:
    """Describes a lost connection."""
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
        # OpenSSL's message contains the requested host.
        return error.verify_message.partition(", ")[2].rstrip(".") or error.verify_message
    return error.verify_message


def _system(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
