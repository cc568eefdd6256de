"""The browser of these tests, installed before the first one: the time limit of a test is too short for that."""

from pathlib import Path

import pytest
from tests.dashboard.browser import CHROMIUM
from tests.debian import missing

_DIRECTORY = Path(__file__).parent


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(item.path.is_relative_to(_DIRECTORY) and item.get_closest_marker("slow") for item in session.items):
        missing(*CHROMIUM)
