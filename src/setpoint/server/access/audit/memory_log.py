"""Audit events kept in memory, for tests that assert which requests were made."""

from collections import deque

import msgspec

from setpoint.objects.tree import Object

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict).decode


class Collected:
    """The most recent events, oldest first."""

    def __init__(self, most: int = 10_000) -> None:
        # Encoded at once, because the event changes after this call.
        self._lines: deque[bytes] = deque(maxlen=most)

    def write(self, event: Object) -> bool:
        self._lines.append(_encode(event))
        return True

    @property
    def events(self) -> list[Object]:
        """All events that are kept."""
        return [_decode(line) for line in self._lines]

    def requests(self, stage: str = "ResponseComplete") -> list[str]:
        """Returns one line for each request, such as `create configmaps default/a 201`."""
        return [_summary(event) for event in self.events if event["stage"] == stage]

    def clear(self) -> None:
        self._lines.clear()

    def errors(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        """Returns at once: no events are pending."""


def _summary(event: Object) -> str:
    reference = event.get("objectRef")
    code = (event.get("responseStatus") or {}).get("code", "")
    if reference is None:
        return f"{event['verb']} {event['requestURI']} {code}"
    resource = "/".join(reference[part] for part in ("resource", "subresource") if part in reference)
    name = "/".join(reference[part] for part in ("namespace", "name") if part in reference)
    return " ".join(part for part in (event["verb"], resource, name, str(code)) if part)
