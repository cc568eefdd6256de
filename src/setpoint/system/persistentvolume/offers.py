"""Available volumes that were offered to waiting claims.

A claim may choose another volume than the offered one. Then the offered volume looks for the next claim, so that no
volume and claim that suit each other stay apart, and no claim has to ask periodically.
"""

from collections.abc import Callable

from setpoint.controller.request import Request


class Offers:
    """The offered volumes by claim. `wake_claim` and `wake_volume` queue a reconcile."""

    def __init__(self, wake_claim: Callable[[Request], None], wake_volume: Callable[[Request], None]) -> None:
        self._wake_claim = wake_claim
        self._wake_volume = wake_volume
        self._offered: dict[Request, set[Request]] = {}

    def offer(self, claim: Request, volume: Request) -> None:
        """Offers a volume to a claim."""
        self._offered.setdefault(claim, set()).add(volume)
        self._wake_claim(claim)

    def settled(self, claim: Request) -> None:
        """Lets the volumes that were offered to a bound or deleted claim look for another claim."""
        for volume in sorted(self._offered.pop(claim, ())):
            self._wake_volume(volume)
