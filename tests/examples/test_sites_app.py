"""The sites: objects of a kind of the app's own become processes by its own controllers, which can be edited."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.examples.apps import APPS, Example, example, fetch


def site(app: Example, name: str) -> Any:
    return json.loads(app.setpoint("get", f"site/{name}", "-o", "json"))


def test_sites_run_and_follow_their_objects_and_their_controllers(tmp_path: Path) -> None:
    with example("sites", tmp_path) as app:
        app.setpoint("wait", "--for=condition=Ready", "site/blog", "site/recipes")
        url = site(app, "blog")["status"]["url"]
        assert "There is little here yet." in fetch(url)
        assert len(app.setpoint("get", "exe", "-o", "name").split()) == 3

        # A changed file leads to new processes behind the same address.
        app.edit("demo/blog.yaml", "There is little here yet.", "There is more now.")
        app.setpoint("up", "--detach")
        app.await_(lambda: "There is more now." in fetch(url))
        assert site(app, "blog")["status"]["url"] == url

        # A changed controller is loaded while the app runs.
        app.edit("controllers/sites.py", 'sp.Column("URL", ".status.url"),', 'sp.Column("Address", ".status.url"),')
        app.await_(lambda: "ADDRESS" in app.setpoint("get", "sites"))

        app.setpoint("delete", "site/recipes")
        app.await_(lambda: "recipes" not in app.setpoint("get", "exe,svc", "-o", "name"))


def test_the_controllers_pass_their_own_tests() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "controllers"]
    ran = subprocess.run(command, cwd=APPS / "sites", capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
