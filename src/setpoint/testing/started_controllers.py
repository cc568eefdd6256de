"""The controllers that a world runs, and their state for a copy of the world."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from setpoint.controller.controller import Controller
from setpoint.controller.declare import controller_of
from setpoint.controller.queue import QueueState
from setpoint.controller.request import Request


class ManagerState(NamedTuple):
    """The declarations of the controllers of a manager, their queues, and the options of the manager."""

    targets: Sequence[object]
    queues: Sequence[QueueState[Request] | None]
    options: dict[str, Any]


class Started(NamedTuple):
    """The arguments of `run`, and the controllers that were created for them."""

    targets: Sequence[object]
    controllers: Sequence[Controller]
    options: dict[str, Any]

    def state(self) -> ManagerState:
        for target in self.targets:
            if isinstance(target, Controller):
                raise TypeError(
                    f"the controller {target.name} cannot be created again for a copy of the world: declare it with "
                    "@sp.controller(Kind), and give `run` the declared function or class"
                )
        queues = [each.queue.state() if each.continues_queue else None for each in self.controllers]
        return ManagerState(self.targets, queues, self.options)


def as_controller(target: object) -> Controller:
    """Returns a controller for a controller, a declaration, or an object with a `controller` method such as an FSM."""
    make = getattr(target, "controller", None)
    if isinstance(target, Controller) or not callable(make):
        return controller_of(target)
    made: Controller = make()
    return made
