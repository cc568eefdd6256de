"""Gives the tests Podman."""

from tests.workload.engine.conftest import podman as podman
