"""What is below some objects: scale, and of pods their logs, processes, ports, eviction and binding; tokens of service
accounts. Each is there where the server has it."""

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
    """Which lines of a log."""

    # Needed where a pod has several.
    container: str
    # Of the container that ran before this one.
    previous: bool
    since_seconds: int
    since_time: str
    timestamps: bool
    tail_lines: int
    limit_bytes: int


class Subresources(Writing):
    """What is below some objects."""

    async def scale(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = "",
        replicas: int | None = None,
        **how: Unpack[WriteOptions],
    ) -> Object:
        """The Scale of whatever has one; with a number of replicas, as it is after that was asked for."""
        ref = KindRef(kind_of(kind).gvk)
        if replicas is not None:
            patch = merge({"spec": {"replicas": replicas}})
            return cast(Object, await self.patch(ref, patch, name, namespace, subresource="scale", **how))
        return cast(
            Object, decode((await self._call(ref, "GET", name=name, namespace=namespace, subresource="scale")).body)
        )

    async def evict(
        self, name: str, namespace: str = "", *, grace_period: int | None = None, dry_run: bool | None = None
    ) -> Object:
        """Asks a pod to go, unless that would leave too few of its like: then TooManyRequests is raised."""
        options = decode(self._delete_options("", grace_period, "", "", dry_run))
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace or self.options.namespace},
            "deleteOptions": options,
        }
        return await self._post_below(POD, name, namespace, "eviction", body)

    async def bind(self, name: str, namespace: str = "", *, node: str) -> Object:
        """Puts a pod on a node."""
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
        """A token of a service account: `status.token`, and until when it is good. It ends with the object that
        `bound_to` refers to, if any."""
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
        """The log of a container as it is now."""
        answer = await self._call(
            POD, "GET", name=name, namespace=namespace, subresource="log", query=_log_query(which), accept="*/*"
        )
        return answer.body.decode("utf-8", "replace")

    @asynccontextmanager
    async def logs(
        self, name: str, namespace: str = "", *, follow: bool = True, **which: Unpack[LogOptions]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of the log of a container as they come, without their ends."""
        query = [*_log_query(which), *query_of(follow="true" if follow else "")]
        path = await self._path(POD, name, namespace, "log")
        async with self.stream(Call("GET", path, query, {"accept": "*/*"})) as stream:
            yield lines(stream, with_rest=True)

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
        """Runs a command in a container to its end, however it exits. Raises APIError where it cannot be run."""
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
        """A command that runs in a container, to talk with it."""
        if isinstance(command, str) or not command:
            raise ValueError('a command is a list of words, such as ["ls", "-l"]')
        query = [("command", word) for word in command]
        async with self._process(name, namespace, "exec", query, container, stdin, tty) as process:
            yield process

    @asynccontextmanager
    async def attach(
        self, name: str, namespace: str = "", *, container: str = "", stdin: bool = False, tty: bool = False
    ) -> AsyncIterator[Process]:
        """The process that a container runs anyway, to talk with it."""
        async with self._process(name, namespace, "attach", [], container, stdin, tty) as process:
            yield process

    @asynccontextmanager
    async def _process(
        self, name: str, namespace: str, subresource: str, query: Query, container: str, stdin: bool, tty: bool
    ) -> AsyncIterator[Process]:
        # A terminal has one stream of output.
        wanted = {"stdin": stdin, "stdout": True, "stderr": not tty, "tty": tty}
        query = [*query, *query_of(container=container, **{key: "true" for key, value in wanted.items() if value})]
        path = await self._path(POD, name, namespace, subresource)
        async with self.socket(Call("GET", path, query, {"accept": JSON}), (V5, V4)) as socket:
            yield Process(socket)
            await socket.close()

    @asynccontextmanager
    async def port_forward(self, name: str, namespace: str = "", *, port: int) -> AsyncIterator[Forwarded]:
        """A connection to a port of a pod."""
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
