"""A server that runs out of file descriptors: it says so, counts it, and goes on for those who are connected."""

import asyncio
import json
import re
import subprocess
import sys
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from setpoint.server.edge.descriptors import Descriptors

LIMIT = 96
START = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({LIMIT}, {LIMIT}))
sys.argv = ["setpoint", "serve", "--listen", "127.0.0.1:0", "--plain-http", "--token", "secret", *sys.argv[1:]]
from setpoint.cli.main import main
main()
"""


async def _get(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> tuple[int, bytes]:
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n".encode())
    return await _answer(reader)


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = re.search(r"(?i)content-length: (\d+)", head)
    return int(head.split()[1]), await reader.readexactly(int(length[1]) if length else 0)


async def _ask_with_many_connections(port: int) -> None:
    first = await asyncio.open_connection("127.0.0.1", port)
    assert (await _get(*first, "/api/v1/namespaces"))[0] == 200
    others = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2 * LIMIT)]
    # Who is let in asks nothing and is not answered; there is no room for all, so the others are.
    answers = [asyncio.create_task(_answer(reader)) for reader, _ in others]
    for answer in asyncio.as_completed(answers):
        status, body = await answer
        break
    assert status == 503
    assert "raise the limit of open files" in json.loads(body)["message"]
    for each in answers:
        each.cancel()
    refused = [each for each in await asyncio.gather(*answers, return_exceptions=True) if isinstance(each, tuple)]
    # Who is connected goes on, and the store has what it needs.
    assert (await _get(*first, "/api/v1/namespaces"))[0] == 200
    status, text = await _get(*first, "/metrics")
    counted = re.search(rb"setpoint_connections_refused_total (\d+)", text)
    assert counted is not None
    assert int(counted[1]) >= len(refused)
    for _, writer in others:
        writer.close()
    # When there is room again, whoever comes is let in.
    while not await _is_let_in(port):
        await asyncio.sleep(0.05)
    first[1].close()


async def _is_let_in(port: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return (await _get(reader, writer, "/api/v1/namespaces"))[0] == 200
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    finally:
        writer.close()


def test_connections_leave_some_for_the_store_and_whoever_is_refused_is_told(tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, "--kubeconfig", str(tmp_path / "kubeconfig")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            assert ready.startswith("ready "), process.communicate()[1]
            asyncio.run(_ask_with_many_connections(int(ready.rpartition(":")[2])))
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=20)
    told = [line for line in errors.splitlines() if "connections are refused" in line]
    assert told
    # Once in ten seconds, however many come; the log has the time of the machine, which may be set meanwhile.
    times = [datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f") for line in told]
    assert all(later - earlier > timedelta(seconds=9) for earlier, later in pairwise(times))
    assert "raise the limit of open files" in told[0]


def test_no_descriptor_left_is_told_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: int) -> int:
        raise OSError(24, "Too many open files")

    descriptors = Descriptors()
    if not descriptors._limit:
        pytest.skip("there is no limit here")
    assert descriptors.admit(0.0)
    monkeypatch.setattr("os.dup", none_left)
    assert not descriptors.admit(0.0)
    for second in range(25):
        descriptors.check(float(second))
    found = {family.name: family.samples[0][1] for family in descriptors.families()}
    assert found["setpoint_file_descriptors_exhausted_total"] == 25
    assert found["setpoint_connections_refused_total"] == 1
