"""The errors of an engine by type, derived once from status and message, so that callers need not parse messages.

Docker and Podman differ in both (Podman responds to many conflicts with 500), so either one determines the type.
"""

import json
import re


class EngineError(Exception):
    """The engine responded with an error. `remedy` is the action for the user, if known."""

    remedy = ""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class BadRequest(EngineError):  # noqa: N818 - named after the condition, as all of these are
    """The engine rejects the request as invalid."""


class NotFound(EngineError):  # noqa: N818
    """The container, network, volume or exec does not exist."""


class NoSuchImage(NotFound):
    """The image is neither on this machine nor in a registry that was tried."""

    remedy = "check the name of the image; with the pull policy `never` the image must be built or pulled before"


class Conflict(EngineError):  # noqa: N818
    """The name is taken, or the state does not allow the request."""


class NameTaken(Conflict):
    """The name is already in use."""

    remedy = "choose another name, or remove the resource with this name"


class InUse(Conflict):
    """The resource cannot be removed while in use."""


class NotRunning(Conflict):
    """The operation requires a running container."""


class AlreadyConnected(Conflict):
    """The container is already connected to the network."""


class NotConnected(Conflict):
    """The container is not connected to the network."""


class AddressInUse(EngineError):  # noqa: N818
    """Another program uses a port that should be published."""

    remedy = "stop the program that holds the port, or publish another host port"


class SubnetsExhausted(EngineError):  # noqa: N818
    """The engine has no subnet left for another network."""

    remedy = "remove unused networks (`network prune`), give the network a `subnet`, or enlarge the pools"


class Denied(EngineError):  # noqa: N818
    """A registry denies access to the image."""

    remedy = "log in to the registry (`docker login` or `podman login`), or check the name of the image"


class PullFailed(EngineError):  # noqa: N818
    """The image could not be pulled."""


class BuildFailed(EngineError):  # noqa: N818
    """The image could not be built."""


class EngineLost(EngineError):  # noqa: N818
    """The engine did not respond: stopped, restarting, or too slow."""

    remedy = "start the container engine again"

    def __init__(self, message: str) -> None:
        super().__init__(0, message)


_BY_WORDS: tuple[tuple[re.Pattern[str], type[EngineError]], ...] = tuple(
    (re.compile(words, re.IGNORECASE), kind)
    for words, kind in (
        (r"address already in use|port is already allocated|ports are not available", AddressInUse),
        (
            r"non-overlapping ipv4 address pool|no free private network subnets|could not find free subnet"
            r"|all predefined address pools have been fully subnetted",
            SubnetsExhausted,
        ),
        (
            r"no such image|image not known|manifest unknown|manifest for .* not found|repository .* not found",
            NoSuchImage,
        ),
        (r"pull access denied|unauthorized|authentication required|denied: |no basic auth credentials", Denied),
        (r"is already connected to network|endpoint with name .* already exists in network", AlreadyConnected),
        (r"is not connected to (the )?network", NotConnected),
        (
            r"is already in use by|name .* (is )?already (in use|used)|already exists|already used: network",
            NameTaken,
        ),
        (
            r"has active endpoints|volume is (being used|in use)|network is being used|is in use by|image is in use"
            r"|image used by|has associated containers|is being used by",
            InUse,
        ),
        (r"is not running|not running|container state improper|can only .* running containers", NotRunning),
        (
            r"no such (container|network|volume|exec)|network not found|unable to find network|no container with",
            NotFound,
        ),
    )
)
_BY_STATUS: dict[int, type[EngineError]] = {400: BadRequest, 401: Denied, 403: Denied, 404: NotFound, 409: Conflict}


def error_of(status: int, body: bytes) -> EngineError:
    """Returns the error for a response."""
    return error_from(status, _message(body) or f"the engine responded with status {status}")


def error_from(status: int, message: str, default: type[EngineError] = EngineError) -> EngineError:
    """Returns the error for a status and a message; `default` if neither determines the type."""
    for pattern, kind in _BY_WORDS:
        if pattern.search(message):
            return kind(status, message)
    return _BY_STATUS.get(status, default)(status, message)


def _message(body: bytes) -> str:
    try:
        decoded = json.loads(body)
    except ValueError:
        return body.decode(errors="replace").strip()
    if isinstance(decoded, dict):
        for name in ("message", "error", "cause"):
            if isinstance(decoded.get(name), str) and decoded[name]:
                return str(decoded[name]).strip()
    return body.decode(errors="replace").strip()
