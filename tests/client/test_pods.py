"""Processes, ports and logs of pods, over the protocol of channels, against a small server that speaks it."""

import asyncio
import json

import pytest
from tests.client.pod_server import Channel, pod_server

from setpoint.client.channels import STDERR, STDOUT
from setpoint.client.client import Client
from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import TransportError
from setpoint.objects.errors import Forbidden, InternalError, NotFound
from setpoint.plane import ControlPlane


def client_of(url: str) -> Client:
    return Client(HttpTransport(endpoint(url)))


async def test_a_command_runs_to_its_end_and_gives_its_output_and_its_exit_code() -> None:
    async def talk(channel: Channel) -> None:
        assert channel.query == {
            "command": ["sh", "-c", "x y"],
            "container": ["main"],
            "stdout": ["true"],
            "stderr": ["true"],
        }
        await channel.send(b"\x01")  # servers begin so
        await channel.send(b"\x01out")
        await channel.send(b"ping", code=9)
        assert await channel.receive() == (10, b"ping")
        await channel.send(b"\x02er", last=False)
        await channel.send(b"ror", code=0)
        await channel.send(b"\x01" + b"." * 70_000)
        causes = [{"reason": "ExitCode", "message": "3"}]
        await channel.status(status="Failure", reason="NonZeroExitCode", details={"causes": causes}, code=500)
        await channel.close()

    async with pod_server(talk) as url, client_of(url) as client:
        done = await client.exec("web", "default", command=["sh", "-c", "x y"], container="main")
    assert done == (3, b"out" + b"." * 70_000, b"error")


async def test_input_is_sent_and_its_end_told_where_the_server_can_hear_it() -> None:
    heard = bytearray()

    async def talk(channel: Channel) -> None:
        while (message := await channel.message()) != b"\xff\x00":
            assert message[0] == 0
            heard.extend(message[1:])
        await channel.send(b"\x01" + str(len(heard)).encode())
        await channel.status(status="Success")
        await channel.close()

    async with pod_server(talk) as url, client_of(url) as client:
        done = await client.exec("web", "default", command=["cat"], stdin=b"x" * 100_000)
        assert done == (0, b"100000", b"")


async def test_a_server_that_cannot_hear_the_end_of_the_input_is_told_of() -> None:
    async def talk(channel: Channel) -> None:
        await channel.message()
        await channel.status(status="Success")

    async with pod_server(talk, protocols=("v4.channel.k8s.io",)) as url, client_of(url) as client:
        with pytest.raises(TransportError, match=r"speaks v4\.channel\.k8s\.io, which cannot close the input"):
            await client.exec("web", "default", command=["cat"], stdin=b"x")


async def test_a_terminal_is_talked_with() -> None:
    async def talk(channel: Channel) -> None:
        assert channel.query == {"stdin": ["true"], "stdout": ["true"], "tty": ["true"]}
        size = await channel.message()
        assert (size[0], json.loads(size[1:])) == (4, {"Width": 80, "Height": 25})
        await channel.send(b"\x01$ ")
        await channel.send(b"\x01echo " + (await channel.message())[1:])
        await channel.status(status="Success")

    async with pod_server(talk) as url, client_of(url) as client, client.attach("web", "d", stdin=True, tty=True) as at:
        await at.resize(80, 25)
        said = b""
        async for channel, data in at:
            assert channel == STDOUT != STDERR
            if not said:
                await at.write(b"hello")
            said += data
        assert said == b"$ echo hello"
        assert at.exit_code == 0


async def test_what_cannot_be_run_is_an_error_of_the_api() -> None:
    async def talk(channel: Channel) -> None:
        await channel.status(status="Failure", reason="InternalError", message="no such executable", code=500)

    async with pod_server(talk) as url, client_of(url) as client:
        with pytest.raises(InternalError, match="no such executable"):
            await client.exec("web", "default", command=["nope"])
    status = json.dumps({"kind": "Status", "reason": "Forbidden", "message": "you may not", "code": 403}).encode()
    async with pod_server(refuses=status) as url, client_of(url) as client:
        with pytest.raises(Forbidden, match="you may not"):
            await client.exec("web", "default", command=["ls"])
    with pytest.raises(ValueError, match="a list of arguments"):
        await client.exec("web", "default", command="ls -l")


async def test_a_connection_that_breaks_is_no_success() -> None:
    async def talk(channel: Channel) -> None:
        await channel.send(b"\x01half")

    async def leave(channel: Channel) -> None:
        await channel.close()

    for how, why in ((talk, "without a close frame"), (leave, "without the exit status of the process")):
        async with pod_server(how) as url, client_of(url) as client:
            with pytest.raises(TransportError, match=why):
                await client.exec("web", "default", command=["ls"])


async def test_a_port_is_spoken_to() -> None:
    async def talk(channel: Channel) -> None:
        assert channel.query == {"ports": ["8080"]}
        for number in (b"\x00", b"\x01"):
            await channel.send(number + (8080).to_bytes(2, "little"))
        await channel.send(b"\x00" + (await channel.message())[1:].upper())
        await channel.send(b"\x01it broke")

    async with (
        pod_server(talk) as url,
        client_of(url) as client,
        client.port_forward("web", "default", port=8080) as port,
    ):
        await port.write(b"hello")
        coming = aiter(port)
        assert await anext(coming) == b"HELLO"
        with pytest.raises(TransportError, match="it broke"):
            await anext(coming)


async def test_a_message_without_end_is_cut_off() -> None:
    async def talk(channel: Channel) -> None:
        channel._writer.write(bytes((0x82, 127)) + (1 << 40).to_bytes(8))
        await refused.wait()

    refused = asyncio.Event()
    async with pod_server(talk) as url, client_of(url) as client:
        with pytest.raises(TransportError, match="exceeds limit of 33554432 bytes"):
            await client.exec("web", "default", command=["ls"])
        refused.set()


async def test_a_log_is_read_whole_or_line_by_line() -> None:
    async with pod_server(log=b"one\n\nthree\nfour") as url, client_of(url) as client:
        assert await client.log_text("web", "default", tail_lines=5) == "one\n\nthree\nfour"
        async with client.logs("web", "default", timestamps=True) as lines:
            assert [line async for line in lines] == [b"one", b"", b"three", b"four"]


async def test_a_server_in_process_answers_a_request_for_a_command() -> None:
    async with ControlPlane(system=False) as plane:
        with pytest.raises(NotFound, match='pods "web" not found'):
            await plane.client().exec("web", "default", command=["ls"])
