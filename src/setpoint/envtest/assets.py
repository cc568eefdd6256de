"""Writes the executables that envtest starts, for the current Python installation.

Each executable is a small shell script that runs the Python interpreter and packages that wrote the script. The scripts
answer `--help` and `--version` themselves: envtest calls `--help` at every start, and starting Python would take longer
than all the rest.
"""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import setpoint
from setpoint.envtest.flags import help_text
from setpoint.schema.builtin import RELEASE
from setpoint.server import secret_files

MARK = "# Written by `setpoint envtest-assets`, which overwrites this file."

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
# Runs the next kubectl on the PATH.
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
echo "kubectl: not found on the PATH; see https://kubernetes.io/docs/tasks/tools to install kubectl" >&2
exit 127
"""

_ETCD_HELP = """\
Setpoint's replacement of etcd, for tests: only reports health; kube-apiserver stores the objects.

Flags:
  --listen-client-urls 'http://localhost:2379'
    The URLs to listen on.
  --data-dir ''
    The directory in which kube-apiserver stores its objects for the next start.
  --advertise-client-urls, --listen-peer-urls, --unsafe-no-fsync and all others
    Accepted without effect.
"""


class AssetsError(Exception):
    """The executables cannot be written. The message says why, and how to fix this."""


def write(directory: Path) -> None:
    """Writes `kube-apiserver`, `etcd` and `kubectl` into a directory. Raises AssetsError for files of other origin."""
    if sys.platform == "win32":
        raise AssetsError("the executables are shell scripts, which Windows cannot run: use WSL")
    scripts = _scripts()
    for name in scripts:
        path = directory / name
        if path.exists() and MARK not in path.read_text(errors="replace")[:200]:
            raise AssetsError(f"{path} was not written by setpoint and is not overwritten: choose another directory")
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in scripts.items():
        secret_files.write(directory / name, text.encode(), 0o755)


def _scripts() -> Mapping[str, str]:
    # `-I` and `-S`: ignores the Python settings of the test's environment, and skips the search for packages.
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
    """Returns the import path of this process, beginning with the location of setpoint.

    The location of setpoint may come from an import hook instead of the path. The working directory is left out.
    """
    by_chance = {"", str(Path.cwd()), str(Path(sys.argv[0]).parent)}
    ours = str(Path(setpoint.__file__).parents[1])
    return list(dict.fromkeys((ours, *(path for path in sys.path if path not in by_chance))))
