"""Isolated copies of apps: names, ports, volumes and networks."""

from pathlib import Path

from setpoint.app.isolation import FixedPort, fixed_ports, isolated, isolated_name
from setpoint.app.model import AppFile
from setpoint.app.ports import all_ports
from setpoint.app.reader import parse_app
from setpoint.app.sources import read_source

TEXT = """
app: shop
env: { API: "http://localhost:8000/v1", OTHER: "http://localhost:80001 10.8000.1" }
services:
  api: { run: "serve --port 8000 --workers 8000x", ports: { http: 8000 }, ready: "http://127.0.0.1:8000/up" }
  web: { run: "web --port ${port.http}", ports: { http: 3000 }, env: { API: "http://127.0.0.1:8000" } }
  quiet: { run: serve, ports: { http: 9000 } }
  both: { run: serve 81, ports: { http: "8081:81" } }
  db:
    image: db:1
    container_name: shop-db
    ports: { main: "5432:5432", admin: 81 }
    volumes: [data:/data, other:/other]
    networks: { back: { ipv4_address: 10.9.0.5 } }
    env: { URL: "http://localhost:3000" }
  free: { run: "serve ${port.http}", ports: { http: auto } }
tasks:
  seed: { run: "seed 0.0.0.0:5432" }
volumes: { data: { name: shop-data }, outer: { name: outer, external: true } }
networks: { back: { name: backnet, subnet: 10.9.0.0/24 }, shared: { external: true, name: shared } }
"""


def copy_of(app: AppFile) -> tuple[AppFile, dict[int, int]]:
    numbers = {each.number: 40000 + each.number for each in fixed_ports(app)}
    made, _ = isolated(app, "x", numbers)
    return made, numbers


def test_the_fixed_ports_are_those_of_this_machine() -> None:
    assert fixed_ports(parse_app(TEXT)) == [
        FixedPort("api", "http", 8000, by_program=True),
        FixedPort("web", "http", 3000),
        FixedPort("quiet", "http", 9000, by_program=True),
        FixedPort("both", "http", 81, by_program=True),
        FixedPort("both", "http", 8081),
        FixedPort("db", "main", 5432),
    ]


def test_ports_move_with_the_commands_variables_and_probes_that_name_them() -> None:
    made, _ = copy_of(parse_app(TEXT))
    ports = {
        name: {key: (port.listens, port.host) for key, port in each.items()} for name, each in all_ports(made).items()
    }
    assert ports == {
        "api": {"http": (48000, None)},
        "web": {"http": (None, 43000)},
        "quiet": {"http": (49000, None)},
        "both": {"http": (40081, 48081)},
        "db": {"main": (5432, 45432), "admin": (81, None)},
        "free": {"http": (None, None)},
    }
    assert made.services["api"].run == "serve --port 48000 --workers 8000x"
    assert made.services["api"].ready == "http://127.0.0.1:48000/up"
    assert made.services["both"].run == "serve 40081"
    assert made.services["web"].env == {"API": "http://127.0.0.1:48000"}
    assert made.services["db"].env == {"URL": "http://localhost:43000"}
    assert made.env == {"API": "http://localhost:48000/v1", "OTHER": "http://localhost:80001 10.8000.1"}
    assert made.tasks["seed"].run == "seed 0.0.0.0:45432"


def test_a_program_whose_port_is_not_in_the_file_gets_a_variable() -> None:
    app = parse_app(TEXT)
    numbers = {each.number: 40000 + each.number for each in fixed_ports(app)}
    made, moved = isolated(app, "x", numbers)
    assert made.services["quiet"].env == {"PORT": "49000"}
    assert [each.fixed.service for each in moved if each.by_variable] == ["quiet"]


def test_names_in_the_engine_get_the_suffix_and_external_ones_stay() -> None:
    made, _ = copy_of(parse_app(TEXT))
    assert made.app == "shop-x"
    assert made.services["db"].container_name == "shop-db-x"
    volumes = {name: volume.name for name, volume in made.volumes.items() if volume}
    assert volumes == {"data": "shop-data-x", "outer": "outer"}
    networks = {name: (network.name, network.subnet) for name, network in made.networks.items() if network}
    assert networks == {"back": ("backnet-x", ""), "shared": ("shared", "")}
    attached = made.services["db"].networks
    assert isinstance(attached, dict)
    assert attached["back"] is not None
    assert attached["back"].ipv4_address == ""


def test_a_long_name_stays_a_valid_name() -> None:
    assert len(isolated_name("a" * 63, "feature-1a2b")) == 63


def test_a_compose_file_is_isolated_like_an_app_file(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(
        """
        name: shop
        services:
          db:
            image: db:1
            container_name: fixed
            ports: ["5432:5432"]
            volumes: [data:/data]
          web: { image: web:1, ports: ["127.0.0.1:8080:80"], environment: { DB: "localhost:5432" } }
        volumes: { data: { name: named } }
        """
    )
    made, numbers = copy_of(read_source(tmp_path / "compose.yaml", {}, ()).app)
    assert sorted(numbers) == [5432, 8080]
    assert made.services["db"].container_name == "fixed-x"
    assert made.services["web"].env["DB"] == "localhost:45432"
    assert {port.host for ports in all_ports(made).values() for port in ports.values()} == {45432, 48080}
    assert [volume.name for volume in made.volumes.values() if volume] == ["named-x"]
