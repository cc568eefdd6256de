"""The section that pytest prints for a failed test: problems, reconciles, revisions of objects, and the archive."""

import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from setpoint.controller.run_record import ReconcileRecord
from setpoint.objects.tree import Object
from setpoint.past.change import compare
from setpoint.past.secret_mask import masked_change
from setpoint.past.who import writer_name
from setpoint.session.archive.secrets import Secrets
from setpoint.session.archive.viewer import name_for
from setpoint.store.contract import LogEntry
from setpoint.testing.evidence_archive import write_evidence
from setpoint.testing.problems import Problem
from setpoint.testing.world_evidence import Evidence

_MOST_RUNS, _MOST_OBJECTS, _MOST_REVISIONS, _MOST_FIELDS, _MOST_CAUSES, _MOST_NAMED = 8, 6, 4, 3, 3, 2
_WIDEST = 160
# An archive of a longer log is not saved.
MOST_ENTRIES = 50_000
# Objects that accompany the work of controllers; shown only if the failure names them.
_ASIDE = frozenset({"events", "leases", "customresourcedefinitions", "namespaces"})
# The users of the server and of its own controllers.
_OWN_USERS = ("system:apiserver", "system:serviceaccount:kube-system:")
_OBJECT = b'{"apiVersion":'
_decode = msgspec.json.Decoder(dict).decode


class Described(NamedTuple):
    """The text of a section, the number of entries in the log, and the keys of the objects concerned."""

    text: str
    entries: int
    keys: Sequence[str]


async def describe(evidence: Evidence, failure: str) -> Described:
    """Returns the section about a failure, without the archive. `failure` is the text of the failure; its objects
    come first. Secrets are masked."""
    log, secrets = await evidence.log(), Secrets()
    for entry in log:
        if entry.value is not None:
            secrets.record(entry.key.rpartition("/")[2], entry.value)
    secrets.compile()
    found: dict[str, list[LogEntry]] = {}
    for entry in log:
        # Other keys hold bookkeeping of the server, such as allocated addresses.
        if entry.key in found or (entry.value is not None and entry.value.startswith(_OBJECT)):
            found.setdefault(entry.key, []).append(entry)
    keys = _concerned(evidence, found, failure)
    lines = [*_problems(evidence.problems), *_runs(evidence), *_objects(found, keys)]
    return Described(secrets.text("\n".join(lines)), len(log), keys)


async def save(evidence: Evidence, path: Path, test: str, keys: Sequence[str]) -> str:
    """Saves the archive of a failed test, readable only for the current user. Returns the lines with the commands that
    open the archive and show the objects of these keys."""
    await write_evidence(path, evidence, test)
    lines = ["all revisions are saved, with secrets masked:", f"setpoint import {shlex.quote(str(path))}"]
    if keys:
        lines.append(f"setpoint timeline {_selection(keys)} --session {name_for(path)}")
    lines.append(f"setpoint down --session {name_for(path)}")
    return "\n  ".join(lines)


def _selection(keys: Sequence[str]) -> str:
    """Returns the arguments that select the first objects, which are in one namespace."""
    places = [_Place.of(key) for key in keys]
    namespace = places[0].namespace
    words = [place.word for place in places if place.namespace == namespace][:_MOST_NAMED]
    return " ".join([*words, *([f"--namespace {namespace}"] if namespace not in ("", "default") else [])])


class _Place(NamedTuple):
    """The parts of a key of the store."""

    group: str
    resource: str
    namespace: str
    name: str

    @classmethod
    def of(cls, key: str) -> "_Place":
        _, group, resource, rest = key.split("/", 3)
        namespace, _, name = rest.rpartition("/")
        return cls("" if group == "core" else group, resource, namespace, name)

    @property
    def word(self) -> str:
        """The object in the arguments of commands."""
        return f"{self.resource}.{self.group}/{self.name}" if self.group else f"{self.resource}/{self.name}"


def _problems(problems: Sequence[Problem]) -> Iterator[str]:
    if problems:
        yield "problems of controllers"
        texts = dict.fromkeys(f"{type(problem).__name__}: {problem}" for problem in problems)
        yield from _indented(list(texts)[:_MOST_RUNS])


# Reconciles


