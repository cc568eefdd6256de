"""Installs the programs that Setpoint is compared with.

honcho and supervisord are installed from PyPI into a virtual environment in `build/bench`. process-compose is built
from its source in the directory PROCESS_COMPOSE, which needs Go. A program that is not available is left out.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_BUILD = Path(__file__).parents[2] / "build" / "bench"
_PYTHON_PEERS = ("honcho==2.0.0", "supervisor==4.3.0")
# process-compose uses this module for its clipboard only. The module cannot be downloaded everywhere, so the build
# replaces it.
_CLIPBOARD = "github.com/f1bonacc1/glippy"
_CLIPBOARD_SOURCE = """package glippy

type Method int

const MethodOSC52 Method = 1

func Set(text string) error { return nil }

func SetWithMethod(text string) (Method, error) { return 0, nil }
"""


def python_peers() -> Path:
    """Returns the directory with the programs `honcho` and `supervisord`, installed if necessary. Raises OSError."""
    place = _BUILD / "peers"
    recorded = place / "installed"
    if not recorded.exists() or recorded.read_text().split() != list(_PYTHON_PEERS):
        shutil.rmtree(place, ignore_errors=True)
        _call([sys.executable, "-m", "venv", str(place)])
        # supervisor imports pkg_resources on some versions of Python.
        _call([str(place / "bin" / "python"), "-m", "pip", "install", "-q", "setuptools<81", *_PYTHON_PEERS])
        recorded.write_text("\n".join(_PYTHON_PEERS))
    return place / "bin"


def process_compose() -> Path | None:
    """Returns the program built from the directory PROCESS_COMPOSE; None without the variable. Raises OSError."""
    if not (given := os.environ.get("PROCESS_COMPOSE")):
        return None
    source, place = Path(given), _BUILD / "process-compose"
    (place / "glippy").mkdir(parents=True, exist_ok=True)
    (place / "glippy" / "go.mod").write_text(f"module {_CLIPBOARD}\n\ngo 1.22\n")
    (place / "glippy" / "glippy.go").write_text(_CLIPBOARD_SOURCE)
    modules = place / "alt.mod"
    modules.write_text((source / "go.mod").read_text() + f"\nreplace {_CLIPBOARD} => {place / 'glippy'}\n")
    shutil.copyfile(source / "go.sum", place / "alt.sum")
    program = place / "process-compose"
    _call(["go", "build", "-modfile", str(modules), "-o", str(program), "."], source)
    return program


def _call(command: list[str], directory: Path | None = None) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(command[:3])} failed: {done.stderr.strip()[-300:]}")
