"""Compares the resolver with compose-go on generated projects: `python -m tests.app.compose.fuzz --count 2000`.

Each project is a random composition of attributes in short and long forms, variables, overrides, extended services,
included files, anchors and merge keys. Differences are printed; the directory of a project stays for inspection. This
needs Go.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.app.compose.case_files import Case, answer, differences
from tests.app.compose.fuzz_texts import TextGenerator

from setpoint.app.compose.project import ComposeError

_PROGRAM = Path(__file__).parent / "go"
_WORDS = ("alpha", "beta", "gamma", "delta")
_VARIABLES = ("SET", "EMPTY", "UNSET", "NUMBER", "PATHVAR", "YES")
_ENVIRON = {"SET": "value", "EMPTY": "", "NUMBER": "3", "PATHVAR": "./some/dir", "YES": "yes", "alpha": "from-environ"}
_SERVICES = ("web", "db", "job", "proxy")


class Generator:
    """Generates the files of one project."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def files(self) -> tuple[dict[str, str], dict[str, Any]]:
        """Returns the files of a project, and the options of the case."""
        chance = self._random.random
        files = {"compose.yaml": self._file(base=True)}
        if chance() < 0.5:
            files["compose.override.yaml"] = self._file(base=False)
        if chance() < 0.3:
            tree = json.loads(files["compose.yaml"])
            tree["include"] = self._pick(
                ["part/part.yaml"],
                [{"path": "part/part.yaml", "project_directory": "."}],
                [{"path": ["part/part.yaml"], "env_file": "vars.env"}],
            )
            files["compose.yaml"] = json.dumps(tree)
        parts = {name: self._service(True) for name in ("part", "web2")}
        for part in parts.values():
            for key in _LINKING:
                part.pop(key, None)
        files["part/part.yaml"] = json.dumps({"services": parts})
        files["part/vars.env"] = files["part/more.env"] = self._variables()
        files["part/.env"] = "SET=part\nPART=1\n"
        files["vars.env"] = self._variables()
        files["more.env"] = self._variables()
        files["common.yaml"] = self._file(base=True)
        if chance() < 0.5:
            files[".env"] = self._variables()
        options: dict[str, Any] = {"environ": _ENVIRON}
        if chance() < 0.3:
            options["profiles"] = self._pick(["one"], ["two"], ["*"], ["one", "two"])
        if chance() < 0.5:
            files = {name: self._with_anchors(text) if name.endswith("yaml") else text for name, text in files.items()}
        return files, options

    def _pick(self, *values: Any) -> Any:
        return self._random.choice(values)

    def _some(self, values: Any, most: int = 3) -> list[Any]:
        values = list(values)
        return self._random.sample(values, self._random.randint(0, min(most, len(values))))

    def _variables(self) -> str:
        lines = [
            "A=1",
            "B='two $SET'",
            'C="three ${SET} \\n x"',
            "D=${A}-${UNSET:-x}",
            "export E=e # comment",
            "F",
            "SET=file",
            "alpha=file",
            "G=a#b",
            "H: yaml",
            "I=$$x",
            "J = spaced ",
            "K='multi\nline'",
            "# c",
            "",
        ]
        return "\n".join(self._random.sample(lines, self._random.randint(0, len(lines)))) + "\n"

    def _text(self) -> str:
        name = self._pick(*_VARIABLES)
        return str(
            self._pick(
                *_WORDS,
                f"${name}",
                f"${{{name}}}",
                f"${{{name}:-default}}",
                f"${{{name}-d}}",
                f"x-${{{name}:+y}}-z",
                "$$HOME",
                "a b",
                f"${{UNSET:-${{{name}:-deep}}}}",
                "5",
                "true",
                "1.10",
                "x=y",
                "ünï",
                "{json: 1}",
            )
        )

    def _scalar(self) -> Any:
        return self._pick(self._text(), self._text(), 5, 1.5, True, False, 0, 1000000.0, "", "0755", 12345678)

    def _map(self, null: bool = False) -> dict[str, Any]:
        return {name: self._pick(self._scalar(), None) if null else self._scalar() for name in self._some(_WORDS)}

    def _pairs(self, null: bool = True) -> Any:
        if self._random.random() < 0.5:
            return self._map(null)
        return [
            f"{name}={self._text()}" if self._random.random() < 0.8 or not null else name for name in self._some(_WORDS)
        ]

    def _port(self) -> Any:
        first = self._random.randint(1, 9000)
        return self._pick(
            first,
            str(first),
            f"{first}:80",
            f"{first}:{first}/udp",
            f"127.0.0.1:{first}:81",
            f"127.0.0.1::{first}",
            f"{first}-{first + 2}:{first}-{first + 2}",
            f"{first}-{first + 5}:99",
            f"[::1]:{first}:82",
            "${NUMBER}:80",
            f"${{PORT:-{first}}}:8{first % 9}",
            {"target": first},
            {"target": 80, "published": first, "protocol": "udp"},
            {"target": "${NUMBER}", "published": "${NUMBER}00", "mode": "host", "host_ip": "127.0.0.1", "name": "n"},
            "80:80",
        )

    def _volume(self, index: int) -> Any:
        target = self._pick(f"/t{index}", f"/t{index}/", f"/a/../t{index}", "/same")
        return self._pick(
            f"/anon{index}",
            f"data:{target}",
            f"./rel:{target}:ro",
            f"../up:{target}:rw,z",
            f"~/home:{target}",
            f"/abs:{target}:Z,ro",
            f"data:{target}:nocopy",
            f"${{PATHVAR}}:{target}",
            f"cache:{target}:rslave",
            {"type": "bind", "source": "./long", "target": target, "read_only": self._pick(True, False, "true")},
            {
                "type": "bind",
                "source": "${PATHVAR}",
                "target": target,
                "bind": self._pick({}, {"create_host_path": False}),
            },
            {"type": "volume", "source": "data", "target": target, "volume": {"nocopy": True}},
            {"type": "tmpfs", "target": target, "tmpfs": {"size": self._pick(1000, "1m", "2gb"), "mode": 493}},
        )

    def _file_mounts(self, names: list[str]) -> list[Any]:
        return [
            self._pick(
                name, {"source": name}, {"source": name, "target": f"/x/{name}", "mode": self._pick(288, "0440")}
            )
            for name in self._some(names)
        ]

    def _build(self) -> Any:
        parts = {
            "context": self._pick(".", "./ctx", "https://example.com/x.git", "../up"),
            "dockerfile": self._pick("D", "sub/D"),
            "args": self._pairs(),
            "target": self._text(),
            "labels": self._pairs(False),
            "cache_from": self._some(_WORDS),
            "tags": self._some(_WORDS),
            "additional_contexts": self._pick({"a": "./a"}, ["a=./a", "b=docker-image://x"]),
            "no_cache": self._pick(True, False),
            "shm_size": self._pick("1m", 100),
            "ssh": self._pick(["default"], {"default": None}),
            "extra_hosts": self._pick(["h=1.2.3.4"], {"h": "::1"}),
            "secrets": self._file_mounts(["s1", "s2"]),
            "provenance": self._pick(True, "mode=max"),
        }
        return self._pick("./short", {name: parts[name] for name in self._some(parts, 6)})

    def _networks(self) -> Any:
        long = {
            "aliases": self._some(_WORDS),
            "ipv4_address": "10.0.0.5",
            "priority": 5,
            "driver_opts": {"a": self._text()},
        }
        inner = {name: long[name] for name in self._some(long)}
        return self._pick(
            self._some(["front", "back", "default"]),
            {name: self._pick(None, inner) for name in self._some(["front", "back"])},
        )

    def _service(self, base: bool) -> dict[str, Any]:
        attributes: dict[str, Callable[[], Any]] = {
            "command": lambda: self._pick("run 'a b' c", ["run", self._text()], "", [], None, "echo $$X && y"),
            "entrypoint": lambda: self._pick("/init -x", ["/init"], []),
            "environment": self._pairs,
            "env_file": lambda: self._pick(
                "vars.env", ["vars.env", "more.env"], [{"path": "none.env", "required": False}, "more.env"]
            ),
            "ports": lambda: [self._port() for _ in range(self._random.randint(0, 3))],
            "expose": lambda: self._some([80, "90", "100-102"]),
            "volumes": lambda: [self._volume(index) for index in range(self._random.randint(0, 3))],
            "build": self._build,
            "labels": lambda: self._pairs(False),
            "annotations": lambda: self._pairs(False),
            "dns": lambda: self._pick("1.1.1.1", ["1.1.1.1", "8.8.8.8"], ["${UNSET}"], []),
            "dns_search": lambda: self._pick("a.b", ["a.b", "c.d"]),
            "tmpfs": lambda: self._pick("/run", ["/run", "/tmp:size=1m"]),
            "extra_hosts": lambda: self._pick(["a:1.1.1.1", "b=[::1]"], {"a": "2.2.2.2"}, {"c": ["1.1.1.1", "::1"]}),
            "networks": self._networks,
            "healthcheck": lambda: self._pick(
                {"test": "true", "interval": "5s"},
                {"test": ["CMD", "x"], "retries": "${NUMBER}"},
                {"disable": True},
                {"timeout": "1m30s", "start_period": "1.5s"},
            ),
            "deploy": lambda: self._pick(
                {"replicas": self._pick(1, "${NUMBER}")},
                {"resources": {"limits": {"cpus": "0.5"}}},
                {"labels": self._pairs(False)},
                {"restart_policy": {"delay": "5s"}},
            ),
            "logging": lambda: {
                "driver": self._pick("json-file", "syslog"),
                "options": {"a": self._text(), "b": self._pick(5, None)},
            },
            "ulimits": lambda: {"nofile": self._pick(5, {"soft": 1, "hard": "${NUMBER}"}, "${NUMBER}"), "core": 0},
            "sysctls": lambda: self._pairs(False),
            "secrets": lambda: self._file_mounts(["s1", "s2"]),
            "configs": lambda: self._file_mounts(["c1", "c2"]),
            "restart": lambda: self._pick("always", "on-failure:3", "no"),
            "init": lambda: self._pick(True, "${YES}", "false"),
            "read_only": lambda: self._pick(True, False, "${YES:-no}"),
            "privileged": lambda: self._pick("on", "n", True),
            "user": lambda: self._pick("1000:1000", "${SET}", "0"),
            "mem_limit": lambda: self._pick("1g", "512mb", 1000, "1.5 gb", "0"),
            "shm_size": lambda: self._pick("64m", 0),
            "cpus": lambda: self._pick(0.5, "1.25", "${NUMBER}", 0.1),
            "stop_grace_period": lambda: self._pick("10s", "1m0.5s", "1h", "0s", "250ms", "1d"),
            "pull_policy": lambda: self._pick("always", "if_not_present"),
            "profiles": lambda: self._some(["one", "two"]),
            "devices": lambda: self._some(["/dev/a", "/dev/b:/dev/c", "/dev/x:/dev/y:r"]),
            "cap_add": lambda: self._some(["A", "B", "C"]),
            "group_add": lambda: self._some(["a", 5, "6"]),
            "gpus": lambda: self._pick("all", [{"count": 2}, {"device_ids": ["0"]}]),
            "develop": lambda: {
                "watch": [{"path": "./src", "action": "sync", "target": "/s", "ignore": self._pick("x", ["y"])}]
            },
            "post_start": lambda: [{"command": self._pick("a b", ["c"]), "environment": self._pairs()}],
            "hostname": self._text,
            "tty": lambda: self._pick(True, "${YES}"),
            "scale": lambda: self._pick(1, "${NUMBER}"),
            "network_mode": lambda: self._pick("host", "none", "service:db"),
            "links": lambda: self._pick(["db"], ["db:alias"]),
            "volumes_from": lambda: ["db:ro"],
            "depends_on": self._dependencies,
            "extends": lambda: self._pick(
                "db",
                {"service": "db"},
                {"file": "common.yaml", "service": self._pick(*_SERVICES)},
                {"file": "part/part.yaml", "service": "part"},
            ),
            "x-own": lambda: self._map(True),
        }
        made: dict[str, Any] = {"image": self._pick("img", "img:${SET}", "img:${UNSET:-1}")} if base else {}
        for name in self._random.sample(sorted(attributes), self._random.randint(0, 8)):
            made[name] = attributes[name]()
        for name, other in _EXCLUSIVE:
            if name in made:
                made.pop(other, None)
        return made

    def _dependencies(self) -> Any:
        others = self._some(["db", "proxy"], 2)
        if self._random.random() < 0.5:
            return others
        return {
            name: self._pick(
                {"condition": "service_healthy"},
                {"condition": "service_started", "required": False},
                {"condition": "service_completed_successfully", "restart": True},
            )
            for name in others
        }

    def _file(self, base: bool) -> str:
        services = {name: self._service(base) for name in (_SERVICES if base else self._some(_SERVICES, 3))}
        for each in ("db", "proxy"):
            if each in services:
                services[each] = {name: value for name, value in services[each].items() if name not in _LINKING}
        tree: dict[str, Any] = {"services": services}
        if base:
            tree["networks"] = {
                "front": self._pick(None, {}, {"driver": "bridge", "labels": self._pairs(False)}),
                "back": {"internal": True},
            }
            tree["volumes"] = {
                "data": self._pick(None, {"driver": "local", "labels": self._map()}),
                "cache": {"name": "c-${SET}"},
            }
            tree["secrets"] = {"s1": {"file": "./s1"}, "s2": {"environment": "SET"}}
            tree["configs"] = {"c1": {"content": "x ${SET} $$y"}, "c2": self._pick({"file": "~/c"}, {"external": True})}
        elif self._random.random() < 0.3:
            tree["networks"] = {
                "front": {"labels": self._pairs(False), "ipam": {"config": [{"subnet": "10.0.0.0/16"}]}}
            }
        if self._random.random() < 0.2:
            tree["name"] = self._pick("given", "Up-${SET}", "a b!c")
        return json.dumps(tree)

    def _with_anchors(self, text: str) -> str:
        """Writes the tree as YAML with an anchor, merge keys before or after own keys, and tags."""
        tree = json.loads(text)
        first, second = (f"x-{name}-{self._random.random()}" for name in ("shared", "more"))
        shared = {name: value for name, value in self._service(False).items() if name not in _LINKING}
        more = {name: value for name, value in self._service(False).items() if name not in _LINKING}
        lines = [f"{first}: &shared {_flow(shared)}", f"{second}: &more {_flow(more)}", "services:"]
        for name, service in tree.pop("services").items():
            lines.append(f"  {name}:")
            merge = self._pick(None, None, "<<: *shared", "<<: [*shared, *more]", "<<: [*more, *shared]")
            own = [f"{key}: {self._pick('', '', '', '', '!override ')}{_flow(value)}" for key, value in service.items()]
            if merge:
                own.insert(self._random.randint(0, len(own)), merge)
            lines += [f"    {line}" for line in own] or ["    {}"]
        if lines[-1] == "services:":
            lines[-1] = "services: {}"
        lines += [f"{key}: {_flow(value)}" for key, value in tree.items()]
        return "\n".join(lines) + "\n"


