"""`setpoint fork` creates a copy of a running server, whose kubeconfig any client can use."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from setpoint.cli.main import main
from setpoint.testing import LocalServer


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_the_printed_kubeconfig_leads_to_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with LocalServer(system=False) as server:
        original = ["--kubeconfig", str(server.kubeconfig)]
        server.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {colour: red}")
        revision = server.client.get("v1/ConfigMap", "a")["metadata"]["resourceVersion"]
        server.client.delete("v1/ConfigMap", "a")
        copy = tmp_path / "fork.kubeconfig"
        made = invoke("fork", "--at", revision, "--for", "30m", "-o", str(copy), *original)
        assert made.exit_code == 0, made.output
        assert copy.stat().st_mode & 0o777 == 0o600
        assert f"at revision {revision}, until " in made.output
        shown = invoke("get", "configmap/a", "-o", "yaml", "--kubeconfig", str(copy))
        assert "colour: red" in shown.output, shown.output
        assert invoke("delete", "configmap/a", "--kubeconfig", str(copy)).exit_code == 0
        listed = invoke("fork", "--list", *original).output
        name = listed.split()[0]
        assert f"revision {revision}" in listed
        printed = invoke("fork", *original)
        assert "current-context: proxy" in printed.output
        assert invoke("fork", "--delete", name, *original).exit_code == 0
        assert name not in invoke("fork", "--list", *original).output
        gone = invoke("get", "configmaps", "--kubeconfig", str(copy))
        assert (gone.exit_code != 0, "not found" in gone.output) == (True, True)
        unknown = invoke("fork", "--at", "999999", *original)
        assert unknown.exit_code == 1
        assert "spec.revision" in unknown.output or "999999" in unknown.output
