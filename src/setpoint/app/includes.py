"""Adjusts the paths of an included app file to the including file."""

import os.path
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from setpoint.app import forms
from setpoint.app.model import AppFile, Service, Task
from setpoint.app.parts import Build, Mount, Watch

W = TypeVar("W", Service, Task)


def rebased(app: AppFile, its: Path, ours: Path) -> AppFile:
    """Returns an app with its paths relative to another directory."""
    prefix = os.path.relpath(its, ours)
    if prefix == ".":
        return app
    paths = _Paths(prefix)
    return msgspec.structs.replace(
        app,
        services={name: paths.service(each) for name, each in app.services.items()},
        tasks={name: paths.workload(each) for name, each in app.tasks.items()},
        secrets={name: msgspec.structs.replace(each, file=paths.path(each.file)) for name, each in app.secrets.items()},
        controllers=tuple(paths.controller(each) for each in app.controllers),
        crds=paths.all_of(app.crds),
        objects=paths.all_of(app.objects),
    )


class _Paths:
    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def path(self, text: str) -> str:
        """Returns an adjusted path; empty and absolute paths, and paths in the home directory, do not change."""
        return text if not text or text.startswith(("/", "~")) else os.path.join(self._prefix, text)

    def all_of(self, texts: str | tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self.path, forms.many(texts)))

    def controller(self, value: Any) -> Any:
        given = forms.controller(value)
        is_file = given.module.endswith(".py")
        return msgspec.structs.replace(given, module=self.path(given.module)) if is_file else value

    def workload(self, workload: W) -> W:
        container = forms.is_container(workload)
        return msgspec.structs.replace(
            workload,
            dir=workload.dir if container else self.path(workload.dir or "."),
            env_file=self.all_of(workload.env_file),
            build=self._build(workload.build),
            volumes=tuple(map(self._volume, workload.volumes)),
        )

    def service(self, service: Service) -> Service:
        watch = service.watch
        if isinstance(watch, str | Watch):
            watch = self._watch(watch)
        elif watch is not None:
            watch = tuple(map(self._watch, watch))
        return msgspec.structs.replace(self.workload(service), watch=watch)

    def _watch(self, value: str | Watch) -> str | Watch:
        if isinstance(value, str):
            return self.path(value)
        sync = tuple(msgspec.structs.replace(each, source=self.path(each.source)) for each in value.sync)
        return msgspec.structs.replace(value, paths=self.all_of(value.paths), sync=sync)

    def _build(self, value: str | Build) -> str | Build:
        if isinstance(value, Build):
            return msgspec.structs.replace(value, context=self.path(value.context))
        return self.path(value)

    def _volume(self, value: str | Mount) -> str | Mount:
        source = value.source if isinstance(value, Mount) else value.partition(":")[0]
        if not source.startswith("."):
            return value
        if isinstance(value, Mount):
            return msgspec.structs.replace(value, source=f"./{self.path(source)}")
        return f"./{self.path(value)}"
