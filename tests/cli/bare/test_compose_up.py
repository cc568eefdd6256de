"""A bare compose file runs as its users expect, with containers of a real engine."""

from pathlib import Path

import pytest
from tests.cli.bare.projects import project
from tests.ports import free_ports
from tests.workload.podman import IMAGE, Service

pytestmark = pytest.mark.slow

WEB = f"""
services:
  web:
    image: {IMAGE}
    command: httpd -f -p 80 -h /www
    ports: ["PORT:80"]
    volumes: ["./www:/www:ro", "data:/data"]
    healthcheck:
      test: wget -q -O /dev/null http://127.0.0.1:80/
      interval: 30s
      start_period: 60s
    stop_grace_period: 1s
    networks:
      default: {{aliases: [pages]}}
  init:
    image: {IMAGE}
    command: sh -c "echo saved > /data/file"
    volumes: ["data:/data"]
  visitor_1:
    image: {IMAGE}
    command: [sh, /visit.sh]
    depends_on:
      web: {{condition: service_healthy}}
      init: {{condition: service_completed_successfully}}
    secrets: [token, key]
    configs: [{{source: motd, target: /etc/motd}}]
    volumes: ["data:/data", "./visit.sh:/visit.sh"]
    hostname: box
    stop_grace_period: 1s
  extra:
    extends: {{service: visitor_1}}
    command: sleep 600
    profiles: [more]
secrets:
  token: {{environment: TOKEN}}
  key: {{file: ./key.txt}}
configs:
  motd: {{content: "hello ${{NAME}}\\n"}}
volumes:
  data:
"""
VISIT = """
cat /run/secrets/token /run/secrets/key /etc/motd
stat -c %a /run/secrets/token
cat /data/file
wget -q -O - http://pages/
wget -q -O - http://web/
exec sleep 600
"""
OVERRIDE = """
services:
  web:
    environment: {COLOR: "${COLOR:-red}"}
"""


def test_a_compose_file_runs_as_with_compose(tmp_path: Path, podman: Service) -> None:
    [port] = free_ports(1)
    files = {
        "compose.yaml": WEB.replace("PORT", str(port)),
        "compose.override.yaml": OVERRIDE,
        ".env": "NAME=ada\nTOKEN=t0ken\n",
        "key.txt": "k3y\n",
        "visit.sh": VISIT,
        "www/index.html": "page\n",
    }
    with project(tmp_path, files, podman) as shop:
        printed = shop.run("up", "-d")
        assert "using compose.yaml, compose.override.yaml" in printed
        # Published as the file says, and named as Compose names containers, networks and volumes.
        assert shop.get(f"http://127.0.0.1:{port}/") == "page\n"
        found = shop.in_engine(lambda engine: engine.containers.inspect("shop-web-1"))
        assert found.raw["NetworkSettings"]["Networks"].keys() == {"shop_default"}
        assert "COLOR=red" in found.raw["Config"]["Env"]
        bindings = found.raw["HostConfig"]["PortBindings"]["80/tcp"]
        assert [(each["HostIp"] or "0.0.0.0", each["HostPort"]) for each in bindings] == [("0.0.0.0", str(port))]
        assert shop.in_engine(lambda engine: engine.volumes.find("shop_data")) is not None
        # Secrets and configs are files; services reach each other by names and aliases.
        said = shop.run("logs", "visitor-1").splitlines()
        assert said == ["t0ken" + "k3y", "hello ada", "444", "saved", "page", "page"]
        assert "extra" not in shop.run("ps")

        # A changed file is applied as a difference.
        before = found.id
        shop.run("up", "-d", "--profile", "more")
        assert "extra" in shop.run("ps")
        again = shop.in_engine(lambda engine: engine.containers.inspect("shop-web-1"))
        assert again.id == before
        shop.run("up", "-d", environ={"COLOR": "blue"})
        changed = shop.in_engine(lambda engine: engine.containers.inspect("shop-web-1"))
        assert "COLOR=blue" in changed.raw["Config"]["Env"]
        assert "extra" not in shop.run("ps")


VOLUME = f"""
services:
  keeper:
    image: {IMAGE}
    command: sleep 600
    volumes: ["data:/data"]
    stop_grace_period: 1s
volumes: {{data: }}
"""


def test_down_keeps_volumes_unless_they_are_to_be_removed(tmp_path: Path, podman: Service) -> None:
    with project(tmp_path, {"compose.yml": VOLUME}, podman) as shop:
        shop.run("up", "-d")
        assert "nothing left running" in shop.run("down")
        assert shop.in_engine(lambda engine: engine.volumes.find("shop_data")) is not None
        assert shop.in_engine(lambda engine: engine.networks.find("shop_default")) is None
        # Also when no app is running.
        assert "removed the volume shop_data" in shop.run("down", "-v")
        assert shop.in_engine(lambda engine: engine.volumes.find("shop_data")) is None
        shop.run("up", "-d")
        shop.run("down", "-v")
        assert shop.in_engine(lambda engine: engine.volumes.find("shop_data")) is None


BUILT = f"""
services:
  built:
    build:
      context: .
      dockerfile_inline: |
        FROM {IMAGE} AS first
        ARG WHO=nobody
        RUN echo $$WHO > /who
        FROM first AS second
        RUN echo second > /stage
      target: second
      args: {{WHO: ada}}
    command: sh -c "cat /who /stage; hostname; ulimit -n; cat /proc/sys/net/core/somaxconn; exec sleep 600"
    hostname: box
    init: true
    ulimits: {{nofile: 200, nproc: 1024}}
    sysctls: {{net.core.somaxconn: 99}}
    read_only: true
    scale: 2
    stop_grace_period: 1s
"""


def test_builds_replicas_and_settings_of_the_engine_have_their_effects(tmp_path: Path, podman: Service) -> None:
    with project(tmp_path, {"docker-compose.yml": BUILT}, podman) as shop:
        shop.run("up", "-d")
        found = shop.in_engine(lambda engine: engine.containers.inspect("shop-built-2"))
        assert found.raw["HostConfig"]["ReadonlyRootfs"] is True
        assert found.raw["HostConfig"]["Init"] is True
        lines = shop.run("logs", "built").splitlines()
        assert sorted(line.rpartition(" ")[2] for line in lines) == sorted(["ada", "second", "box", "200", "99"] * 2)
