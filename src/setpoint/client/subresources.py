"""Subresources: scale; the logs, processes, ports, eviction and binding of pods; the tokens of service accounts. Each
requires a server that serves the subresource."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypedDict, Unpack, cast

from setpoint.client.channels import V4, V5, Executed, Forwarded, Process
from setpoint.client.kinds import Kind, KindRef, kind_of
from setpoint.client.options import WriteOptions
from setpoint.client.patches import merge
from setpoint.client.requests import JSON, Query, decode, encode, query_of
from setpoint.client.transport import Call
from setpoint.client.watch import lines
from setpoint.client.write_verbs import Writing
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

POD = KindRef(GroupVersionKind("", "v1", "Pod"))
_SERVICE_ACCOUNT = KindRef(GroupVersionKind("", "v1", "ServiceAccount"))


class LogOptions(TypedDict, total=False):
    """The options that select the lines of a log."""

    # Required if the pod has several containers.
    container: str
    # Reads the log of the container's previous instance.
    previous: bool
    since_seconds: int
    since_time: str
    timestamps: bool
    tail_lines: int
    limit_bytes: int


class Subresources(Writing):
    """The verbs for subresources."""

    async def scale(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = "",
        replicas: int | None = None,
        **how: Unpack[WriteOptions],
    ) -> Object:
        """Returns the Scale of an object. With `replicas`, sets the number of replicas first."""
        ref = KindRef(kind_of(kind).gvk)
        if replicas is not None:
            patch = merge({"spec": {"replicas": replicas}})
            return cast(Object, await self.patch(ref, patch, name, namespace, subresource="scale", **how))
        return cast(
            Object, decode((await self._call(ref, "GET", name=name, namespace=namespace, subresource="scale")).body)
        )

    async def update_scale(self, kind: Kind[Any], scale: Object, **how: Unpack[WriteOptions]) -> Object:
        """Replaces the Scale of an object. Raises Conflict if the object has changed since the Scale was read."""
        name, namespace = scale["metadata"]["name"], scale["metadata"].get("namespace", "")
        ref = KindRef(kind_of(kind).gvk)
        return cast(Object, await self._write(ref, "PUT", scale, name, namespace, "scale", how))

    async def evict(
        self, name: str, namespace: str = "", *, grace_period: int | None = None, dry_run: bool | None = None
    ) -> Object:
        """Evicts a pod. Raises TooManyRequests if a PodDisruptionBudget forbids the eviction."""
        options = decode(self._delete_options("", grace_period, "", "", dry_run))
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace or self.options.namespace},
            "deleteOptions": options,
        }
        return await self._post_below(POD, name, namespace, "eviction", body)

    async def bind(self, name: str, namespace: str = "", *, node: str) -> Object:
        """Binds a pod to a node."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace or self.options.namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        return await self._post_below(POD, name, namespace, "binding", body)

    async def token(
        self,
        service_account: str,
        namespace: str = "",
        *,
        audiences: Sequence[str] = (),
        expiration_seconds: int | None = None,
        bound_to: Object | None = None,
    ) -> Object:
        """Requests a token for a service account. Returns the TokenRequest: `status.token` and
        `status.expirationTimestamp`. With `bound_to`, the token becomes invalid when the referenced object is
        deleted."""
        spec: Object = {"audiences": list(audiences)}
        if expiration_seconds is not None:
            spec["expirationSeconds"] = expiration_seconds
        if bound_to is not None:
            spec["boundObjectRef"] = bound_to
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return await self._post_below(_SERVICE_ACCOUNT, service_account, namespace, "token", body)

    async def _post_below(self, ref: KindRef, name: str, namespace: str, subresource: str, body: Object) -> Object:
        answer = await self._call(
            ref, "POST", name=name, namespace=namespace, subresource=subresource, body=encode(body)
        )
        return cast(Object, decode(answer.body))

    # Logs

    async def log_text(self, name: str, namespace: str = "", **which: Unpack[LogOptions]) -> str:
        """Returns the current log of a container."""
        path = await self._path(POD, name, namespace, "log")
        async with self.stream(Call("GET", path, _log_query(which), {"accept": "*/*"})) as stream:
            return b"".join([piece async for piece in stream]).decode("utf-8", "replace")

    @asynccontextmanager
    async def logs(
        self, name: str, namespace: str = "", *, follow: bool = True, **which: Unpack[LogOptions]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yields the lines of a container's log as they arrive, without line breaks."""
        query = [*_log_query(which), *query_of(follow="true" if follow else "")]
        path = await self._path(POD, name, namespace, "log")
        async with self.stream(Call("GET", path, query, {"accept": "*/*"})) as stream:
            yield lines(stream, with_remainder=True)

    # Processes and ports

    async def exec(
        self,
        name: str,
        namespace: str = "",
        *,
        command: Sequence[str],
        container: str = "",
        stdin: bytes | None = None,
    ) -> Executed:
        """Runs a command in a container and waits for its end, whatever the exit code. Raises APIError if the command
        cannot be run."""
        async with self.open_exec(
            name, namespace, command=command, container=container, stdin=stdin is not None
        ) as process:
            return await process.run(stdin)

    @asynccontextmanager
    async def open_exec(
        self,
        name: str,
        namespace: str = "",
        *,
        command: Sequence[str],
        container: str = "",
        stdin: bool = False,
        tty: bool = False,
    ) -> AsyncIterator[Process]:
        """Starts a command in a container, and yields the process for input and output."""
        if isinstance(command, str) or not command:
            raise ValueError('the command must be a list of arguments, such as ["ls", "-l"]')
        query = [("command", word) for word in command]
        async with self._process(name, namespace, "exec", query, container, stdin, tty) as process:
            yield process

    @asynccontextmanager
    async def attach(
        self, name: str, namespace: str = "", *, container: str = "", stdin: bool = False, tty: bool = False
    ) -> AsyncIterator[Process]:
        """Attaches to the main process of a container, and yields the process for input and output."""
        async with self._process(name, namespace, "attach", [], container, stdin, tty) as process:
            yield process

    @asynccontextmanager
    async def _process(
        self, name: str, namespace: str, subresource: str, query: Query, container: str, stdin: bool, tty: bool
    ) -> AsyncIterator[Process]:
        # A terminal has a single output stream.
        wanted = {"stdin": stdin, "stdout": True, "stderr": not tty, "tty": tty}
        query = [*query, *query_of(container=container, **{key: "true" for key, value in wanted.items() if value})]
        path = await self._path(POD, name, namespace, subresource)
        async with self.socket(Call("GET", path, query, {"accept": JSON}), (V5, V4)) as socket:
            yield Process(socket)
            await socket.close()

    @asynccontextmanager
    async def port_forward(self, name: str, namespace: str = "", *, port: int) -> AsyncIterator[Forwarded]:
        """Opens a connection to a port of a pod."""
        path = await self._path(POD, name, namespace, "portforward")
        call = Call("GET", path, query_of(ports=str(port)), {"accept": JSON})
        async with self.socket(call, (V4,)) as socket:
            yield Forwarded(socket)
            await socket.close()


def _log_query(which: LogOptions) -> Query:
    names = {
        "container": "container",
        "previous": "previous",
        "since_seconds": "sinceSeconds",
        "since_time": "sinceTime",
        "timestamps": "timestamps",
        "tail_lines": "tailLines",
        "limit_bytes": "limitBytes",
    }
    found: Query = []
    for key, value in which.items():
        if value is True or (value is not None and value is not False and value != ""):
            found.append((names[key], "true" if value is True else str(value)))
    return found
