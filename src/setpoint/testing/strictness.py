"""Strictness: a test fails if a controller of its world has a problem that the test does not expect.

Sees the runs and requests of the controllers. Problems wait until the test can see them: at its next call of the
world, or at the end of the world. Failures that follow from faults of the test are no problems.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import msgspec

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.client.mapper import NoMatch
from setpoint.client.transport import Answer, Call, TransportError
from setpoint.controller.controller import Controller
from setpoint.controller.forward_transport import Forwarding
from setpoint.controller.pace import HotLoop
from setpoint.controller.rbac import rules as rules_of
from setpoint.controller.remedies import watches
from setpoint.controller.request import Requeue
from setpoint.controller.run_record import CANCELLED, CONFLICT, ReconcileRecord
from setpoint.controller.watch import Owned
from setpoint.flow.result import ApplyFailed
from setpoint.objects.errors import APIError, Forbidden
from setpoint.objects.provenance import CAUSE_HEADER, Cause
from setpoint.objects.status import from_status
from setpoint.server.access.authorization.policy_rules import RoleRules
from setpoint.testing.expectations import Expectation, as_kinds
from setpoint.testing.faults import Faults
from setpoint.testing.loop_detection import LoopDetector
from setpoint.testing.problems import MissingRight, Problem, ReconcileFailed, ReconcileLoop, UndeclaredWrite
from setpoint.testing.seen_request import Seen

LOOP_LIMIT = 50
# The number of problems that are kept, and of further ones that are named with the first.
_MOST_PROBLEMS = 100
_MOST_RUNS = 32
_MOST_NAMED = 5
_CREATED, _FORBIDDEN = 201, 403
_UNSEEN = "The test did not look at this failure of run_once: use ran.error, ran.result or ran.raise_error()."
# The failures that a fault can cause.
_OF_FAULTS = (APIError, TransportError, TimeoutError)
# The refusal by an authorizer; admission and quotas refuse with other texts.
_is_refusal = re.compile(r'User "[^"]*" cannot ').search


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Head(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    message: str = ""


_read_head = msgspec.json.Decoder(_Head).decode


@dataclass(frozen=True)
class StrictOptions:
    """The options of a world about problems."""

    strict: bool = True
    # The problems, or exceptions behind them, that never fail a test of this world.
    tolerate: tuple[type[BaseException], ...] = ()
    loop_limit: int = LOOP_LIMIT

    @classmethod
    def of(
        cls, strict: bool, tolerate: "type[BaseException] | Sequence[type[BaseException]]", loop_limit: int
    ) -> "StrictOptions":
        """Checks the options. Raises TypeError and ValueError."""
        if loop_limit < 1:
            raise ValueError("loop_limit must be at least 1")
        return cls(strict, as_kinds(tolerate), loop_limit)


class Strictness:
    """The problems of one world: a witness of its controllers and a watcher of their requests."""

    def __init__(self, options: StrictOptions, faults: Faults, client: Client) -> None:
        self.options = options
        # The problems, also expected ones, and the last reconciles with the number of all.
        self.problems: list[Problem] = []
        self.runs: deque[ReconcileRecord] = deque(maxlen=_MOST_RUNS)
        self.run_count = 0
        self._faults = faults
        self._client = client
        self._loops = LoopDetector(options.loop_limit)
        self._expectations: list[Expectation] = []
        self._pending: list[Problem] = []
        self._unseen: list[Unseen] = []
        # The controllers by name, with the rules of their declarations.
        self._declared: dict[str, tuple[Controller, RoleRules]] = {}
        # The refusals in running reconciles, by the ID of the reconcile.
        self._refusals: dict[str, list[MissingRight]] = {}
        # The writes that were already reported.
        self._undeclared: set[tuple[str, str, str]] = set()
        self._refused: set[tuple[str, str, str, str, str]] = set()
        # The running reconciles that met a fault, and the time of the last fault outside a reconcile.
        self._faulted: set[str] = set()
        self._last_fault = float("-inf")

    # Interface of the world

    def expect(self, kinds: "type[BaseException] | Sequence[type[BaseException]]", match: str = "") -> Expectation:
        return Expectation(self._expectations, as_kinds(kinds), match)

    async def declare(self, controllers: Sequence[Controller]) -> None:
        """Reads the rules of controllers that are about to run."""
        for controller in controllers:
            self._declared[controller.name] = controller, RoleRules(await self._rules(controller))

    async def _rules(self, controller: Controller) -> list[dict[str, object]]:
        try:
            return await rules_of([controller], self._client)
        except NoMatch:
            return []  # a kind is not installed yet: the rules are read again before a write is reported

    def check(self) -> None:
        """Raises the first problem that the test does not expect."""
        __tracebackhide__ = True
        if not self._pending:
            return
        first, *others = self._pending
        self._pending.clear()
        for note in _notes(first, others):
            first.add_note(note)
        raise first.chained()

    def end(self, error: BaseException | None) -> None:
        """Raises the first problem at the end of the world; notes the problems at an exception of the test instead."""
        __tracebackhide__ = True
        for refusals in self._refusals.values():
            for refusal in refusals:
                self._record(refusal)
        self._refusals.clear()
        for unseen in self._unseen:
            if unseen.problem is not None:
                unseen.problem.add_note(_UNSEEN)
                self._fail(unseen.problem)
        if error is None:
            self.check()
            return
        if self._pending:
            error.add_note("problems of controllers in this world:")
            for line in _shortened([_line(problem) for problem in self._pending]):
                error.add_note(line)
            self._pending.clear()

    def single_ended(self, run: ReconcileRecord) -> "Unseen":
        """Returns the failure of a single reconcile, which fails the test only if the test never looks at
        the failure."""
        self._keep(run)
        failure = self._failure_of(run)
        unseen = Unseen(failure if failure is not None and not self._is_expected(failure) else None)
        if unseen.problem is not None:
            self._unseen.append(unseen)
        return unseen

    def _is_expected(self, problem: Problem) -> bool:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)
        return any(expectation.takes(problem) for expectation in reversed(self._expectations))

    def _record(self, problem: Problem) -> None:
        if self._is_expected(problem):
            return
        self._fail(problem)

    def _fail(self, problem: Problem) -> None:
        if self.options.strict and not problem.is_a(self.options.tolerate) and len(self._pending) < _MOST_PROBLEMS:
            self._pending.append(problem)

    # The witness of the controllers

    def run_ended(self, run: ReconcileRecord) -> None:
        self._keep(run)
        failure = self._failure_of(run)
        if failure is not None:
            self._record(failure)
        loop = self._loops.record_run(run)
        if loop:
            self._record_loop(run.controller, run.request.key, loop, self._loops.writers(run.controller, run.request))

    def _keep(self, run: ReconcileRecord) -> None:
        self.runs.append(run)
        self.run_count += 1

    def hot_loop_found(self, controller: str, hot: HotLoop) -> None:
        key = hot.request.key
        self._record_loop(controller, key, str(hot), self._loops.writers(controller, hot.request))

    def source_failed(self, controller: str, source: str, error: Exception) -> None:
        if self._faults.crashed or self._is_of_fault("", self._faults.clock.monotonic(), error):
            return
        text = f"the source {source} of the controller {controller} raised {_text(error)}"
        self._record(ReconcileFailed(text, controller=controller, error=error))

    def webhook_failed(self, name: str, error: Exception) -> None:
        """Sees the exception of an admission function or webhook."""
        self._record(ReconcileFailed(f"the webhook {name} raised {_text(error)}", controller=name, error=error))

    def _record_loop(self, controller: str, key: str, description: str, writers: list[str]) -> None:
        text = f"the controller {controller} reconciles {key} again and again: {description}"
        if len(writers) > 1:
            text += f"; the changes are writes of the controllers {' and '.join(writers)}, which may undo each other's"
        text += ". A reconcile without news must change no field, and requeue after a second or more"
        self._record(ReconcileLoop(text, controller=controller, object=key))

    def _failure_of(self, run: ReconcileRecord) -> Problem | None:
        """Returns the failure of an ended reconcile, if any. Records refused requests that the reconcile survived."""
        error, refusals = run.error, self._refusals.pop(run.id, [])
        is_faulted = run.id in self._faulted
        self._faulted.discard(run.id)
        if error is not None and refusals and any(isinstance(each, Forbidden) for each in _chain(error)):
            return MissingRight(str(refusals[-1]), controller=run.controller, object=run.request.key, error=error)
        for refusal in refusals:
            self._record(refusal)
        if error is None or isinstance(error, Requeue) or run.result in (CANCELLED, CONFLICT):
            return None
        if self._faults.crashed or self._is_of_fault(run.id if is_faulted else "", run.started, error):
            return None
        text = f"the controller {run.controller} failed for {run.request.key} with {_text(error)}"
        return ReconcileFailed(text, controller=run.controller, object=run.request.key, error=error)

    def _is_of_fault(self, faulted: str, started: float, error: BaseException) -> bool:
        """Returns True if a failure may follow from a fault of the test."""
        if not faulted and self._last_fault < started and not self._faults.is_stale:
            return False
        return any(isinstance(each, _OF_FAULTS) for each in _chain(error))

    # The watcher of the requests

    def fault_met(self, call: Call) -> None:
        """Sees that a fault of the test concerns a request."""
        cause = cause_of(call)
        if cause is None:
            self._last_fault = self._faults.clock.monotonic()
        else:
            self._faulted.add(cause.id)

    async def answered(self, seen: Seen, answer: Answer) -> None:
        """Sees the answer of the server to a request of a controller."""
        if not seen.is_write and answer.status != _FORBIDDEN:
            return
        head, cause = _head(answer), cause_of(seen.call)
        if answer.status == _FORBIDDEN:
            self._refuse(seen, head.message, cause, answer)
        elif answer.status < 300 and cause is not None:
            if head.metadata.resource_version:
                self._loops.record_write(head.metadata.resource_version, cause.controller)
            if seen.counts:
                await self._check_declared(seen, cause, is_created=answer.status == _CREATED)

    def _refuse(self, seen: Seen, message: str, cause: Cause | None, answer: Answer) -> None:
        if not _is_refusal(message):
            return
        error = from_status(msgspec.json.decode(answer.body), answer.status)
        if cause is None:
            key = (seen.verb, seen.group, seen.resource, seen.subresource, seen.namespace)
            if key not in self._refused:  # a watch tries again and again
                self._refused.add(key)
                self._record(MissingRight(f"a request of the controllers was refused: {message}", error=error))
            return
        text = f"a request of the controller {cause.controller} for {cause.key} was refused: {message}"
        refusal = MissingRight(text, controller=cause.controller, object=cause.key, error=error)
        self._refusals.setdefault(cause.id, []).append(refusal)

    async def _check_declared(self, seen: Seen, cause: Cause, *, is_created: bool) -> None:
        verbs = {"apply": ("patch", "create") if is_created else ("patch",)}.get(seen.verb, (seen.verb,))
        found = self._declared.get(cause.controller)
        if found is None:
            return
        controller, rules = found
        if all(_allows(rules, verb, seen) for verb in verbs):
            return
        rules = RoleRules(await self._rules(controller))  # a kind may have been installed meanwhile
        if not rules.all:
            return
        self._declared[cause.controller] = controller, rules
        missing = [verb for verb in verbs if not _allows(rules, verb, seen)]
        key = (cause.controller, f"{seen.resource}.{seen.group}/{seen.subresource}", seen.verb)
        if not missing or key in self._undeclared:
            return
        self._undeclared.add(key)
        remedy = self._remedy(controller, seen, missing)
        text = f"the controller {cause.controller} may not {seen} by its declaration: {remedy}"
        self._record(UndeclaredWrite(text, controller=cause.controller, object=cause.key))

    def _remedy(self, controller: Controller, seen: Seen, missing: Sequence[str]) -> str:
        """Returns the declaration that allows a write."""
        resource = f"{seen.resource}/{seen.subresource}" if seen.subresource else seen.resource
        verbs = ", ".join(f'"{verb}"' for verb in missing)
        rule = f'extra_rules=[{{"apiGroups": ["{seen.group}"], "resources": ["{resource}"], "verbs": [{verbs}]}}]'
        known = self._client.mapper.known.items()
        kind = next((gvk for gvk, each in known if (gvk.group, each.plural) == (seen.group, seen.resource)), None)
        owned = [source for source in controller.watched if isinstance(source, Owned)]
        primary = controller.primary
        is_primary = primary is not None and kind is not None and primary.gvk.group_kind == kind.group_kind
        if kind is None or seen.subresource or is_primary or watches(owned, kind):
            return f"add {rule} to the controller"
        return f"add owns=[{KindRef(kind).code}] to the controller, or {rule} for objects that are not its children"

    def observed(self, client: Client) -> Client:
        """Returns a copy of the test's client with writes that count as writes from outside."""
        made = copy(client)
        made.transport = OutsideWrites(client, self._loops)
        return made


