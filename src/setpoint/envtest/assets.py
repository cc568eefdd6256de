"""Writes the executables that envtest starts, for this installation of ours.

Each is a small shell script that runs the Python which wrote it, with the packages that it had. Questions for help and
versions they answer by themselves: envtest asks for help at every start, and Python would take longer for it than for
all the rest.
"""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import setpoint
from setpoint.envtest.flags import help_text
from setpoint.schema.builtin import RELEASE
from setpoint.server import secret_files

MARK = "# Written by `setpoint envtest-assets`, which writes it anew."

_PROGRAMS = Path(__file__).parent

_SCRIPT = """\
#!/bin/sh
{mark}
case "$1" in
-h|--help|help)
cat <<'END'
{help}END
exit 0 ;;
--version|--version=true|version)
echo {version}
exit 0 ;;
esac
exec {command} "$@"
"""

_KUBECTL = """\
#!/bin/sh
{mark}
# It runs the kubectl that is on the path, for that one is not ours.
set -f
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd -P)
IFS=:
for place in $PATH; do
    if [ -x "$place/kubectl" ] && [ "$(cd "$place" && pwd -P)" != "$here" ]; then
        unset IFS
        exec "$place/kubectl" "$@"
    fi
done
echo "kubectl: there is none on the path; install it (https://kubernetes.io/docs/tasks/tools) to use it in tests" >&2
exit 127
"""

_ETCD_HELP = """\
Setpoint in the place of etcd, for tests: it is there, it is well, and objects are kept by kube-apiserver.

Flags:
  --listen-client-urls 'http://localhost:2379'
    Where to answer.
  --data-dir ''
    Where kube-apiserver leaves its objects for the next one.
  --advertise-client-urls, --listen-peer-urls, --unsafe-no-fsync and all others
    Accepted; they change nothing.
"""


class AssetsError(Exception):
    """The executables cannot be written there; says why, and what to do."""


def write(directory: Path) -> None:
    """Writes `kube-apiserver`, `etcd` and `kubectl` into a directory. Files that are not ours stay: AssetsError."""
    if sys.platform == "win32":
        raise AssetsError("the executables are shell scripts, and Windows runs none: use WSL")
    scripts = _scripts()
    for name in scripts:
        path = directory / name
        if path.exists() and MARK not in path.read_text(errors="replace")[:200]:
            raise AssetsError(f"{path} is not ours and is left as it is: choose another directory")
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in scripts.items():
        secret_files.write(directory / name, text.encode(), 0o755)


def _scripts() -> Mapping[str, str]:
    # `-I` and `-S`: whatever the environment of a test says about Python, and without looking for packages again.
    python = [sys.executable, "-I", "-S"]
    start = (
        f"import sys; sys.path += {_paths()!r}\n"
        "from setpoint.envtest.kube_apiserver import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    return {
        "kube-apiserver": _SCRIPT.format(
            mark=MARK,
            help=help_text(),
            version=shlex.quote(f"Kubernetes {RELEASE}+setpoint.{setpoint.__version__}"),
            command=shlex.join([*python, "-c", start]),
        ),
        "etcd": _SCRIPT.format(
            mark=MARK,
            help=_ETCD_HELP,
            version=shlex.quote(f"etcd Version: 3.6.0 (setpoint {setpoint.__version__})"),
            command=shlex.join([*python, str(_PROGRAMS / "etcd.py")]),
        ),
        "kubectl": _KUBECTL.format(mark=MARK),
    }


def _paths() -> list[str]:
    """Where this process finds packages, us first: we may have been found in a way that a path cannot tell. The place
    where it happened to be started is left out."""
    by_chance = {"", str(Path.cwd()), str(Path(sys.argv[0]).parent)}
    ours = str(Path(setpoint.__file__).parents[1])
    return list(dict.fromkeys((ours, *(path for path in sys.path if path not in by_chance))))
