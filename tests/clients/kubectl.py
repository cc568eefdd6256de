"""Runs kubectl against a server, in one namespace, as a user at a shell does."""

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tests.clients.serving import SECONDS


class Kubectl(NamedTuple):
    """A kubectl with the administrator's kubeconfig, a cache and a namespace of its own."""

    program: str
    kubeconfig: Path
    cache: Path
    namespace: str

    def __call__(self, *arguments: str, stdin: Any = None, **environment: str) -> str:
        """What it prints when it succeeds. `stdin` is text, or objects to write there."""
        done = self.run(*arguments, stdin=stdin, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *arguments: str, stdin: Any = None) -> str:
        """What it says on its error output when it fails."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def run(self, *arguments: str, stdin: Any = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            input=documents(stdin),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, **environment},
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A kubectl that goes on; its output is read line by line."""
        return subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, text=True)

    def command(self, *arguments: str) -> list[str]:
        own = ["--kubeconfig", str(self.kubeconfig), "--cache-dir", str(self.cache), "--namespace", self.namespace]
        return [self.program, *own, *arguments]

    @property
    def minor(self) -> int:
        """Its version: the number after `1.`."""
        return _minor(self.program)


def documents(stdin: Any) -> str:
    """Objects as the several documents of one file."""
    if stdin is None or isinstance(stdin, str):
        return stdin or ""
    return yaml.safe_dump_all(stdin if isinstance(stdin, list) else [stdin])


@cache
def _minor(program: str) -> int:
    # It reads no kubeconfig for this, and a kubectl that picks another by the server's version need not do so.
    done = subprocess.run([program, "version", "--client", "--output=json"], capture_output=True, text=True)
    found = re.match(r"v1\.(\d+)\.", json.loads(done.stdout)["clientVersion"]["gitVersion"])
    return int(found[1]) if found else 999  # one built from sources has no number, and they are new
