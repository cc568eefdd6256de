"""`setpoint telemetry`, and its tools for assistants, with a service that exports its own telemetry."""

import asyncio
import json
import sys
from collections.abc import Iterator

import pytest
from tests.cli.conftest import Command, Served, command_of, serving
from tests.cli.mcp.test_tools import tools

pytestmark = pytest.mark.slow

TRACE = "0af7651916cd43dd8448eb211c80319c"
OTHER = "b7ad6b7169203331b7ad6b7169203331"
SECRET = "geheim"
# Exports with the variables that Setpoint sets, as an SDK does.
EXPORTS = f"""
import json, os, time
from urllib.request import Request, urlopen

key = dict(each.split("=") for each in os.environ["OTEL_EXPORTER_OTLP_HEADERS"].split(","))
resource = {{"attributes": [{{"key": "service.name", "value": {{"stringValue": os.environ["OTEL_SERVICE_NAME"]}}}}]}}

def send(signal, body):
    request = Request(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/" + signal, json.dumps(body).encode(),
                      {{"content-type": "application/json", **key}})
    urlopen(request).close()

def span(trace, number, name, milliseconds, parent="", **more):
    begin = time.time_ns()
    return {{"traceId": trace, "spanId": f"{{number:016x}}", "parentSpanId": parent, "name": name,
            "startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + milliseconds * 1000000), **more}}

text = lambda name, value: {{"key": name, "value": {{"stringValue": value}}}}
failed = {{"status": {{"code": 2, "message": "refused by postgres://jane:{SECRET}@db"}},
          "attributes": [text("db.table", "orders"), text("db.password", "{SECRET}")]}}
spans = [span("{TRACE}", 1, "GET /orders", 200), span("{TRACE}", 2, "SELECT", 100, f"{{1:016x}}", **failed),
         span("{OTHER}", 3, "GET /health", 900)]
send("traces", {{"resourceSpans": [{{"resource": resource, "scopeSpans": [{{"spans": spans}}]}}]}})
record = {{"timeUnixNano": str(time.time_ns()), "severityNumber": 17, "severityText": "ERROR", "traceId": "{TRACE}",
          "spanId": f"{{2:016x}}", "body": {{"stringValue": "the query failed"}}}}
send("logs", {{"resourceLogs": [{{"resource": resource, "scopeLogs": [{{"logRecords": [record]}}]}}]}})
"""
EXPORTER = {
    "apiVersion": "usvc-dev.developer.microsoft.com/v1",
    "kind": "Executable",
    "metadata": {"name": "shop"},
    "spec": {"executablePath": sys.executable, "args": ["-c", EXPORTS]},
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Provides a server with two traces of the service shop, one of them with an error."""
    with serving(tmp_path_factory.mktemp("exported"), "--telemetry-enabled") as served:
        command = command_of(served)
        assert command("apply", "-f", "-", text=json.dumps(EXPORTER)).code == 0
        ended = command("wait", "executable/shop", "--for=jsonpath={.status.state}=Finished", "--timeout=60s")
        assert ended.code == 0, ended.stderr
        yield served


@pytest.fixture
def command(exported: Served) -> Command:
    return command_of(exported)


def test_traces_are_listed_filtered_and_sorted(command: Command) -> None:
    listed = command("telemetry", "traces")
    heading, *rows = listed.stdout.splitlines()
    assert heading.split() == ["TRACE", "START", "SERVICE", "NAME", "DURATION", "SPANS", "ERRORS", "ERROR"]
    assert [row.split()[0] for row in rows] == [OTHER[:12], TRACE[:12]]
    assert "refused by postgres://jane:***@db" in rows[1]
    for options, found in (
        (["--errors"], [TRACE]),
        (["--min-duration", "500ms"], [OTHER]),
        (["--text", "select"], [TRACE]),
        (["--slowest", "--limit", "1"], [OTHER]),
        (["--since", "1h", "shop"], [OTHER, TRACE]),
        (["absent"], []),
    ):
        shown = command("telemetry", "traces", "-o", "name", *options)
        assert (shown.code, shown.stdout.split()) == (0, found), options
    items = json.loads(command("telemetry", "traces", "-o", "json").stdout)["items"]
    assert [(each["errors"], each["spans"]) for each in items] == [(0, 1), (1, 2)]
    assert SECRET not in json.dumps(items)


def test_trace_is_a_tree_with_errors_and_logs(command: Command) -> None:
    shown = command("telemetry", "trace", TRACE[:8].upper())
    heading, *rest = shown.stdout.splitlines()
    assert heading.startswith(f"trace {TRACE}")
    assert rest[:5] == [
        "GET /orders  shop  200 ms",
        "  ! SELECT  shop  100 ms",
        "    error: refused by postgres://jane:***@db",
        "    db.table=orders",
        "    db.password=***",
    ]
    assert "ERROR shop  the query failed" in rest[-1]
    tree = json.loads(command("telemetry", "trace", TRACE, "-o", "json").stdout)
    [root] = tree["spans"]
    assert [each["name"] for each in root["children"]] == ["SELECT"]
    assert SECRET not in json.dumps(tree)


def test_unknown_and_invalid_ids_are_named(command: Command) -> None:
    for trace_id in ("ffff", "f" * 32):
        unknown = command("telemetry", "trace", trace_id)
        assert (unknown.code, "`setpoint telemetry traces` lists" in unknown.stderr) == (3, True)
    invalid = command("telemetry", "trace", "GET")
    assert (invalid.code, "expected up to 32 hexadecimal digits" in invalid.stderr) == (2, True)
    wrong = command("telemetry", "traces", "--min-duration", "soon")
    assert (wrong.code, "minDuration must be a duration such as 10ms" in wrong.stderr) == (1, True)


def test_help_of_both_commands_for_traces_names_the_other(command: Command) -> None:
    assert "setpoint telemetry" in command("trace", "--help").stdout
    for words in (["telemetry"], ["telemetry", "trace"]):
        assert "setpoint trace KIND/NAME" in " ".join(command(*words, "--help").stdout.split())


def test_server_without_telemetry_names_the_remedy(setpoint: Command) -> None:
    listed = setpoint("telemetry", "traces")
    assert (listed.code, "--telemetry-enabled" in listed.stderr) == (1, True)


async def test_assistants_find_the_failing_request(exported: Served) -> None:
    async with tools(exported.kubeconfig) as call:
        listed = await call("telemetry_traces", errors=True, service="shop", since="1h")
        assert TRACE in listed
        assert OTHER not in listed
        assert OTHER in await call("telemetry_traces", slowest=True, limit=1, min_duration="100ms", text="health")
        shown = await call("telemetry_trace", trace_id=TRACE)
        assert "! SELECT  shop  100 ms" in shown
        assert "the query failed" in shown
        assert SECRET not in listed + shown
        assert "no trace ffff is kept" in await call("telemetry_trace", fails=True, trace_id="ffff")
        assert "hexadecimal digits" in await call("telemetry_trace", fails=True, trace_id="--help")


async def test_assistants_of_a_user_without_the_right_are_refused(exported: Served, command: Command) -> None:
    kubeconfig = exported.kubeconfig.with_name("reader")
    made = await asyncio.to_thread(command, "user", "reader", "-o", str(kubeconfig))
    assert made.code == 0, made.stderr
    async with tools(kubeconfig) as call:
        for tool, arguments in (("telemetry_traces", {}), ("telemetry_trace", {"trace_id": TRACE})):
            assert 'resource "telemetry"' in await call(tool, fails=True, **arguments)
