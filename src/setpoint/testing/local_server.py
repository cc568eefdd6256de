"""A server for one test: a control plane in a thread of its own, over TLS at a loopback address.

    with LocalServer() as server:
        server.apply("crd.yaml")
        core = kubernetes.client.CoreV1Api(server.kubernetes())

The test may be synchronous, and use any client. Every server has a control plane, a port, certificates and a token of
its own.
"""

import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from setpoint.client.kinds import AnyObject, ref_of, tree_of
from setpoint.client.manifests import load_yaml, parse_yaml
from setpoint.client.sync import SyncClient
from setpoint.plane import ControlPlane
from setpoint.testing.client_libraries import ClientLibraries
from setpoint.testing.default_cluster import selected_cluster
from setpoint.testing.observed_loop import LoopThread
from setpoint.testing.world_evidence import Evidence, evidence_of
from setpoint.testing.world_observer import WorldObserver, observer

_FIELD_MANAGER = "test"
Manifest = str | Path | AnyObject


class LocalServer(ClientLibraries):
    """A running server. `kubeconfig` is the path of the administrator's kubeconfig, which only the current user can
    read; `url`, `token` and `authority` (the certificate authority in PEM) are its parts. `client` is Setpoint's own
    synchronous client.

    `manifests` are applied at the start: definitions and objects. Other arguments are passed to `ControlPlane`.
    """

    def __init__(self, *, manifests: Sequence[Manifest] = (), **plane: Any) -> None:
        self._stack = ExitStack()
        self._manifests = manifests
        self._plane_options = plane
        self._observer: WorldObserver | None = None

    def __enter__(self) -> Self:
        """Starts the server. Raises PlaneError, or the errors of the manifests."""
        with ExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="setpoint-")))
            thread = self.thread = LoopThread("setpoint-server")
            stack.callback(thread.stop)
            thread.run(self._start())
            stack.callback(lambda: thread.run(self.plane.__aexit__(None, None, None)))
            self.kubeconfig = directory / "kubeconfig"
            self.plane.write_kubeconfig(self.kubeconfig)
            self.url, self.token = self.plane.url, self.plane.token
            self.authority = (self.plane.authority or b"").decode()
            client = self.plane.client(field_manager=_FIELD_MANAGER).with_options(namespace="default")
            self.client = SyncClient(client, _loop=thread)
            super().__init__(self.kubeconfig, stack)
            self._first_revision = thread.run(self.plane.services.store.revision())
            self.apply(*self._manifests)
            self._stack = stack.pop_all()
        self._observer = observer.get()
        if self._observer is not None:
            self._observer.opened(self)
        return self

    async def _start(self) -> None:
        self.plane = ControlPlane(**self._plane_options)
        await self.plane.__aenter__()
        try:
            await self.plane.listen()
        except BaseException:
            await self.plane.__aexit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._observer is not None:
            self._observer.closed(self, self._evidence(), error)
        self._stack.close()

    async def evidence(self) -> Evidence:
        """Returns the log, which stays readable after the end."""
        return self._evidence()

    def _evidence(self) -> Evidence:
        return self.thread.run(evidence_of(self.plane, self._first_revision))

    def apply(self, *manifests: Manifest) -> list[Any]:
        """Applies objects: a path of a file or directory, a text of YAML documents, or an object. Waits until the
        kinds of definitions are served. Returns the objects."""
        found: list[Any] = []
        for manifest in manifests:
            for obj in _objects(manifest):
                if ref_of(obj).gvk.kind == "CustomResourceDefinition":
                    found += self.client.install(tree_of(obj))
                else:
                    found.append(self.client.apply(obj, force=True))
        return found

    def selected(self) -> AbstractContextManager[None]:
        """Selects this server for code that finds its cluster by itself: KUBECONFIG names the kubeconfig, and the
        official clients forget other configurations, until the context ends."""
        return selected_cluster(self.kubeconfig)

    def settle(self) -> None:
        """Waits until the controllers of the server have processed all earlier writes."""
        self.thread.run(self.plane.settle())


def _objects(manifest: Manifest) -> Sequence[AnyObject]:
    if isinstance(manifest, Path):
        return load_yaml(manifest)
    if isinstance(manifest, str):
        # A text of documents has several lines, a path has one.
        return parse_yaml(manifest) if "\n" in manifest else load_yaml(manifest)
    return [manifest]
