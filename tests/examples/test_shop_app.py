"""The shop: it starts, sells, restarts what is edited, says why it is broken, and ends without a trace."""

import json
import os
from pathlib import Path

from tests.examples.apps import APPS, example

from setpoint.app.loading import load_app

# The processes of the API.
APIS = ("exe", "-l", "setpoint.dev/part=api")


def test_the_shop_sells_what_it_has(tmp_path: Path) -> None:
    with example("shop", tmp_path) as app:
        parts = app.parts()
        assert {name: part.ready for name, part in parts.items() if part.ready != "-"} == {
            "db": "1/1",
            "api": "2/2",
            "web": "1/1",
            "worker": "1/1",
        }
        assert parts["migrate"].state == "Succeeded"
        assert "OK" in app.setpoint("run", "test")
        assert [each["name"] for each in json.loads(app.get("api/products"))] == ["tea", "coffee", "biscuits"]
        page = app.get("web/")
        assert "The Corner Shop" in page
        assert app.setpoint("url", "api").strip() in page
        assert "only-for-trying-things-out" not in app.setpoint("env", "api")

        # What was sold stays sold when the database is started again.
        stock = app.get("api/products")
        app.setpoint("restart", "db")
        app.await_(lambda: app.get("api/products") == stock)


def test_an_edit_restarts_what_was_edited_and_a_broken_one_is_explained(tmp_path: Path) -> None:
    with example("shop", tmp_path) as app:
        app.edit("api.py", '{"name": name,', '{"name": name.upper(),')
        app.setpoint("wait", *APIS, "--for=jsonpath={.status.restartCount}=1", "--for=ready")
        assert "TEA" in app.get("api/products")
        assert {name: part.restarts for name, part in app.parts().items() if part.restarts} == {"api": 2}

        app.edit("api.py", "import json", 'raise RuntimeError("out of milk")\nimport json')
        app.setpoint("wait", *APIS, "--for=jsonpath={.status.lastExitCode}=1")
        why = app.setpoint("why", "api")
        assert "out of milk" in why
        assert "exit code 1" in why

        app.edit("api.py", 'raise RuntimeError("out of milk")\n', "")


def test_a_variant_has_no_page_and_one_api() -> None:
    objects = load_app(APPS / "shop" / "setpoint.yaml", os.environ, profiles=["ci"]).objects
    api = next(tree for tree in objects if tree["kind"] == "ExecutableReplicaSet")
    assert api["spec"]["replicas"] == 1
    assert "web" not in {tree["metadata"]["name"] for tree in objects}
