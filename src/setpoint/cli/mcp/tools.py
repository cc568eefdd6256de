"""The tools: each is a command of the command line. Their docstrings are the descriptions that assistants read."""

from typing import Annotated

import msgspec
from pydantic import Field

from setpoint.cli.mcp.command_runner import MOST_BYTES, CommandError, CommandRunner
from setpoint.cli.support.errors import NOT_FOUND
from setpoint.objects import yamltext
from setpoint.past.secret_mask import masked

_MOST_RUN_SECONDS = 600.0

Target = Annotated[str, Field(description="KIND/NAME, or the name of a workload of the app", min_length=1)]
Namespace = Annotated[str, Field(description="Namespace; empty for that of the app or of the kubeconfig")]
Moment = Annotated[str, Field(description="A revision, a time such as 14:03, or 5m for five minutes ago")]


class Tools:
    """The tools of one server. Without `writes`, no tool changes an object or a process."""

    def __init__(self, runner: CommandRunner, *, writes: bool) -> None:
        self._runner = runner
        self._writes = writes

    async def state(
        self,
        kind: Annotated[str, Field(description="A kind such as deployments; empty for the app's workloads")] = "",
        name: Annotated[str, Field(description="The name of one object; empty for a table of all")] = "",
        selector: Annotated[str, Field(description="A label selector such as app=shop")] = "",
        namespace: Namespace = "",
    ) -> str:
        """Returns the state of the app: workloads with state, readiness, restarts, address, and the reason if one is
        not ready. With a kind, returns a table of its objects; with a name as well, the whole object as YAML."""
        selected = [f"--selector={selector}"] if selector else []
        if not kind:
            return await self._text("ps", "--output=wide", *selected, names=[name] if name else [])
        if not name:
            return await self._text("get", *selected, names=[kind], namespace=namespace)
        found = await self._runner.run("get", "--output=json", names=[kind, name], namespace=namespace)
        return _masked_yaml(found.text)

    async def why(self, target: Target, at: Moment = "", namespace: Namespace = "") -> str:
        """Explains the state of an object, now or at a past moment: unmet dependencies, failing probes, exit codes, the
        writes and reconciles that led to the state, the last output, and hints. Start here if a service fails."""
        options = [f"--at={at}"] if at else []
        found = await self._runner.run(
            "why", *options, names=[target], namespace=namespace, accepts=frozenset({0, NOT_FOUND})
        )
        if not found.text:  # the object never existed; deleted ones have an explanation
            raise CommandError(found.message)
        return found.text

    async def logs(
        self,
        names: Annotated[list[str], Field(description="Workloads, or pod/NAME; empty for all workloads")] = [],  # noqa: B006
        tail: Annotated[int, Field(description="Lines from the end of each log", ge=1, le=2000)] = 100,
        since: Annotated[str, Field(description="Only lines of this duration, such as 30s or 5m")] = "",
        grep: Annotated[str, Field(description="Only lines that match a regular expression (RE2)")] = "",
        level: Annotated[str, Field(description="Least level: trace, debug, info, warning, error or fatal")] = "",
        previous: Annotated[
            bool, Field(description="The run before the current one, for example before a crash")
        ] = False,
        namespace: Namespace = "",
    ) -> str:
        """Returns the newest log lines of workloads or pods, sorted by time."""
        options = [f"--tail={tail}", "--timestamps", "--output=raw"]
        options += [f"--{option}={value}" for option, value in (("since", since), ("grep", grep)) if value]
        options += [f"--level={level}"] if level else []
        options += ["--previous"] if previous else []
        return await self._text("logs", *options, names=names, namespace=namespace, keeps_end=True)

    async def traces(self, target: Target, since: Moment = "", namespace: Namespace = "") -> str:
        """Returns the reconciles of an object: triggers, the objects that were read, writes, duration and result.
        For requests of services, use telemetry_traces."""
        return await self._text("trace", *_moments(since=since), names=[target], namespace=namespace)

    async def telemetry_traces(
        self,
        service: Annotated[str, Field(description="A service; empty for all services")] = "",
        errors: Annotated[bool, Field(description="Only traces with a failing span")] = False,
        min_duration: Annotated[str, Field(description="Only traces of at least this duration, such as 100ms")] = "",
        since: Annotated[str, Field(description="Only traces of this duration, such as 30s or 5m")] = "",
        text: Annotated[str, Field(description="Only traces with this text in the name of a span")] = "",
        slowest: Annotated[bool, Field(description="The slowest first, instead of the newest")] = False,
        limit: Annotated[int, Field(description="Number of traces", ge=1, le=200)] = 20,
    ) -> str:
        """Returns the traces that services export with OpenTelemetry: ID, start, service, name, duration, number of
        spans and of errors, and the message of the first error."""
        texts = (("min-duration", min_duration), ("since", since), ("text", text))
        options = [f"--{option}={value}" for option, value in texts if value]
        options += [f"--{option}" for option, is_set in (("errors", errors), ("slowest", slowest)) if is_set]
        options += [f"--limit={limit}", "--output=wide"]
        return await self._text("telemetry", "traces", *options, names=[service] if service else [])

    async def telemetry_trace(
        self, trace_id: Annotated[str, Field(description="The ID of a trace, or its first digits", min_length=1)]
    ) -> str:
        """Returns one trace of telemetry_traces as a tree of spans: durations, errors, the attributes of failing spans,
        and the log records of the trace."""
        return await self._text("telemetry", "trace", names=[trace_id])

    async def history(
        self,
        target: Annotated[str, Field(description="KIND/NAME, or a workload; empty for all workloads")] = "",
        limit: Annotated[int, Field(description="The newest revisions of the object", ge=1, le=200)] = 20,
        since: Moment = "",
        until: Moment = "",
        namespace: Namespace = "",
    ) -> str:
        """Returns the revisions of an object, newest first, with author and changes; without an object, the changes of
        all workloads in chronological order."""
        moments = _moments(since=since, until=until)
        if not target:
            return await self._text("timeline", *moments, namespace=namespace, keeps_end=True)
        return await self._text("history", f"--limit={limit}", *moments, names=[target], namespace=namespace)

    async def diff(
        self,
        target: Target,
        between: Annotated[str, Field(description="A range such as 190..218 or 14:03..14:10")] = "",
        namespace: Namespace = "",
    ) -> str:
        """Returns the differences between two revisions of an object; without a range, those of its last change."""
        names = [target, between] if between else [target]
        return await self._text("diff", names=names, namespace=namespace)

    async def apply(
        self,
        manifest: Annotated[str, Field(description="Objects as YAML or JSON", min_length=1, max_length=1_000_000)],
        dry_run: Annotated[bool, Field(description="Only return the changes that would be made")] = True,
        namespace: Namespace = "",
    ) -> str:
        """Applies objects with server-side apply and returns the differences. Changes no object by default: the server
        validates and returns the result of a dry run."""
        if not dry_run and not self._writes:
            raise CommandError(
                "this server is read-only: only dry runs are possible. The user can start `setpoint mcp --allow-writes`"
            )
        options = ["--filename=-", "--diff", *(["--dry-run=server"] if dry_run else [])]
        return await self._text("apply", *options, namespace=namespace, stdin=manifest)

    async def restart(
        self, names: Annotated[list[str], Field(description="Workloads; api.2 is one replica", min_length=1)]
    ) -> str:
        """Restarts workloads of the app, and waits until they are ready. Fails with the reason if one is not."""
        return await self._text("restart", names=names)

    async def run(
        self,
        task: Annotated[str, Field(description="A task of the app", min_length=1)],
        arguments: Annotated[list[str], Field(description="Additional arguments of the task's command")] = [],  # noqa: B006
        timeout_seconds: Annotated[
            float, Field(description="Time limit in seconds", gt=0, le=_MOST_RUN_SECONDS)
        ] = 120.0,
    ) -> str:
        """Runs a task of the app, such as its tests or a migration, and returns its output and exit code."""
        found = await self._runner.run(
            "run", names=[task, *arguments], seconds=timeout_seconds, keeps_end=True, accepts=frozenset(range(256))
        )
        return f"{found.text}{found.errors}\nexit code {found.code}".lstrip("\n")

    async def _text(
        self,
        command: str,
        *options: str,
        names: list[str] | None = None,
        namespace: str = "",
        stdin: str = "",
        keeps_end: bool = False,
    ) -> str:
        found = await self._runner.run(
            command, *options, names=names or [], namespace=namespace, stdin=stdin, keeps_end=keeps_end
        )
        return found.text or found.errors


def _masked_yaml(text: str) -> str:
    """Returns an object as YAML, without the values of secrets and without the records of field managers."""
    try:
        tree = msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise CommandError(f"the object has more than {MOST_BYTES} bytes; read its parts with kubectl") from None
    tree["metadata"].pop("managedFields", None)
    return yamltext.dump(masked(tree))


def _moments(**moments: str) -> list[str]:
    return [f"--{option}={value}" for option, value in moments.items() if value]
