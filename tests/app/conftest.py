"""Provides one control plane that serves the workload kinds."""

from tests.workload.kinds.conftest import served as served
