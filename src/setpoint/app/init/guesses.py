"""Guesses the services of JavaScript, Python, Go and Rust programs from their project files."""

import re
import tomllib
from typing import Any

import msgspec

from setpoint.app.init.directory import Listing
from setpoint.app.init.draft import Draft, python_files
from setpoint.app.reader import app_name
from setpoint.objects.tree import Object

PORT = "${port.http}"
# The option that passes the port to a tool; other tools read the variable PORT.
_NODE_PORTS = {
    "vite": f"--port {PORT} --strictPort",
    "next": f"-p {PORT}",
    "nuxt": f"--port {PORT}",
    "astro": f"--port {PORT}",
    "@angular/cli": f"--port {PORT}",
    "parcel": f"--port {PORT}",
    "webpack-dev-server": f"--port {PORT}",
}
_MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}
_WEB = {"ports": {"http": "auto"}}
_MADE = re.compile(r"^(\w+)(?:\s*:[^=\n]+)?\s*=\s*(?:\w+\.)?(FastAPI|Starlette|Litestar|Flask|Quart|Celery)\(", re.M)
_STREAMLIT = re.compile(r"^\s*(?:import streamlit|from streamlit)", re.M)
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9._-]+)")


def propose_programs(listing: Listing, draft: Draft) -> None:
    """Proposes services and tasks for the programs of a directory and its direct subdirectories."""
    prefixes = dict.fromkeys(f"{path.rpartition('/')[0]}/".removeprefix("/") for path in listing if ".venv" not in path)
    for prefix in sorted(prefixes):
        here = {path.removeprefix(prefix): text for path, text in listing.items() if _is_in(path, prefix)}
        before = len(draft.services) + len(draft.tasks)
        for guess in (_propose_node, _propose_python, _propose_go, _propose_rust):
            guess(here, prefix, draft)
        if len(draft.services) + len(draft.tasks) == before and "Dockerfile" in here:
            draft.record_source(f"{prefix}Dockerfile")
            draft.service(
                _name(prefix, "app"),
                {"build": prefix.rstrip("/") or ".", "ports": {"http": 8080}},
                "Guessed from the Dockerfile; the port is a guess, too.",
            )


def _is_in(path: str, prefix: str) -> bool:
    rest = path.removeprefix(prefix)
    return path.startswith(prefix) and ("/" not in rest or rest.startswith(".venv/"))


def _name(prefix: str, default: str) -> str:
    return app_name(prefix.rstrip("/")) if prefix else default


def _placed(prefix: str, fields: Object) -> Object:
    return {"run": fields["run"], **({"dir": prefix.rstrip("/")} if prefix else {}), **fields}


def _propose_node(here: Listing, prefix: str, draft: Draft) -> None:
    if "package.json" not in here:
        return
    try:
        package: Any = msgspec.json.decode(here["package.json"])
    except msgspec.DecodeError:
        draft.note(f"{prefix}package.json is not valid JSON and was ignored")
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if not isinstance(scripts, dict):
        return
    needs = {**(package.get("dependencies") or {}), **(package.get("devDependencies") or {})}
    manager = next((name for file, name in _MANAGERS.items() if file in here), "npm")
    script = next((name for name in ("dev", "start", "serve") if name in scripts), None)
    if script:
        draft.record_source(f"{prefix}package.json")
        tool = next((tool for tool in _NODE_PORTS if tool in needs and _runs(tool, scripts[script])), None)
        separator = " --" if manager == "npm" else ""
        run = f"{manager} run {script}{f'{separator} {_NODE_PORTS[tool]}' if tool else ''}"
        env = {} if tool else {"env": {"PORT": PORT}}
        how = f"{tool}, which takes its port as an argument" if tool else "a program that reads $PORT"
        comment = f"The script {script} of {prefix}package.json; guessed: {how}."
        draft.service(_name(prefix, "web"), _placed(prefix, {"run": run, **env, **_WEB}), comment)
    test = scripts.get("test")
    if isinstance(test, str) and "no test specified" not in test:
        name = f"{_name(prefix, 'web')}-test" if prefix else "test"
        draft.task(name, _placed(prefix, {"run": f"{manager} test"}), f"`setpoint run {name}` runs this task.")


def _runs(tool: str, script: Any) -> bool:
    names = {"@angular/cli": "ng", "webpack-dev-server": "webpack"}
    return names.get(tool, tool) in str(script).split()


