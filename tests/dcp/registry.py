"""The registry of scenarios, and the parts that several of them use."""

import json
import sys
from collections.abc import Callable
from typing import Any

from tests.dcp.talk import Talk

Scenario = Callable[[Talk], Any]
SCENARIOS: dict[str, Scenario] = {}
PYTHON = sys.executable
WAITS = {"executablePath": "/bin/sleep", "args": ["1000"]}
LINES = (
    "import sys\nfor word in 'one two three four five'.split(): print(word, flush=True)\nprint('bad', file=sys.stderr)"
)
OUTPUT = "one\ntwo\nthree\nfour\nfive\n"
SHOWS = "import os, sys; print(sys.argv[1:], sorted((k, v) for k, v in os.environ.items() if k.startswith('T_')))"


def scenario(name: str) -> Callable[[Scenario], Scenario]:
    def add(function: Scenario) -> Scenario:
        assert name not in SCENARIOS, name
        SCENARIOS[name] = function
        return function

    return add


def python(code: str, *args: str, **spec: Any) -> dict[str, Any]:
    return {"executablePath": PYTHON, "args": ["-c", code, *args], **spec}


def producer(*entries: Any) -> dict[str, str]:
    return {"service-producer": json.dumps(entries)}
