"""Settings for every test: properties are about behaviour, so none may fail because the machine is busy."""

import pytest
from hypothesis import settings

settings.register_profile("setpoint", deadline=None)
settings.load_profile("setpoint")


def pytest_addoption(parser: pytest.Parser) -> None:
    more = "repeat random tests many times more often, for hours if need be; the marker slow is something else"
    parser.addoption("--long", action="store_true", help=more)
