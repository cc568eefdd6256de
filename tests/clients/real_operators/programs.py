"""Builds operators from their Go modules: `python -m tests.clients.real_operators.programs [NAME...]`.

The module is copied from the module cache, because its `replace` directives apply only to its own builds. Versions are
the newest that a released Go can build and that contain their commands: the commands of newer releases of cert-manager
are modules without releases.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

PLACE = Path(__file__).parents[3] / "build" / "operators"
_SECONDS = 3600


class Module(NamedTuple):
    """A module and the packages of its commands, by the names of the programs."""

    path: str
    version: str
    commands: dict[str, str]


MODULES = {
    "argo-rollouts": Module("github.com/argoproj/argo-rollouts", "v1.10.1", {"rollouts": "./cmd/rollouts-controller"}),
    "cert-manager": Module(
        "github.com/cert-manager/cert-manager",
        "v1.11.5",
        {"controller": "./cmd/controller", "webhook": "./cmd/webhook", "cainjector": "./cmd/cainjector"},
    ),
    "prometheus-operator": Module(
        "github.com/prometheus-operator/prometheus-operator", "v0.85.0", {"operator": "./cmd/operator"}
    ),
    "kustomize-controller": Module("github.com/fluxcd/kustomize-controller", "v1.9.4", {"controller": "."}),
    # The definitions of the sources that kustomize-controller watches.
    "source-controller": Module("github.com/fluxcd/source-controller", "v1.9.6", {}),
    "keda": Module("github.com/kedacore/keda/v2", "v2.21.0", {"operator": "./cmd/operator"}),
    "custom-metrics-apiserver": Module(
        "sigs.k8s.io/custom-metrics-apiserver", "v1.36.0", {"adapter": "./test-adapter"}
    ),
}


def source(name: str) -> Path:
    """The sources of an operator, with its manifests."""
    return PLACE / name / "source"


def program(name: str, command: str) -> Path:
    """A built command of an operator. Skips the test if the command is not built."""
    found = PLACE / name / command
    if not found.is_file():
        pytest.skip(f"`make operators OPERATORS={name}` builds this program, in some minutes")
    return found


def build(name: str) -> None:
    """Builds the commands of an operator that are not built."""
    module = MODULES[name]
    if source(name).exists() and all((PLACE / name / command).is_file() for command in module.commands):
        return
    environment = {**os.environ, "GOFLAGS": "-buildvcs=false -mod=mod"}
    what = ["go", "mod", "download", "-json", f"{module.path}@{module.version}"]
    place = PLACE / name
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(what, cwd=place, env=environment, check=True, capture_output=True, timeout=_SECONDS)
    if not source(name).exists():
        shutil.copytree(json.loads(done.stdout)["Dir"], source(name), copy_function=shutil.copyfile)
        subprocess.run(["chmod", "-R", "u+w", str(source(name))], check=True)
        _drop_local_replacements(source(name), environment)
    for command, package in module.commands.items():
        what = ["go", "build", "-o", str(place / command), package]
        subprocess.run(what, cwd=source(name), env=environment, check=True, timeout=_SECONDS)


def _drop_local_replacements(place: Path, environment: dict[str, str]) -> None:
    """Replaces nested modules by their releases: the module cache has a module without its nested ones."""
    what = ["go", "mod", "edit", "-json"]
    found = subprocess.run(what, cwd=place, env=environment, check=True, capture_output=True)
    for each in json.loads(found.stdout).get("Replace") or ():
        if each["New"]["Path"].startswith("."):
            drop = f"-dropreplace={each['Old']['Path']}"
            subprocess.run(["go", "mod", "edit", drop], cwd=place, env=environment, check=True)


def main(names: list[str]) -> None:
    for name in names or MODULES:
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        build(name)


if __name__ == "__main__":
    main(sys.argv[1:])
