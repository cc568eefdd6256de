"""Controllers: the reconcile loop, and its client, queue, leader election, metrics and webhooks.

This package is also the callable behind `@setpoint.controller(Kind)`: the module object itself has to be callable for a
module and a decorator to share one name.
"""

import sys
from types import ModuleType
from typing import Any


class _Decorator(ModuleType):
    """A module that can be called."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        from setpoint.controller.declare import controller

        return controller(*args, **settings)


sys.modules[__name__].__class__ = _Decorator
