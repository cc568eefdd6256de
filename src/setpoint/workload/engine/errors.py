"""What an engine refuses, by kind: read once from its status and words, so that nobody above reads messages.

Docker and Podman differ in both (Podman answers many conflicts with 500), so a kind is known by whichever tells.
"""

import json
import re


class EngineError(Exception):
    """The engine answered with an error. `remedy` is what the user can do about it; empty where only they can know."""

    remedy = ""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class BadRequest(EngineError):  # noqa: N818 - it says what happened, as all of these do
    """The engine does not take what was asked."""


class NotFound(EngineError):  # noqa: N818
    """There is no such container, network, volume or exec."""


class NoSuchImage(NotFound):
    """The image is not on this machine, or in no registry that was asked."""

    remedy = "check the name of the image; with the pull policy `never` it must be built or pulled before"


class Conflict(EngineError):  # noqa: N818
    """Something has that name already, or its state does not allow what was asked."""


class NameTaken(Conflict):
    """Something of that name exists."""

    remedy = "choose another name, or remove what has it"


class InUse(Conflict):
    """It cannot be removed while something uses it."""


class NotRunning(Conflict):
    """Only a running container can do that."""


class AlreadyConnected(Conflict):
    """The container is in the network."""


class NotConnected(Conflict):
    """The container is not in the network."""


class AddressInUse(EngineError):  # noqa: N818
    """Another program listens on a port that should be published."""

    remedy = "stop the program that holds the port, or publish another host port"


class SubnetsExhausted(EngineError):  # noqa: N818
    """The engine has no subnet left for another network."""

    remedy = "remove networks that nobody uses (`network prune`), give the network a `subnet`, or enlarge the pools"


class Denied(EngineError):  # noqa: N818
    """A registry does not let us have the image."""

    remedy = "log in to the registry (`docker login` or `podman login`), or check the name of the image"


class PullFailed(EngineError):  # noqa: N818
    """The image could not be pulled."""


class BuildFailed(EngineError):  # noqa: N818
    """The image could not be built."""


class EngineLost(EngineError):  # noqa: N818
    """There was no answer: the engine is gone, restarts, or takes too long."""

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
    """The error that an answer means."""
    return error_from(status, _words(body) or f"the engine answered with code {status}")


def error_from(status: int, message: str, otherwise: type[EngineError] = EngineError) -> EngineError:
    """The error that a status and a message mean; `otherwise` where they tell nothing."""
    for pattern, kind in _BY_WORDS:
        if pattern.search(message):
            return kind(status, message)
    return _BY_STATUS.get(status, otherwise)(status, message)


def _words(body: bytes) -> str:
    try:
        said = json.loads(body)
    except ValueError:
        return body.decode(errors="replace").strip()
    if isinstance(said, dict):
        for name in ("message", "error", "cause"):
            if isinstance(said.get(name), str) and said[name]:
                return str(said[name]).strip()
    return body.decode(errors="replace").strip()
