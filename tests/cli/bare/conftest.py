"""Provides Podman."""

from tests.workload.engine.conftest import podman as podman