def _runs(evidence: Evidence) -> Iterator[str]:
    runs = evidence.runs[-_MOST_RUNS:]
    if not runs:
        return
    yield (
        f"reconciles, the last {len(runs)} of {evidence.run_count}" if evidence.run_count > len(runs) else "reconciles"
    )
    for run in runs:
        yield from _indented(_run(run))


def _run(run: ReconcileRecord) -> list[str]:
    result = run.result if run.error is None else f"{run.result}: {type(run.error).__name__}: {run.error}"
    if run.requeue_after is not None:
        result = f"{run.result} {run.requeue_after:g} s"
    lines = [f"{_time(run.began)}  {run.controller} {run.request} #{run.number}  {result}".partition("\n")[0]]
    causes = [str(trigger) for trigger in run.why[:_MOST_CAUSES]]
    more = len(run.why) - len(causes) + run.more
    lines.append(f"    because {'; '.join([*causes, *([f'{more} more'] if more else [])]) or 'of a call of run_once'}")
    writes = [f"{write} rv {write.resource_version}" for write in run.writes if not write.skipped]
    if writes:
        lines.append(f"    wrote {'; '.join(writes)}")
    return lines


# Objects


def _objects(found: dict[str, list[LogEntry]], keys: Sequence[str]) -> Iterator[str]:
    if not keys:
        return
    yield "objects, latest revisions last"
    for key in keys[:_MOST_OBJECTS]:
        yield from _indented(_object(found[key]))
    if len(keys) > _MOST_OBJECTS:
        yield f"  and {len(keys) - _MOST_OBJECTS} more"


def _concerned(evidence: Evidence, found: dict[str, list[LogEntry]], failure: str) -> list[str]:
    """Returns the keys of the objects that the failure names, then of those that were written last."""
    texts = "\n".join([failure, *map(str, evidence.problems)])
    last = sorted(found, key=lambda key: -found[key][-1].revision)
    written = [key for key in last if found[key][-1].revision > evidence.first]
    named = [key for key in written if re.search(rf"(?<![\w./-]){re.escape(_name(key))}(?![\w-])", texts)]
    return list(dict.fromkeys([*named, *(key for key in written if _is_work(found[key]))]))


def _is_work(entries: Sequence[LogEntry]) -> bool:
    """Returns False for objects that accompany the work of controllers, and for those of the server itself."""
    return _resource(entries[0].key) not in _ASIDE and any(
        not entry.actor.user.startswith(_OWN_USERS) for entry in entries
    )


def _object(entries: Sequence[LogEntry]) -> list[str]:
    shown = entries[-_MOST_REVISIONS:]
    before = entries[-_MOST_REVISIONS - 1] if len(entries) > _MOST_REVISIONS else None
    old = _tree(before)
    kind = next((tree["kind"] for entry in reversed(entries) if (tree := _tree(entry))), _resource(entries[0].key))
    lines = [f"{kind} {_name(entries[0].key)}"]
    for entry in shown:
        new = _tree(entry)
        lines.append(f"    rv {entry.revision}  {_change(old, new)}  ({writer_name(entry.actor, entry.cause)})")
        old = new
    return lines


def _change(old: Object | None, new: Object | None) -> str:
    if new is None:
        return "deleted"
    if old is None:
        return "created"
    is_secret = new.get("kind") == "Secret"
    changes = [masked_change(change, is_secret=is_secret) for change in compare(old, new)]
    shown = [change for change in changes if not change.noise] or changes
    more = f" (+{len(shown) - _MOST_FIELDS})" if len(shown) > _MOST_FIELDS else ""
    return f"{', '.join(map(str, shown[:_MOST_FIELDS])) or 'written without changes'}{more}"


def _tree(entry: LogEntry | None) -> Object | None:
    return None if entry is None or entry.value is None else _decode(entry.value)


def _name(key: str) -> str:
    """Returns the `namespace/name` of a key of the store."""
    return key.split("/", 3)[-1]


def _resource(key: str) -> str:
    return key.split("/", 3)[2]


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%H:%M:%S}.{moment.microsecond // 1000:03d}"


def _indented(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        shown = line.partition("\n")[0]
        yield f"  {shown if len(shown) <= _WIDEST else f'{shown[: _WIDEST - 1]}…'}"
