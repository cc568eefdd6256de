"""A part of the app that the view is tested with: it does what the file named after it says, line by line."""

import sys
import time
from pathlib import Path

name = sys.argv[1]
script = Path(f"{name}.txt")
for line in script.read_text().splitlines() if script.exists() else ():
    word, _, rest = line.partition(" ")
    if word == "say":
        sys.stdout.write(f"{rest}\n")
    elif word == "warn":
        time.sleep(0.02)
        sys.stderr.write(f"{rest}\n")
    elif word == "await":
        while not Path(rest).exists():
            time.sleep(0.01)
    elif word == "exit":
        sys.exit(int(rest))
if name != "migrate":
    time.sleep(600)
