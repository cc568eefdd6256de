"""Limits the processor time of a child process: the only bound for work in C that holds the interpreter's lock.

limit_cpu(5)  # in the child: SIGXCPU ends it after five more seconds
answer = in_child("tests.server.kinds.long_texts")  # in the test

The child prints its place before each piece of work, so that the test can name the piece that was too slow.
"""

import resource
import signal
import subprocess
import sys
import time


def limit_cpu(seconds: int) -> None:
    """Ends this process once it has used so many further seconds of processor time; replaces an earlier limit."""
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + seconds, hard))


def in_child(module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs a module in a new interpreter, and returns its output."""
    return subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)


def is_over_limit(done: "subprocess.CompletedProcess[str]") -> bool:
    """Returns True if the processor time of a child was used up."""
    return done.returncode == -signal.SIGXCPU
