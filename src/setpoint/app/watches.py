"""Converts the watch rules of a service to the fields `watch` and `fileActions` of its object."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence

from setpoint.app import forms
from setpoint.app.commands import needs_shell
from setpoint.app.model import AppFile, Service
from setpoint.app.parts import Sync, SyncExec, Watch
from setpoint.app.specs import without_empty
from setpoint.objects.tree import Object


class Watches:
    """The watch rules of one app. `path_of` returns a path of the file as an absolute path."""

    def __init__(self, app: AppFile, path_of: Callable[[str], str]) -> None:
        self._app, self._path_of = app, path_of

    def fields(self, service: Service) -> Object:
        """Returns the fields of the spec. The first rule with paths is the field `watch`; all others are actions."""
        rules = forms.watches(service.watch)
        first = next((rule for rule in rules if rule.paths), None)
        actions = [action for rule in rules for action in self._actions(rule, with_paths=rule is not first)]
        return without_empty({"watch": self._watch(first) if first else None, "fileActions": actions})

    def _watch(self, watch: Watch) -> Object:
        return without_empty(
            {
                "paths": [self._path_of(path) for path in watch.paths],
                "ignore": [*watch.ignore, *self._controller_files(watch.paths)],
                "include": list(watch.include),
                "action": "Rebuild" if watch.do == "rebuild" else "",
                "debounce": watch.debounce,
            }
        )

    def _actions(self, rule: Watch, *, with_paths: bool) -> Iterator[Object]:
        for path in rule.paths if with_paths else ():
            yield without_empty(
                {
                    "path": self._path_of(path),
                    "action": "Rebuild" if rule.do == "rebuild" else "Restart",
                    "ignore": [*rule.ignore, *self._controller_files([path])],
                    "include": list(rule.include),
                    "debounce": rule.debounce,
                }
            )
        for sync in rule.sync:
            yield self._sync(rule, sync)

    def _sync(self, rule: Watch, sync: Sync) -> Object:
        then = sync.then
        action = "SyncAndExec" if isinstance(then, SyncExec) else "SyncAndRestart" if then else "Sync"
        return without_empty(
            {
                "path": self._path_of(sync.source),
                "action": action,
                "target": sync.target,
                "ignore": [*rule.ignore, *sync.ignore],
                "include": list(sync.include),
                "initialSync": sync.initial,
                "exec": _command(then) if isinstance(then, SyncExec) else None,
                "debounce": rule.debounce,
            }
        )

    def _controller_files(self, paths: Iterable[str]) -> list[str]:
        """Returns the controller files to ignore when the whole directory is watched: controllers are reloaded
        separately."""
        if not any(path.startswith("*") for path in paths):
            return []
        modules = [forms.controller(each).module for each in self._app.controllers]
        places = (module.rpartition("/") for module in modules if module.endswith(".py"))
        return list(dict.fromkeys(f"/{directory}/" if slash else f"/{name}" for directory, slash, name in places))


def sync_words(command: str | Sequence[str]) -> list[str]:
    """Returns the program and arguments of a command in the container. Raises ValueError for unclosed quotes."""
    if not isinstance(command, str):
        return list(command)
    return ["/bin/sh", "-c", command] if needs_shell(command) else shlex.split(command)


def _command(then: SyncExec) -> Object:
    env = [{"name": name, "value": str(value)} for name, value in then.env.items() if value is not None]
    return without_empty(
        {
            "command": sync_words(then.exec),
            "user": then.user,
            "workingDirectory": then.dir,
            "env": env,
            "privileged": then.privileged,
        }
    )
