"""What the example apps are beyond what their READMEs tell to try (`test_readmes`)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.example_apps.apps import APPS, example

from setpoint.app.loader import load_app
from setpoint.objects.tree import Object


def rendered(name: str, *profiles: str) -> dict[str, Object]:
    """The objects of an app in a variant, by name."""
    objects = load_app(APPS / name / "setpoint.yaml", os.environ, profiles=profiles).objects
    return {tree["metadata"]["name"]: tree for tree in objects}


@pytest.mark.slow
def test_the_page_of_the_shop_leads_to_its_api_and_what_is_sold_stays_sold(tmp_path: Path) -> None:
    with example("shop", tmp_path) as app:
        page = app.get("web/")
        assert "The Corner Shop" in page
        assert app.setpoint("url", "api").strip() in page
        app.setpoint("run", "test")
        products = app.get("api/products")
        assert json.loads(products)[0] == {"name": "tea", "stock": 39}
        app.setpoint("restart", "db")
        app.setpoint("wait", "exe/db", "exe/worker")
        assert app.get("api/products") == products
        assert "only-for-trying-things-out" not in app.setpoint("get", "exe,exers", "-o", "yaml")


def test_a_variant_of_the_shop_has_no_page_and_one_api() -> None:
    objects = rendered("shop", "ci")
    assert objects["api"]["spec"]["replicas"] == 1
    assert "web" not in objects


def test_a_variant_of_the_guest_book_begins_with_an_image_of_a_registry() -> None:
    objects = rendered("guestbook", "registry")
    for name in ("book", "web"):
        [base] = objects[name]["spec"]["build"]["args"]
        assert urlsplit(f"//{base['value']}").hostname == "docker.io"
    assert "base" not in objects


@pytest.mark.slow
def test_the_controllers_of_the_sites_pass_their_own_tests() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "controllers"]
    ran = subprocess.run(command, cwd=APPS / "sites", capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