def _propose_python(here: Listing, prefix: str, draft: Draft) -> None:
    needs = _requirements(here)
    runner = _runner(here)
    found = len(draft.services)
    service = _name(prefix, "api")
    watch: Object = {"watch": python_files(prefix)}
    if "manage.py" in here:
        draft.record_source(f"{prefix}manage.py")
        migrate = "migrate" if not prefix else f"{service}-migrate"
        python = f"{runner}python"
        draft.task(migrate, _placed(prefix, {"run": f"{python} manage.py migrate", "auto": True}), "Guessed: Django.")
        run = f"{python} manage.py runserver --noreload {PORT}"
        draft.service(
            service if prefix else "web",
            _placed(prefix, {"run": run, **_WEB, **watch, "after": migrate}),
            "Guessed: Django, restarted when a file changes.",
        )
    for module, text in sorted(here.items()):
        if not module.endswith(".py"):
            continue
        for variable, kind in _MADE.findall(text):
            name = service if len(draft.services) == found else app_name(f"{service}-{module.removesuffix('.py')}")
            fields = _of_framework(kind, module.removesuffix(".py"), variable, runner, needs)
            if kind == "Celery":
                name = f"{service}-worker" if prefix else "worker"
            draft.record_source(f"{prefix}{module}")
            comment = f"Guessed from {kind}(...) in {prefix}{module}."
            draft.service(name, _placed(prefix, {**fields, **watch}), comment)
        if "streamlit" in needs and _STREAMLIT.search(text) and len(draft.services) == found:
            draft.record_source(f"{prefix}{module}")
            run = f"{runner}streamlit run {module} --server.port {PORT} --server.headless true"
            comment = f"Guessed: {prefix}{module} is a page of Streamlit."
            draft.service(_name(prefix, "web"), _placed(prefix, {"run": run, **_WEB}), comment)
    if "pytest" in needs:
        name = f"{service}-test" if prefix else "test"
        draft.task(name, _placed(prefix, {"run": f"{runner}pytest -q"}), f"`setpoint run {name}` runs this task.")


def _of_framework(kind: str, module: str, variable: str, runner: str, needs: set[str]) -> Object:
    if kind == "Celery":
        return {"run": f"{runner}celery -A {module}:{variable} worker"}
    if kind == "Flask":
        return {"run": f"{runner}flask --app {module}:{variable} run --port {PORT}", **_WEB}
    server = "hypercorn" if kind == "Quart" and "uvicorn" not in needs else "uvicorn"
    port = f"--bind 127.0.0.1:{PORT}" if server == "hypercorn" else f"--port {PORT}"
    return {"run": f"{runner}{server} {module}:{variable} {port}", **_WEB}


def _runner(here: Listing) -> str:
    if "uv.lock" in here:
        return "uv run "
    if "poetry.lock" in here:
        return "poetry run "
    if "Pipfile" in here:
        return "pipenv run "
    return ".venv/bin/" if ".venv/bin/python" in here else ""


def _requirements(here: Listing) -> set[str]:
    """Returns the names of the required packages."""
    lines = here.get("requirements.txt", "").splitlines()
    try:
        project = tomllib.loads(here.get("pyproject.toml", ""))
    except tomllib.TOMLDecodeError:
        project = {}
    declared = project.get("project", {})
    lines += [str(each) for each in declared.get("dependencies") or ()]
    groups = [
        *(declared.get("optional-dependencies") or {}).values(),
        *(project.get("dependency-groups") or {}).values(),
    ]
    lines += [str(each) for group in groups for each in group]
    poetry = project.get("tool", {}).get("poetry", {})
    lines += [*(poetry.get("dependencies") or {}), *(poetry.get("dev-dependencies") or {})]
    lines += [name for group in (poetry.get("group") or {}).values() for name in group.get("dependencies") or {}]
    return {found[1].lower() for line in lines if (found := _REQUIREMENT.match(line))}


def _propose_go(here: Listing, prefix: str, draft: Draft) -> None:
    if "go.mod" in here and "main.go" in here:
        draft.record_source(f"{prefix}go.mod")
        fields = {"run": "go run .", "env": {"PORT": PORT}, **_WEB}
        comment = "Guessed from main.go; that the program reads $PORT is a guess, too."
        draft.service(_name(prefix, "api"), _placed(prefix, fields), comment)


def _propose_rust(here: Listing, prefix: str, draft: Draft) -> None:
    if "Cargo.toml" in here:
        draft.record_source(f"{prefix}Cargo.toml")
        fields = {"run": "cargo run", "env": {"PORT": PORT}, **_WEB}
        comment = "Guessed from Cargo.toml; that the program reads $PORT is a guess, too."
        draft.service(_name(prefix, "api"), _placed(prefix, fields), comment)