class Unseen:
    """The failure of a single reconcile until the test looks at this failure."""

    def __init__(self, problem: Problem | None) -> None:
        self.problem = problem

    def look(self) -> None:
        self.problem = None


class OutsideWrites(Forwarding):
    """A transport that records the versions which the test writes."""

    def __init__(self, client: Client, loops: LoopDetector) -> None:
        super().__init__(client.transport)
        self._loops = loops

    async def send(self, call: Call) -> Answer:
        answer = await self.transport.send(call)
        if call.method != "GET" and answer.status < 300 and (version := _head(answer).metadata.resource_version):
            self._loops.record_write(version)
        return answer


def cause_of(call: Call) -> Cause | None:
    """Returns the reconcile that sent a request; None outside reconciles."""
    header = call.headers.get(CAUSE_HEADER)
    return Cause.from_header(header) if isinstance(header, str) else None


def _allows(rules: RoleRules, verb: str, seen: Seen) -> bool:
    found = rules.for_resource(verb, seen.group, seen.resource, seen.subresource)
    return any(rule.names is None or seen.name in rule.names for rule in found)


def _head(answer: Answer) -> _Head:
    try:
        return _read_head(answer.body)
    except msgspec.MsgspecError:
        return _Head()


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yields an exception, its causes, and the members of groups."""
    found, seen = [error], set()
    while found:
        each = found.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        found += [other for other in (each.__cause__, each.__context__) if other is not None]
        if isinstance(each, BaseExceptionGroup):
            found += each.exceptions
        if isinstance(each, ApplyFailed):
            found += each.failures.values()


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _line(problem: Problem) -> str:
    return f"  {type(problem).__name__}: {problem}"


def _notes(first: Problem, others: Sequence[Problem]) -> Iterator[str]:
    kind = type(first if not isinstance(first, ReconcileFailed) or first.error is None else first.error).__name__
    name = f"testing.{kind}" if isinstance(first, (MissingRight, ReconcileLoop, UndeclaredWrite)) else kind
    yield f"If the test expects this problem: with world.expect({name}): ..."
    if others:
        yield "further problems:"
        yield from _shortened([_line(problem) for problem in others])


def _shortened(lines: list[str]) -> list[str]:
    more = len(lines) - _MOST_NAMED
    return lines if more <= 0 else [*lines[:_MOST_NAMED], f"  and {more} more"]