_EXCLUSIVE = (("networks", "network_mode"), ("scale", "deploy"), ("deploy", "cpus"), ("deploy", "mem_limit"))
_LINKING = ("network_mode", "links", "volumes_from", "depends_on", "extends", "profiles")


def _flow(value: Any) -> str:
    """Returns a value as JSON, which is YAML."""
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    """Generates and compares projects."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", action="store_true", help="unusual texts instead of compositions")
    parser.add_argument("--show", type=int, default=10)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="compose-fuzz-"))
    asked = []
    for number in range(options.count):
        place = root / f"p{number}"
        generator = TextGenerator if options.texts else Generator
        files, fields = generator(f"{options.seed}-{number}").files()
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        asked.append(Case(place.name, place, **fields))
    lines = "".join(json.dumps(case.request()) + "\n" for case in asked)
    done = subprocess.run(["go", "run", "."], cwd=_PROGRAM, input=lines, check=True, capture_output=True, text=True)
    counts = {"equal": 0, "both reject": 0, "different": 0}
    for case, text in zip(asked, done.stdout.splitlines(), strict=True):
        found = _compared(case, json.loads(text.replace(str(root), "/case")))
        kind = found if isinstance(found, str) else "different"
        counts[kind] += 1
        if kind == "different" and counts[kind] <= options.show:
            _print(f"{case.place}", *found[:5])
    _print(counts)


def _compared(case: Case, expected: dict[str, Any]) -> str | list[str]:
    expected.pop("warnings", None)
    try:
        found = answer(case.resolve())
    except ComposeError as error:
        return "both reject" if "error" in expected else [f"rejected: {error}"]
    if "error" in expected:
        return [f"not rejected: {expected['error']}"]
    return differences(found, expected) or "equal"


def _print(*parts: Any) -> None:
    sys.stdout.write("\n  ".join(map(str, parts)) + "\n")


if __name__ == "__main__":
    main()
