"""The server of the protocol: offers the tools over the standard streams."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeAlias

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from setpoint.cli.mcp.command_runner import CommandError, CommandRunner
from setpoint.cli.mcp.tools import Tools
from setpoint.cli.support.connection import Server
from setpoint.past.secret_mask import masked_text
from setpoint.version import VERSION

P = ParamSpec("P")
_Tool: TypeAlias = Callable[..., Awaitable[str]]

_INSTRUCTIONS = """Setpoint runs the services of this project and records every change with its cause.
Call `state` for an overview, `why` for the cause of a problem, then `logs`, `history` and `diff` for details.
For failing or slow requests between services, call `telemetry_traces`, then `telemetry_trace`."""
_READ_ONLY = """
This server is read-only: `apply` only performs dry runs. The user can allow changes: `setpoint mcp --allow-writes`."""


def build(server: Server, *, writes: bool) -> MCPServer[None]:
    """Returns the server with its tools. Without `writes`, the tools only read."""
    tools = Tools(CommandRunner(server), writes=writes)
    built: MCPServer[None] = MCPServer(
        "setpoint",
        title="Setpoint",
        instructions=_INSTRUCTIONS + ("" if writes else _READ_ONLY),
        version=VERSION,
        log_level="WARNING",
    )
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    changes = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
    reading: list[_Tool] = [
        tools.state,
        tools.why,
        tools.logs,
        tools.traces,
        tools.telemetry_traces,
        tools.telemetry_trace,
        tools.history,
        tools.diff,
    ]
    writing: list[_Tool] = [tools.restart, tools.run] if writes else []
    (writing if writes else reading).append(tools.apply)
    for tool in (*reading, *writing):
        built.add_tool(_explained(tool), annotations=reads if tool in reading else changes, structured_output=False)
    return built


def _explained(tool: Callable[P, Awaitable[str]]) -> Callable[P, Awaitable[str]]:
    """Returns the tool with passwords and tokens masked, and with errors of commands as results for the assistant."""

    @wraps(tool)
    async def explained(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return masked_text(await tool(*args, **kwargs)) or "no result"
        except CommandError as error:
            raise ToolError(masked_text(str(error))) from None

    return explained
