"""One control plane that serves the workload kinds, for all tests of this folder: nothing in them depends on others."""

from tests.workload.kinds.conftest import served as served
