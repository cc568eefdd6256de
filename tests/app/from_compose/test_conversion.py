"""Compose files become apps: with the names of Compose, and with every setting without an effect reported."""

from pathlib import Path
from typing import Any

import pytest
from tests.app.apps import by_name, written
from tests.workload.kinds.conftest import Plane

from setpoint.app.loader import LoadedApp, load_app
from setpoint.app.sources import SourceOptions, find_source, kind_of
from setpoint.objects.typedyaml import Mistakes

TEXT = """
x-common: &common
  restart: on-failure:3
services:
  web_app:
    <<: *common
    image: web
    scale: 2
    ports: ["${PORT:-8000}:80", "9000-9001:90-91"]
    networks:
      slow: {priority: 1}
      fast: {priority: 5, aliases: [quick]}
    depends_on:
      db: {condition: service_healthy, restart: true, required: false}
    healthcheck: {test: [CMD, check, "$$A"], start_period: 20s, retries: 2}
  db:
    image: db
    volumes: [data:/data, other:/other]
    ports: ["127.0.0.1:5432:5432", "53:53/udp"]
  tools: {image: tools, profiles: [debug], credential_spec: {file: x}}
volumes:
  data:
  other: {external: true, name: mine}
networks: {slow: , fast: {internal: true}}
"""


def load(directory: Path, text: str, *profiles: str, environ: dict[str, str] | None = None, **more: Any) -> LoadedApp:
    file = written(directory / "shop", text, more.pop("files", None), name="compose.yaml")
    return load_app(file, environ or {}, profiles=profiles, on_this_machine=False, **more)


def test_resources_have_the_names_and_ports_of_compose(tmp_path: Path) -> None:
    text = TEXT.replace('"9000-9001:90-91"', '"91"')
    loaded = load(tmp_path, text, environ={"PORT": "8080"})
    objects = by_name(loaded.objects)
    first = objects["Container/web-app-1"]["spec"]
    assert first["containerName"] == "shop-web_app-1"
    assert objects["Container/web-app-2"]["spec"]["containerName"] == "shop-web_app-2"
    # The network with the highest priority is the first; other containers know the name of the file.
    assert [each["name"] for each in first["networks"]] == ["fast", "slow"]
    assert first["networks"][0]["aliases"] == ["web-app", "web_app", "quick"]
    assert (first["restartPolicy"], first["maxRestarts"]) == ("on-failure", 3)
    assert first["dependsOn"] == [
        {"kind": "Container", "name": "db", "condition": "Ready", "restart": True, "optional": True}
    ]
    [probe] = first["healthProbes"]
    assert probe["execProbe"]["command"] == ["check", "$A"]
    assert probe["failureThreshold"] == 2
    assert probe["schedule"] == {"kind": "Continuous", "interval": "30s", "timeout": "30s", "startPeriod": "20s"}
    # Replicas share the port of the file.
    assert objects["Service/web-app-http"]["spec"]["port"] == 8080
    database = objects["Container/db"]["spec"]
    assert database["ports"] == [
        {"containerPort": 5432, "hostPort": 5432, "hostIP": "127.0.0.1"},
        {"containerPort": 53, "hostPort": 53, "hostIP": "0.0.0.0", "protocol": "UDP"},
    ]
    assert objects["ContainerVolume/data"]["spec"]["name"] == "shop_data"
    assert objects["ContainerVolume/other"]["spec"] == {"name": "mine", "existing": True, "persistent": True}
    assert objects["ContainerNetwork/fast"]["spec"]["networkName"] == "shop_fast"
    assert "Container/tools" not in objects
    assert loaded.notes == ()


def test_a_built_image_has_the_name_of_its_project(tmp_path: Path) -> None:
    loaded = load(
        tmp_path, "services: {a: {build: .}, b: {build: {context: ., dockerfile_inline: FROM a}, image: own}}"
    )
    objects = by_name(loaded.objects)
    assert objects["Container/a"]["spec"]["image"] == "shop-a"
    assert objects["Container/b"]["spec"]["image"] == "own"
    assert objects["Container/b"]["spec"]["build"]["dockerfileInline"] == "FROM a"


def test_profiles_enable_services_and_settings_without_an_effect_are_reported(tmp_path: Path) -> None:
    for loaded in (load(tmp_path, TEXT, "debug"), load(tmp_path, TEXT, environ={"COMPOSE_PROFILES": "debug"})):
        assert "Container/tools" in by_name(loaded.objects)
        [note] = loaded.notes
        assert str(note) == (
            f"{tmp_path}/shop/compose.yaml:20:44: services.tools.credential_spec: a setting of Windows containers; "
            "remove this setting"
        )


def test_objects_are_those_that_the_server_takes(tmp_path: Path, served: Plane) -> None:
    for tree in load(tmp_path, TEXT, "debug").objects:
        served.run(served.client.create(tree, dry_run=True))


def test_mistakes_are_reported_with_their_places(tmp_path: Path) -> None:
    text = "services:\n  a: {image: a, pid: 'service:b', stop_signal: SIGNOTHING}\n  b: {image: b}\n  B: {image: b}\n"
    with pytest.raises(Mistakes) as raised:
        load(tmp_path, text)
    assert [str(each).replace(f"{tmp_path}/shop/", "") for each in raised.value.found] == [
        "compose.yaml:4:3: services.B: too similar to b; rename one"
    ]
    with pytest.raises(Mistakes) as raised:
        load(tmp_path, text.replace("  B: {image: b}\n", ""))
    [mistake] = raised.value.found
    assert str(mistake).startswith(f"{tmp_path}/shop/compose.yaml:2:")
    assert "SIGNOTHING" in str(mistake)


def test_several_files_and_files_of_variables_are_given_by_name(tmp_path: Path) -> None:
    place = tmp_path / "shop"
    files = {"more.yaml": "services: {a: {environment: {B: $B}}}\n", "own.env": "B=own\n", ".env": "B=usual\n"}
    text = "services: {a: {image: a, environment: {A: x}}}\n"
    options = SourceOptions((place / "compose.yaml", place / "more.yaml"), ("own.env",))
    loaded = load(tmp_path, text, files=files, options=options)
    assert by_name(loaded.objects)["Container/a"]["spec"]["env"] == [
        {"name": "A", "value": "x"},
        {"name": "B", "value": "own"},
    ]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["setpoint.yaml", "compose.yaml", "Procfile"], "setpoint.yaml"),
        (["docker-compose.yml", "process-compose.yaml", "Procfile"], "docker-compose.yml"),
        (["process-compose.yaml", "Procfile"], "process-compose.yaml"),
        (["Procfile", "Procfile.dev"], "Procfile.dev"),
        (["package.json"], None),
    ],
)
def test_one_file_of_a_directory_describes_its_app(tmp_path: Path, names: list[str], found: str | None) -> None:
    for name in names:
        (tmp_path / name).write_text("")
    assert find_source(tmp_path, {}) == (tmp_path / found if found else None)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("compose.prod.yaml", "", "compose"),
        ("stack.yml", "services: {a: {image: a, depends_on: [b]}}", "compose"),
        ("app.yaml", "services: {a: {image: a, after: b}}", "app"),
        ("dev.yaml", "processes: {a: {command: a}}", "process-compose"),
        ("Procfile.test", "a: b", "procfile"),
        ("broken.yaml", "a: [", "app"),
    ],
)
def test_the_kind_of_a_file_is_known_by_its_name_or_content(tmp_path: Path, name: str, text: str, kind: str) -> None:
    (tmp_path / name).write_text(text)
    assert kind_of(tmp_path / name) == kind
