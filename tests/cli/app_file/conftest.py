"""Commands about an app file that is not run."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.app.machine import own_environ
from tests.cli.conftest import Ran

from setpoint.cli.main import main

Command = Callable[..., Ran]
SHOP = """\
app: shop
env: { LOG: info }
services:
  db:
    image: registry.example.com/databases/postgres:16-with-everything
    env: { POSTGRES_PASSWORD: "${secret.db}" }
    ports: { main: 5432 }
    ready: tcp
  cache: { run: "cache --port ${port.main}", ports: { main: auto } }
  api:
    run: api --port ${port.http}
    replicas: 2
    ports: { http: auto }
    env: { DB: "${services.db.url}", TOKEN: geheim }
    after: { db: ready, migrate: done, cache: started }
  web: { run: web, env: { API: "${services.api.url}" } }
tasks:
  migrate: { run: migrate up, after: db }
  test: { run: pytest -q, after: { api: ready, web: started } }
  nightly: { run: backup, schedule: "@daily", after: db }
"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that one is in, and in which nothing runs."""
    found = tmp_path / "shop"
    found.mkdir()
    monkeypatch.chdir(found)
    own = own_environ(tmp_path / "state")
    for name in {*os.environ} - {*own}:
        monkeypatch.delenv(name)
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DB", "hunter2")
    return found


@pytest.fixture
def setpoint(directory: Path) -> Command:
    """Runs `setpoint` there."""

    def run(*arguments: str) -> Ran:
        result = CliRunner().invoke(main, list(arguments))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run
