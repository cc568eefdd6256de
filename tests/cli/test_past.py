"""`setpoint why`, `history`, `diff`, `at`, `blame`, `timeline` and `trace` against a server that runs workloads."""

import asyncio
import json
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

import pytest
import yaml
from tests.cli.conftest import Command, Served
from tests.cli.pseudo_terminal import shown

from setpoint.client.client import Client
from setpoint.objects.provenance import Cause

GROUP = "usvc-dev.developer.microsoft.com/v1"


def settings(namespace: str, **data: str) -> str:
    metadata = {"name": "settings", "namespace": namespace}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def apply(setpoint: Command, text: str) -> None:
    ran = setpoint("apply", "-f", "-", text=text)
    assert ran.code == 0, ran.stderr


def lines(text: str) -> list[list[str]]:
    """A table as its rows of cells."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]


@pytest.fixture
def crashing(setpoint: Command) -> Iterator[str]:
    """The name of a process that ends as soon as it starts."""
    name = f"crashing-{uuid.uuid4().hex[:6]}"
    code = "import sys; print('no database at postgres://u:s3cret@db', file=sys.stderr); sys.exit(3)"
    # Started again so late that it stays as it is while it is asked about.
    again = {"restartPolicy": "OnFailure", "restartBackoff": {"initial": "60s", "max": "60s"}}
    spec = {"executablePath": sys.executable, "args": ["-c", code], **again}
    variables = [{"name": "API_TOKEN", "value": "hunter2"}]
    tree = {"apiVersion": GROUP, "kind": "Executable", "metadata": {"name": name}, "spec": {**spec, "env": variables}}
    apply(setpoint, yaml.safe_dump(tree))
    waited = setpoint("wait", f"exe/{name}", "--for", "jsonpath={.status.exitCode}=3", "--timeout", "30s")
    assert waited.code == 0, waited.stderr
    yield name
    setpoint("delete", f"exe/{name}", "--no-wait")


def test_why_tells_how_a_process_ended_its_last_words_and_who_made_it(setpoint: Command, crashing: str) -> None:
    ran = setpoint("why", crashing)
    assert ran.code == 0
    first, *_ = ran.stdout.splitlines()
    assert first.startswith(f"{crashing} is not ready: the process ended with exit code 3; last output: no database at")
    assert "last output │ no database at postgres://u:***@db" in ran.stdout
    assert re.search(r"status\.state \w+→Starting .*executable controller", ran.stdout)
    assert re.search(r"created +you", ran.stdout)
    assert "s3cret" not in ran.stdout


def test_why_has_a_form_for_programs(setpoint: Command, crashing: str) -> None:
    story = json.loads(setpoint("why", f"exe/{crashing}", "-o", "json").stdout)
    assert (story["object"], story["output"][-1]) == (f"Executable/{crashing}", "no database at postgres://u:***@db")
    assert yaml.safe_load(setpoint("why", f"exe/{crashing}", "-o", "yaml").stdout)["object"] == story["object"]


def test_a_terminal_gets_colours_and_its_own_width_unless_it_wants_none(served: Served, crashing: str) -> None:
    command = [sys.executable, "-m", "setpoint", "why", f"exe/{crashing}"]
    environ = {**served.environ, "TERM": "xterm"}
    coloured, narrow = shown(command, 140, environ), shown(command, 80, {**environ, "NO_COLOR": "1"})
    assert "\x1b[" in coloured
    assert "\x1b[" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    assert max(map(len, re.sub(r"\x1b\[\d+m", "", coloured).splitlines())) > 80


def test_a_history_is_a_table_the_newest_first(setpoint: Command, namespace: str) -> None:
    apply(setpoint, settings(namespace, k="1"))
    apply(setpoint, settings(namespace, k="2"))
    ran = setpoint("history", "configmap/settings", "-n", namespace)
    assert ran.code == 0, ran.stderr
    header, newest, oldest = lines(ran.stdout)
    assert header == ["RV", "TIME", "ACTOR", "CHANGE"]
    assert newest[2:] == ["you", "data.k 1→2"]
    assert oldest[2:] == ["you", "created"]
    names = setpoint("history", "cm", "settings", "-n", namespace, "-o", "name").stdout.split()
    assert names == [newest[0], oldest[0]]
    assert lines(setpoint("history", "cm/settings", "-n", namespace, "--limit", "1", "--no-headers").stdout) == [newest]
    found = json.loads(setpoint("history", "cm/settings", "-n", namespace, "-o", "json").stdout)["items"]
    assert found[0]["changes"] == [{"path": "data.k", "old": "1", "new": "2"}]
    assert lines(setpoint("history", "cm/settings", "-n", namespace, "--since", newest[0]).stdout)[1:] == [newest]


def test_a_diff_is_of_the_last_change_or_of_what_is_asked_for(setpoint: Command, namespace: str) -> None:
    for value in ("1", "2", "3"):
        apply(setpoint, settings(namespace, k=value))
    third, _, first = setpoint("history", "cm/settings", "-n", namespace, "-o", "name").stdout.split()
    last = setpoint("diff", "cm/settings", "-n", namespace)
    assert '-  k: "2"\n+  k: "3"\n' in last.stdout
    whole = setpoint("diff", "cm/settings", f"{first}..{third}", "-n", namespace, "--fields", "--exit-code")
    assert (whole.code, whole.stdout) == (1, "data.k 1→3\n")
    now = setpoint("diff", "cm/settings", "-n", namespace, "--at", first, "-o", "json")
    assert json.loads(now.stdout)["changes"] == [{"path": "data.k", "old": "1", "new": "3"}]
    same = setpoint("diff", "cm/settings", f"{third}..", "-n", namespace, "--exit-code")
    assert (same.code, same.stdout) == (0, "")


def test_ages_in_the_past_are_those_of_then(setpoint: Command, crashing: str) -> None:
    def age(*asked: str) -> str:
        [line] = [line for line in setpoint(*asked, "ps").stdout.splitlines() if line.startswith(crashing)]
        return line.split()[5]

    # An age begins with the whole second of the creation, so the first revision may be in the next one.
    young = ("0s", "1s")
    first = setpoint("history", f"exe/{crashing}", "-o", "name").stdout.split()[-1]
    while age() in young:
        time.sleep(0.1)
    assert age("at", first) in young


def test_any_reading_command_can_be_asked_of_the_past(setpoint: Command, namespace: str) -> None:
    apply(setpoint, settings(namespace, k="1"))
    apply(setpoint, settings(namespace, k="2"))
    _, first = setpoint("history", "cm/settings", "-n", namespace, "-o", "name").stdout.split()
    path = "jsonpath={.data.k}"
    assert setpoint("at", first, "get", "cm/settings", "-n", namespace, "-o", path).stdout.strip() == "1"
    assert setpoint("at", first, "cm/settings", "-n", namespace, "-o", path).stdout.strip() == "1"
    before = str(int(first) - 1)
    assert setpoint("at", before, "get", "cm", "settings", "-n", namespace).code == 3
    assert setpoint("at", first, "blame", "cm/settings", "-n", namespace).stdout.count('k: "1"') == 1
    assert setpoint("at", first, "ps").code == 0
    refused = setpoint("at", first, "delete", "cm/settings")
    assert (refused.code, "`delete` cannot read the past; available commands: get" in refused.stderr) == (2, True)


def test_secrets_are_masked_by_every_question(setpoint: Command, namespace: str) -> None:
    for value in ("hunter-1", "hunter-2"):
        metadata = {"name": "s", "namespace": namespace}
        tree = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": value}}
        apply(setpoint, yaml.safe_dump(tree))
    newest = setpoint("history", "secret/s", "-n", namespace, "-o", "name").stdout.split()[0]
    asked = [
        ("history", "secret/s", "-o", "json"),
        ("history", "secret/s", "-o", "wide"),
        ("diff", "secret/s"),
        ("diff", "secret/s", "-o", "yaml"),
        ("blame", "secret/s"),
        ("timeline", "secret/s", "-o", "json"),
        ("trace", "secret/s", "-o", "json"),
        ("why", "secret/s", "-o", "json"),
        ("at", newest, "get", "secret/s", "-o", "yaml"),
        ("at", newest, "get", "secrets", "-o", "json"),
    ]
    for arguments in asked:
        ran = setpoint(*arguments, "-n", namespace)
        assert ran.code == 0, ran.stderr
        assert "hunter" not in ran.stdout, arguments
        assert "aHVudGVy" not in ran.stdout, arguments


def test_variables_that_hold_secrets_are_masked(setpoint: Command, crashing: str) -> None:
    newest = setpoint("history", crashing, "-o", "name").stdout.split()[0]
    for arguments in (("blame", crashing), ("at", newest, "get", f"exe/{crashing}", "-o", "yaml")):
        text = setpoint(*arguments).stdout
        assert "name: API_TOKEN" in text
        assert "hunter2" not in text


def test_blame_puts_who_set_it_before_each_line(setpoint: Command, crashing: str) -> None:
    ran = setpoint("blame", crashing)
    assert re.search(r"rv \d+ +\S+  executable controller │ +", ran.stdout)
    assert re.search(r"rv \d+ +\S+  you +│ apiVersion", ran.stdout)
    found = json.loads(setpoint("blame", crashing, "-o", "json").stdout)
    assert {line.get("actor") for line in found["lines"]} == {None, "you", "executable controller"}


def test_a_timeline_is_of_all_workloads_unless_it_is_of_some(setpoint: Command, crashing: str) -> None:
    everything = setpoint("timeline", "--since", "10m")
    assert lines(everything.stdout)[0] == ["RV", "TIME", "OBJECT", "ACTOR", "CHANGE"]
    assert f"Executable/{crashing}" in everything.stdout
    one = lines(setpoint("timeline", crashing, "--no-headers").stdout)
    assert {row[2] for row in one} == {f"Executable/{crashing}"}
    assert [int(row[0]) for row in one] == sorted(int(row[0]) for row in one)


def test_a_trace_says_what_a_reconcile_ran_for_what_it_read_and_what_it_wrote(setpoint: Command, crashing: str) -> None:
    ran = setpoint("trace", crashing)
    assert ran.code == 0, ran.stderr
    head = rf"^executable reconciled Executable/{crashing} #1  [\d:]+\.\d{{3}}  [\d.]+ (µs|ms|s)  success.*  \w{{8}}$"
    assert re.search(head, ran.stdout, re.MULTILINE)
    assert re.search(rf"because  Executable/{crashing} rv \d+: created  \(you\)", ran.stdout)
    assert re.search(rf"read     Executable/{crashing}@\d+", ran.stdout)
    wrote = rf" patch Executable/{crashing}/status rv \d+→\d+: status.state set to Running"
    assert re.search(wrote, ran.stdout)
    assert re.search(r"view     current", ran.stdout)
    assert ran.stderr == ""


def test_the_last_reconcile_is_told_for_programs_and_found_again_by_its_id(setpoint: Command, crashing: str) -> None:
    [last] = json.loads(setpoint("trace", crashing, "--last", "-o", "json").stdout)["items"]
    assert last["key"] == crashing
    assert last["remembered"]["seconds"] > 0
    assert [each["object"] for each in last["remembered"]["reads"]]
    first = setpoint("trace", crashing, "-o", "name").stdout.split()[-1]
    [one] = json.loads(setpoint("trace", f"reconcile/{first}", "-o", "json").stdout)["items"]
    assert (one["id"], one["controller"]) == (first, "executable")
    assert one["writes"]


def test_a_trace_fits_the_terminal_and_leaves_nothing_out(served: Served, crashing: str) -> None:
    command = [sys.executable, "-m", "setpoint", "trace", crashing]
    environ = {**served.environ, "TERM": "xterm", "NO_COLOR": "1"}
    narrow, wide = (shown(command, width, environ) for width in (60, 400))
    assert max(map(len, narrow.splitlines())) <= 60
    assert "".join(narrow.split()) == "".join(wide.split())


def test_of_a_controller_elsewhere_a_trace_says_that_little_is_known(
    setpoint: Command, served: Served, namespace: str
) -> None:
    async def write() -> None:
        async with Client.from_kubeconfig(served.kubeconfig) as client:
            far = client.with_options(cause=Cause.reconcile("far", f"{namespace}/settings", "r-far"))
            await far.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": namespace}}
            )

    asyncio.run(write())
    ran = setpoint("trace", "cm/settings", "-n", namespace)
    assert re.search(rf"^far reconciled {namespace}/settings  \S+  r-far$", ran.stdout, re.MULTILINE)
    assert "their controllers run elsewhere" in ran.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("trace", "reconcile/nonsense"), 3, "reconcile nonsense not found"),
        (("trace", "reconcile"), 2, "expected exactly one reconcile: reconcile/ID"),
    ],
)
def test_a_reconcile_that_is_not_known_is_told_to_be(
    setpoint: Command, words: tuple[str, ...], code: int, says: str
) -> None:
    ran = setpoint(*words)
    assert (ran.code, says in ran.stderr) == (code, True)


def test_what_is_gone_is_still_told_of(setpoint: Command, namespace: str) -> None:
    apply(setpoint, settings(namespace, k="1"))
    assert setpoint("delete", "cm/settings", "-n", namespace).code == 0
    why = setpoint("why", "cm/settings", "-n", namespace)
    assert why.code == 3
    assert why.stdout.startswith("settings does not exist: it was deleted by you (since ")
    blame = setpoint("blame", "cm/settings", "-n", namespace)
    assert blame.code == 3
    found = re.search(r"was deleted at \S+; use --at (\d+) to see the last version", blame.stderr)
    assert found is not None
    assert setpoint("blame", "cm/settings", "-n", namespace, "--at", found[1]).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("why", "deploymnt/web"), 3, "did you mean deployments"),
        (("why", "nothing-like-it"), 3, "no workload named 'nothing-like-it'"),
        (("why", "configmap"), 3, "no configmap selected: specify configmap/NAME"),
        (("why", "configmap/nope"), 3, "ConfigMap/default/nope does not exist, and is not in the retained history"),
        (("history", "configmap/nope"), 3, "does not exist"),
        (("history", "cm/a", "cm/b"), 2, "expected exactly one object"),
        (("history", "cm/a", "--since", "noon"), 2, "invalid moment 'noon': expected a revision (218)"),
        (("diff", "cm/a", "1..2", "--at", "5m"), 2, "a range cannot be combined with --at"),
        (("diff", "cm/a", "..2"), 2, "has no start"),
        (("at", "now", "ps"), 2, "`now` needs no `at`"),
        (("at", "2001-01-01T00:00:00Z", "ps"), 1, "the oldest retained entry is from"),
    ],
)
def test_what_cannot_be_answered_says_why_and_what_to_do(
    setpoint: Command, arguments: tuple[str, ...], code: int, says: str
) -> None:
    ran = setpoint(*arguments)
    assert (ran.code, ran.stdout) == (code, "")
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr


def test_questions_import_nothing_of_the_server() -> None:
    program = (
        "import setpoint.cli.main, setpoint.cli.past.why, setpoint.past.why.fact_collector, setpoint.past.why.explain\n"
        "import setpoint.past.why.explanation_text, setpoint.past.trace, setpoint.past.blame\n"
        "import setpoint.past.difference\n"
        "import setpoint.workload.dependencies, sys\n"
        "print(*(name for name in sys.modules if name.startswith('setpoint')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = ("setpoint.server", "setpoint.store", "setpoint.controller", "setpoint.cache", "setpoint.plane")
    assert not [name for name in done.stdout.split() if name.startswith(heavy)]
