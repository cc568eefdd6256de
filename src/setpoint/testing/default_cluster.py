"""Selects a cluster for all clients of this process, and undoes the selection.

Most libraries read KUBECONFIG at each call, but prefer the cluster of a pod if the process runs in one. The official
clients read KUBECONFIG when they are imported, and keep the last configuration as a global default.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_IN_CLUSTER = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
_OFFICIAL = ("kubernetes", "kubernetes_asyncio")
_LOCATION = "KUBE_CONFIG_DEFAULT_LOCATION"
_MISSING = object()


@contextmanager
def selected_cluster(kubeconfig: Path) -> Iterator[None]:
    """Makes a kubeconfig the default of this process: KUBECONFIG names the file, the variables of a pod are unset, and
    the official clients forget other configurations. Restores the previous values afterwards."""
    before = {name: os.environ.get(name) for name in ("KUBECONFIG", *_IN_CLUSTER)}
    defaults = {library: _default(library) for library in _OFFICIAL}
    os.environ["KUBECONFIG"] = str(kubeconfig)
    for name in _IN_CLUSTER:
        os.environ.pop(name, None)
    for library in _OFFICIAL:
        _set_location(library, str(kubeconfig))
        _set_default(library, None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for library, default in defaults.items():
            # A library imported in the meantime has read our KUBECONFIG.
            _set_location(library, before["KUBECONFIG"] or "~/.kube/config")
            _set_default(library, None if default is _MISSING else default)


def _default(library: str) -> Any:
    configuration = sys.modules.get(f"{library}.client.configuration")
    return getattr(configuration.Configuration, "_default", None) if configuration is not None else _MISSING


def _set_default(library: str, default: Any) -> None:
    configuration = sys.modules.get(f"{library}.client.configuration")
    if configuration is not None:
        configuration.Configuration._default = default


def _set_location(library: str, location: str) -> None:
    for name in (f"{library}.config", f"{library}.config.kube_config"):
        if hasattr(sys.modules.get(name), _LOCATION):
            setattr(sys.modules[name], _LOCATION, os.path.expanduser(location))
