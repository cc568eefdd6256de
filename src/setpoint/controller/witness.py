"""The witness of controllers: sees the ends of reconciles and the failures that are otherwise only logged."""

from typing import Protocol

from setpoint.controller.pace import HotLoop
from setpoint.controller.run_record import ReconcileRecord


class Witness(Protocol):
    """Sees the runs of a controller. A test world fails the test for unexpected failures."""

    def run_ended(self, run: ReconcileRecord) -> None:
        """Sees the end of a reconcile or a daemon, with its result."""

    def source_failed(self, controller: str, source: str, error: Exception) -> None:
        """Sees the exception of a source: of the function of a stream, a timer or a watch."""

    def hot_loop_found(self, controller: str, hot: HotLoop) -> None:
        """Sees that the reconciles of an object trigger each other."""
