"""Builds operators from their Go modules: `python -m tests.clients.real_operators.programs [NAME...]`.

The module is copied from the module cache, because its `replace` directives apply only to its own builds. Versions are
the newest that a released Go can build and that contain their commands: the commands of newer releases of cert-manager
are modules without releases, and proxies lack some later patches of Cluster API's provider for tests.
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
# The version that a module requires of its neighbours, which a `replace` directive takes from the same repository.
_UNRELEASED = "v0.0.0-00010101000000-000000000000"


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
    # The provider for tests, with the other programs of Cluster API that its module requires.
    "cluster-api": Module(
        "sigs.k8s.io/cluster-api/test",
        "v1.14.0",
        {
            "core": "sigs.k8s.io/cluster-api/core",
            "bootstrap": "sigs.k8s.io/cluster-api/bootstrap/kubeadm",
            "control-plane": "sigs.k8s.io/cluster-api/controlplane/kubeadm",
            "infrastructure": "./infrastructure/docker",
        },
    ),
    # The manifests of these other programs.
    "cluster-api-manifests": Module("sigs.k8s.io/cluster-api", "v1.14.0", {}),
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
        _drop_local_replacements(source(name), module.version, environment)
    for command, package in module.commands.items():
        what = ["go", "build", "-o", str(place / command), package]
        subprocess.run(what, cwd=source(name), env=environment, check=True, timeout=_SECONDS)


def _drop_local_replacements(place: Path, version: str, environment: dict[str, str]) -> None:
    """Replaces nested modules by their releases: the module cache has a module without its nested ones."""
    what = ["go", "mod", "edit", "-json"]
    done = subprocess.run(what, cwd=place, env=environment, check=True, capture_output=True)
    found = json.loads(done.stdout)
    local = [each["Old"]["Path"] for each in found.get("Replace") or () if each["New"]["Path"].startswith(".")]
    unreleased = [each["Path"] for each in found["Require"] if each["Version"] == _UNRELEASED]
    edits = [f"-dropreplace={path}" for path in local]
    edits += [f"-require={path}@{version}" for path in local if path in unreleased]
    if edits:
        subprocess.run(["go", "mod", "edit", *edits], cwd=place, env=environment, check=True)


def main(names: list[str]) -> None:
    for name in names or MODULES:
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        build(name)


if __name__ == "__main__":
    main(sys.argv[1:])
