"""The selectors of all autoscalers, by a label that their pods must have.

Two autoscalers must not scale the same pods. The index finds the autoscalers of a pod by the labels of the pod, so that
an examination does not compare the pods with the selectors of all autoscalers.
"""

from collections.abc import Iterator, Mapping

from setpoint.controller.request import Request
from setpoint.objects.labels import Selector

# The namespace, and a label with its value; empty for a selector that requires no label with one value.
_Place = tuple[str, str, str]


class AutoscalerSelectors:
    """The selectors of autoscalers."""

    def __init__(self) -> None:
        self._places: dict[Request, _Place] = {}
        self._selectors: dict[_Place, dict[Request, Selector]] = {}

    def set(self, key: Request, selector: Selector) -> None:
        """Records the selector of an autoscaler."""
        label, value = next(iter(selector.required().items()), ("", ""))
        place = key.namespace, label, value
        if self._places.get(key) != place:
            self.remove(key)
        self._places[key] = place
        self._selectors.setdefault(place, {})[key] = selector

    def remove(self, key: Request) -> None:
        """Forgets an autoscaler."""
        place = self._places.pop(key, None)
        if place is not None:
            found = self._selectors[place]
            del found[key]
            if not found:
                del self._selectors[place]

    def matching(self, namespace: str, labels: Mapping[str, str] | None) -> Iterator[Request]:
        """Yields the autoscalers with a selector that matches a pod with these labels."""
        for label, value in (("", ""), *(labels or {}).items()):
            for key, selector in self._selectors.get((namespace, label, value), {}).items():
                if selector.matches(labels):
                    yield key
