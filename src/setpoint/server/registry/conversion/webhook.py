"""Conversion by webhook: asks for many objects at a time, and remembers what became of them.

Each question holds objects of one version that are wanted in another; a list becomes a few questions, some of which are
asked at the same time. Who needs what somebody else has asked for already waits for the same answer. A call has 30
seconds, and whoever stops waiting for one stops nobody else.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object
from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.server.outbound.webhook_answer import UnreadableAnswer
from setpoint.server.outbound.webhook_client import CallError, ClientConfig
from setpoint.server.registry.conversion import review
from setpoint.server.registry.conversion.cache import Converted, Key, Memory, key_of
from setpoint.server.registry.conversion.caller import Caller
from setpoint.server.registry.conversion.pending import NotConverted, Wanted
from setpoint.server.registry.conversion.review import BadAnswer, Batch, ConversionFailed

if TYPE_CHECKING:
    from setpoint.server.registry.conversion.metrics import ConversionMetrics

SECONDS = 30
# How much is asked for in one call, and how many calls one request has under way.
BATCH_OBJECTS, BATCH_BYTES = 500, 4 << 20
_AT_ONCE = 4
_ANSWER_BYTES = 16 << 20

# What is asked for in one call, by what it is remembered by.
_Batch: TypeAlias = Mapping[bytes, Wanted]


class _Call:
    """A call that is under way: what it asks for, and what comes of it."""

    __slots__ = ("batch", "task")

    def __init__(self, batch: _Batch, task: "asyncio.Task[list[Converted] | ConversionFailed]") -> None:
        self.batch = batch
        self.task = task


class Shared(NamedTuple):
    """What the converters of one server share."""

    services: Caller
    memory: Memory
    measures: "ConversionMetrics"


class WebhookConverter:
    """Converts the objects of one definition, as it stands."""

    def __init__(self, shared: Shared, crd: CustomResourceDefinition) -> None:
        self._services, self._memory, self._measures = shared
        self._name = crd.name
        self._versions = {f"{crd.spec.group}/{version.name}" for version in crd.spec.versions}
        webhook = crd.spec.conversion.webhook if crd.spec.conversion else None
        config = webhook.client_config if webhook else None
        client = ClientConfig.of(msgspec.to_builtins(config) if config else {})
        # A bundle of nothing but blanks is none.
        self._client = client._replace(authorities=client.authorities.strip())
        self._review_version = review.review_version(webhook.conversion_review_versions if webhook else ())
        # A definition that has changed may mean another webhook: what the one before said does not count any more.
        self._scope = f"{crd.name}\0{crd.metadata.get('uid')}\0{crd.metadata.get('generation')}\0".encode()
        self._under_way: dict[bytes, _Call] = {}

    def convert(self, tree: Object, from_version: str, to_version: str) -> Object:
        """The object in another version. Raises NotConverted, or APIError for a version that there is not."""
        if from_version == to_version or review.is_empty(tree):
            return {**tree, "apiVersion": to_version}
        self._check(from_version, to_version)
        wanted = Wanted(tree, from_version, to_version)
        found = self._memory.find(self._key(wanted).digest)
        if found is None:
            raise NotConverted(wanted)
        return found.of(tree)

    async def fetch(self, wanted: Sequence[Wanted]) -> list[Converted]:
        """Has objects converted; while what comes back is held, `convert` has them at hand. Raises ConversionFailed."""
        held, missing = self._split({self._key(each): each for each in wanted})
        others = {key: each for key, each in missing.items() if key.digest in self._under_way}
        calls = {self._under_way[key.digest] for key in others}
        held += await self._ask_all({key: each for key, each in missing.items() if key not in others})
        if calls:
            held += await self._take_part(calls, {key.digest for key in missing})
            more, left = self._split(others)
            held += [*more, *await self._ask_all(left)]
        return held

    async def _take_part(self, calls: set[_Call], wanted: set[bytes]) -> list[Converted]:
        """Waits for what others have asked for, as far as that comes to anything. What is known now is held."""
        await asyncio.wait([call.task for call in calls])
        held: list[Converted] = []
        for call in calls:
            made = call.task.result()
            if not isinstance(made, ConversionFailed):
                held += made
            elif call.batch.keys() <= wanted:
                # It was about nothing else, so it would fail again.
                raise made
        return held

    async def _ask_all(self, missing: Mapping[Key, Wanted]) -> list[Converted]:
        """Asks for everything, a few calls at a time."""
        held: list[Converted] = []
        batches = list(_batches(missing))
        for start in range(0, len(batches), _AT_ONCE):
            calls = [self._begin(batch) for batch in batches[start : start + _AT_ONCE]]
            await asyncio.wait([call.task for call in calls])
            for call in calls:
                made = call.task.result()
                if isinstance(made, ConversionFailed):
                    raise made
                held += made
        return held

    def _key(self, wanted: Wanted) -> Key:
        return key_of(self._scope, wanted)

    def _check(self, *versions: str) -> None:
        for which, version in zip(("from", "to"), versions, strict=True):
            if version not in self._versions:
                raise APIError(f"request to convert CR {which} an invalid group/version: {version}")

    def _split(self, wanted: Mapping[Key, Wanted]) -> tuple[list[Converted], dict[Key, Wanted]]:
        """What is known already, and what is not."""
        known: list[Converted] = []
        missing: dict[Key, Wanted] = {}
        for key, each in wanted.items():
            found = self._memory.find(key.digest)
            if found is None:
                self._check(each.from_version, each.to_version)
                missing[key] = each
            else:
                known.append(found)
        return known, missing

    def _begin(self, batch: _Batch) -> _Call:
        """A call, which goes on even if nobody waits for it any more."""
        call = _Call(batch, asyncio.ensure_future(self._ask(batch)))
        self._under_way.update(dict.fromkeys(batch, call))
        call.task.add_done_callback(lambda _: self._ended(call))
        return call

    def _ended(self, call: _Call) -> None:
        for digest in call.batch:
            if self._under_way.get(digest) is call:
                del self._under_way[digest]

    async def _ask(self, batch: _Batch) -> list[Converted] | ConversionFailed:
        """What became of the objects, or why nothing did."""
        clock = self._services.clock
        started = clock.monotonic()
        first = next(iter(batch.values()))
        failed: ConversionFailed | None = None
        try:
            trees = await self._call(
                [review.shown(each.tree) for each in batch.values()], first.from_version, first.to_version
            )
            return [self._memory.put(digest, tree) for digest, tree in zip(batch, trees, strict=True)]
        except ConversionFailed as error:
            failed = error
            return error
        finally:
            self._measures.observe(
                self._name, first.from_version, first.to_version, failed, clock.monotonic() - started
            )

    async def _call(self, objects: Sequence[Object], from_version: str, to_version: str) -> list[Object]:
        batch, version = Batch("conversion webhook", objects, from_version, to_version), self._review_version
        if version is None:
            raise batch.failed("no supported conversion review versions", review.CALL)
        uid = self._services.ids.uid()
        body = review.encode_request(uid, version, to_version, objects)
        try:
            answer = await self._services.webhooks.post(self._client, body, SECONDS)
            answers = review.read_answer(answer, uid, version, _ANSWER_BYTES)
        except (CallError, UnreadableAnswer) as error:
            raise batch.failed(str(error), review.CALL) from None
        except BadAnswer as error:
            raise batch.failed(str(error), review.MALFORMED) from None
        return batch.checked(answers)


def _batches(missing: Mapping[Key, Wanted]) -> Iterator[dict[bytes, Wanted]]:
    """What is asked for in one call each: objects of one version, wanted in one, and not too much of them."""
    by_versions: dict[tuple[str, str], dict[Key, Wanted]] = {}
    for key, wanted in missing.items():
        by_versions.setdefault((wanted.from_version, wanted.to_version), {})[key] = wanted
    for group in by_versions.values():
        batch: dict[bytes, Wanted] = {}
        size = 0
        for key, wanted in group.items():
            if batch and (len(batch) == BATCH_OBJECTS or size + key.size > BATCH_BYTES):
                yield batch
                batch, size = {}, 0
            batch[key.digest] = wanted
            size += key.size
        yield batch
