"""Loads files of controllers, each in a process of its own that is forked off this one, and prints what was said of
each as JSON: run with the directories, modules and names as an argument."""

import json
import os
import sys
from pathlib import Path

from setpoint.session.controllers.loader import LoadError, load


def said(directory: str, module: str, name: str) -> str:
    """What becomes of one: the names of its controllers, or why it is refused."""
    reading, writing = os.pipe()
    if not os.fork():
        try:
            text = ",".join(each.name for each in load(module, Path(directory), name).controllers)
        except LoadError as error:
            text = f"refused: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        return answer.read().decode()


if __name__ == "__main__":
    sys.stdout.write(json.dumps([said(*each) for each in json.loads(sys.argv[1])]))
