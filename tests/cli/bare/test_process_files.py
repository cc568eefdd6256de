"""A bare Procfile and a bare process-compose file run as with their own tools."""

from pathlib import Path

import pytest
from tests.cli.bare.projects import project
from tests.ports import free_ports

pytestmark = pytest.mark.slow


def test_a_procfile_runs_with_its_variables_and_ports(tmp_path: Path) -> None:
    [port] = free_ports(1)
    files = {
        "Procfile": "web: python3 -m http.server --bind 127.0.0.1 $PORT\nworker: echo $WHO $PORT; exec sleep 600\n",
        ".env": f"WHO=ada\nPORT={port}\n",
        "index.html": "page\n",
    }
    with project(tmp_path, files) as shop:
        assert "using Procfile" in shop.run("up", "-d")
        assert shop.run("logs", "worker").splitlines() == [f"ada {port + 100}"]
        assert shop.get(shop.run("url", "web").strip()) == "page\n"
        assert shop.run("url", "web").strip().endswith(f":{port}")
        assert not (shop.directory / "setpoint.yaml").exists()


def test_a_process_compose_file_runs_in_the_order_of_its_dependencies(tmp_path: Path) -> None:
    text = """
version: "0.5"
environment: ["WHO=${NAME}"]
vars: {PLACE: data}
processes:
  prepare: {command: "mkdir -p {{.PLACE}} && echo $$WHO > {{.PLACE}}/file"}
  show:
    command: "cat data/file; exec sleep 600"
    depends_on: {prepare: {condition: process_completed_successfully}}
    namespace: back
    shutdown: {signal: 15, timeout_seconds: 2}
  off: {command: exec sleep 600, disabled: true}
"""
    with project(tmp_path, {"process-compose.yaml": text, ".env": "NAME=ada\n"}) as shop:
        assert "using process-compose.yaml" in shop.run("up", "-d")
        assert shop.run("logs", "show").splitlines() == ["ada"]
        assert "off" not in shop.run("ps")
