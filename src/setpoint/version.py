"""The version of Setpoint, in a module of its own: whoever needs no more than the version imports no more."""

from typing import Final

VERSION: Final = "0.1.0"
