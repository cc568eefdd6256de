"""A process that starts views quickly: everything is imported once, and each view is a fork of it.

It reads orders from its standard input, one line of JSON each, and answers with the pid, and later the exit code.
"""

import asyncio
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.cli.view import driver


def play(order: dict[str, Any]) -> int:
    """What the fork does: takes the terminal, or a file, for its own, and shows the app on it."""
    os.setsid()
    terminal = os.open(order["terminal"], os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(terminal, descriptor)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    os.environ.clear()
    os.environ.update(order["environ"])
    directory, *asked = order["arguments"]
    os.chdir(directory)
    try:
        asyncio.run(driver.main(Path(directory), set(asked)))
        return 0
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def main() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            os._exit(play(json.loads(line)))
        answer(pid)
        answer(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
