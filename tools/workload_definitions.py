"""Makes the file of workload definitions from the classes: `python -m tools.workload_definitions`."""

import zlib
from pathlib import Path

import msgspec

from setpoint.workload.kinds import definitions
from setpoint.workload.kinds.all import SERVED


def contents() -> bytes:
    """The definitions as JSON, as the classes say them."""
    return msgspec.json.encode([kind.crd() for kind in SERVED])


def main() -> None:
    path = Path(definitions.__file__).with_name(definitions.FILE)
    path.write_bytes(zlib.compress(contents(), 9))


if __name__ == "__main__":
    main()
