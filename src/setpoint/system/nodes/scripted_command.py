"""Commands in simulated containers: a function of the script gives the output and the exit code."""

import inspect
from collections.abc import Sequence

from setpoint.node.streams import Conversation, Streams
from setpoint.objects.errors import BadRequest, RequestEntityTooLarge
from setpoint.system.node_scripts import Behaviour, ContainerRun, ExecCall, ExecResult
from setpoint.system.nodes.script_call import call_script

# The most input of a command whose function gets all of it at once.
MOST_INPUT_BYTES = 16 << 20


def scripted_command(
    behaviour: Behaviour, run: ContainerRun, command: Sequence[str], *, stdin: bool, tty: bool
) -> Conversation:
    """Prepares a command. Raises BadRequest for a container whose script runs no commands."""
    script = behaviour.exec
    if script is None:
        name = run.pod["metadata"]["name"]
        raise BadRequest(
            f"pod {name} is simulated, and its container {run.container} runs no commands: "
            "answer them with a script, Behaviour(exec=FUNCTION)"
        )
    is_plain = not inspect.iscoroutinefunction(script)

    async def converse(streams: Streams) -> int:
        given = await _whole_input(streams) if is_plain and stdin and not tty else b""
        call = ExecCall(run, command, given, tty, streams)
        result = await call_script(script, call, ExecResult, run.container)
        await streams.write(_output(result.stdout, tty=tty))
        await streams.write(_output(result.stderr, tty=tty), stderr=True)
        return result.exit_code

    return converse


async def _whole_input(streams: Streams) -> bytes:
    """Returns all input of the client. Raises RequestEntityTooLarge."""
    found = bytearray()
    while data := await streams.read():
        found += data
        if len(found) > MOST_INPUT_BYTES:
            raise RequestEntityTooLarge(f"the input of a scripted command has at most {MOST_INPUT_BYTES} bytes")
    return bytes(found)


def _output(text: str | bytes, *, tty: bool) -> bytes:
    """Returns output as bytes; a terminal device adds the carriage returns."""
    found = text.encode() if isinstance(text, str) else text
    return found.replace(b"\n", b"\r\n") if tty else found
