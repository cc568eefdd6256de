"""Records scenarios from the real server: `python -m tests.oracle.record tests/golden/scenarios/AREA/ID.yaml ...`.

A new scenario has requests only; this writes the answers of the real server into the file as `expect`.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.oracle.peers import oracle, write_files
from tests.oracle.programs import missing

_REPLAY = Path(__file__).parents[1] / "golden" / "replay.py"


def main() -> int:
    if lacking := missing("etcd", "kube-apiserver"):
        print(f"{', '.join(lacking)} are not built; run `make oracle`, which needs Go", file=sys.stderr)
        return 2
    with TemporaryDirectory() as name:
        directory = Path(name)
        with oracle(directory, write_files(directory)) as server:
            command = [sys.executable, str(_REPLAY), "record", "--kubeconfig", str(server.kubeconfig), *sys.argv[1:]]
            return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
