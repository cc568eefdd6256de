"""Settings for every test: properties are about behaviour, so none may fail because the machine is busy."""

import os

import pytest
from hypothesis import settings
from tests.event_loops import loop_factory as loop_factory
from tests.event_loops import pytest_fixture_setup as pytest_fixture_setup
from tests.event_loops import pytest_pycollect_makeitem as pytest_pycollect_makeitem
from tests.event_loops import pytest_pyfunc_call as pytest_pyfunc_call
from tests.event_loops import test_loop as test_loop
from tests.stuck_tests import add_option
from tests.stuck_tests import pytest_configure as pytest_configure
from tests.stuck_tests import pytest_exception_interact as pytest_exception_interact
from tests.stuck_tests import pytest_runtest_protocol as pytest_runtest_protocol
from tests.stuck_tests import pytest_unconfigure as pytest_unconfigure

settings.register_profile("setpoint", deadline=None)
settings.load_profile("setpoint")
# Each command of a test runs in its own process; the tests of the resident process turn it on.
os.environ["SETPOINT_RESIDENT"] = "off"


def pytest_addoption(parser: pytest.Parser) -> None:
    more = "repeat random tests many times more often, for hours if need be; the marker slow is something else"
    parser.addoption("--long", action="store_true", help=more)
    add_option(parser)
