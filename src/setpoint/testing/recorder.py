"""A recorder that keeps events for a test, without writing them."""

from collections.abc import Mapping
from typing import NamedTuple

from setpoint.client.kinds import AnyObject, tree_of
from setpoint.objects import meta
from setpoint.objects.tree import Object


class Told(NamedTuple):
    """One recorded event.

    assert Told("Normal", "Published", "serves at /a", "Website default/a") in recorder.told
    """

    type: str
    reason: str
    note: str
    # `Kind namespace/name` of the object.
    about: str

    @classmethod
    def of(cls, event: Object) -> "Told":
        """Converts an event of the server, of either API version."""
        about = event.get("regarding") or event.get("involvedObject") or {}
        where = f"{about['namespace']}/{about.get('name', '')}" if about.get("namespace") else about.get("name", "")
        note = event.get("note") or event.get("message") or ""
        return cls(event.get("type", ""), event.get("reason", ""), note, f"{about.get('kind', '')} {where}")


class Recorder:
    """A replacement for the recorder of a manager; `told` has the recorded events in order.

    controller.recorder = recorder = Recorder()
    ...
    assert [told.reason for told in recorder.told] == ["Published"]
    """

    def __init__(self) -> None:
        self.told: list[Told] = []

    def normal(
        self,
        regarding: AnyObject,
        reason: str,
        note: str,
        *,
        action: str = "",
        related: AnyObject | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self._record("Normal", regarding, reason, note)

    def warning(
        self,
        regarding: AnyObject,
        reason: str,
        note: str,
        *,
        action: str = "",
        related: AnyObject | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self._record("Warning", regarding, reason, note)

    def _record(self, kind: str, regarding: AnyObject, reason: str, note: str) -> None:
        tree = tree_of(regarding)
        namespace = meta.namespace(tree)
        name = f"{namespace}/{meta.name(tree)}" if namespace else meta.name(tree)
        self.told.append(Told(kind, reason, note, f"{tree.get('kind', '')} {name}"))
