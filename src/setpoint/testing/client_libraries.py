"""Clients of other libraries for a test server. A library is imported when its client is requested."""

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any


class MissingLibraryError(ImportError):
    """A library is not installed."""


class ClientLibraries:
    """Creates clients of other libraries with the administrator's kubeconfig. `stack` closes the clients."""

    def __init__(self, kubeconfig: Path, stack: ExitStack) -> None:
        self._kubeconfig = str(kubeconfig)
        self._stack = stack

    def kubernetes(self) -> Any:
        """Returns a `kubernetes.client.ApiClient` of the official client. Raises MissingLibraryError."""
        config = _imported("kubernetes.config", "kubernetes")
        return self._closed(config.new_client_from_config(self._kubeconfig))

    async def kubernetes_asyncio(self) -> Any:
        """Returns a `kubernetes_asyncio.client.ApiClient`, for `async with`. Raises MissingLibraryError."""
        config = _imported("kubernetes_asyncio.config", "kubernetes_asyncio")
        return await config.new_client_from_config(self._kubeconfig)

    def lightkube(self, **options: Any) -> Any:
        """Returns a `lightkube.Client`. Raises MissingLibraryError."""
        lightkube = _imported("lightkube", "lightkube")
        config = lightkube.KubeConfig.from_file(self._kubeconfig)
        return self._closed(lightkube.Client(config=config, **options))

    def kr8s(self, **options: Any) -> Any:
        """Returns the API of kr8s, with which its objects are created and read. Raises MissingLibraryError."""
        return _imported("kr8s", "kr8s").api(kubeconfig=self._kubeconfig, **options)

    def pykube(self, **options: Any) -> Any:
        """Returns a `pykube.HTTPClient`. Raises MissingLibraryError."""
        pykube = _imported("pykube", "pykube-ng")
        made = pykube.HTTPClient(pykube.KubeConfig.from_file(self._kubeconfig), **options)
        self._stack.callback(made.session.close)
        return made

    def _closed(self, client: Any) -> Any:
        self._stack.callback(client.close)
        return client


def _imported(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise MissingLibraryError(f"{error.name} is not installed: pip install {package}", name=error.name) from None
