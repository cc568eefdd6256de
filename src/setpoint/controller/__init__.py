"""Controllers: the loop that brings what is to what should be, and everything around it.

This package is also what `@setpoint.controller(Kind)` calls: a module and a decorator cannot have one name in any other
way.
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
