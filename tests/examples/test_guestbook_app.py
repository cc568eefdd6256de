"""The guest book: images built without a registry, containers that reach each other, and nothing left of them."""

import json
import os
from pathlib import Path
from urllib.parse import urlsplit

from tests.examples.apps import APPS, example
from tests.workload.podman import Service

from setpoint.app.loading import load_app


def test_what_is_written_in_one_container_is_kept_in_another(podman: Service, tmp_path: Path) -> None:
    with example("guestbook", tmp_path, DOCKER_HOST=podman.address, USER="ada") as app:
        parts = app.parts()
        assert (parts["book"].ready, parts["web"].ready, parts["base"].state) == ("1/1", "1/1", "Succeeded")
        assert "the book says: ada was here" in app.setpoint("run", "sign")
        assert app.get("book/cgi-bin/entries") == "ada was here\n"
        assert "<li>ada was here</li>" in app.get("web/")

        # An edit of the page builds its image anew; the book, and what is in it, stays.
        was = json.loads(app.setpoint("get", "ctr/web", "-o", "json"))["status"]["containerId"]
        app.edit("images/web.cgi", "<h1>Guest book</h1>", "<h1>Visitors</h1>")
        app.await_(lambda: "<h1>Visitors</h1>" in app.get("web/"))
        assert "<li>ada was here</li>" in app.get("web/")
        assert json.loads(app.setpoint("get", "ctr/web", "-o", "json"))["status"]["containerId"] != was


def test_with_a_registry_nothing_is_made_of_this_machine() -> None:
    file = APPS / "guestbook" / "setpoint.yaml"
    objects = load_app(file, os.environ, profiles=["registry"]).objects
    built = {tree["metadata"]["name"]: tree["spec"]["build"] for tree in objects if tree["kind"] == "Container"}
    bases = {name: [arg["value"] for arg in build["args"]] for name, build in built.items()}
    assert set(bases) == {"book", "web"}
    for [base] in bases.values():
        assert urlsplit(f"//{base}").hostname == "docker.io"
    assert "base" not in {tree["metadata"]["name"] for tree in objects}
