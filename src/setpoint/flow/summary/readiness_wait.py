"""Waits until objects of any kind are ready, by their summaries. Reports late objects with the reason."""

import asyncio
from collections.abc import Iterable
from typing import Any

from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, KindRef, ref_of, tree_of
from setpoint.flow.summary.summary import Summary, summarize
from setpoint.flow.summary.summary_rules import SummaryRules
from setpoint.objects import meta
from setpoint.objects.clock import timeout as within


class NotReady(TimeoutError):  # noqa: N818 - named after the outcome
    """Some objects were not ready in time. `summaries` has their last summaries; None for an object never seen."""

    def __init__(self, seconds: float, summaries: dict[str, Summary | None]) -> None:
        self.summaries = summaries
        message = "; ".join(f"{name}: {summary or 'not found'}" for name, summary in summaries.items())
        super().__init__(f"not ready within {seconds:g} s: {message}")


class _Awaited:
    """One of the objects, with its last summary."""

    def __init__(self, client: Client, obj: AnyObject, rules: SummaryRules | None) -> None:
        tree = tree_of(obj)
        self._client = client
        self._kind = KindRef(ref_of(obj).gvk)
        self._name, self._namespace = meta.name(tree), meta.namespace(tree)
        self._rules = rules
        self.summary: Summary | None = None

    def __str__(self) -> str:
        where = f"{self._namespace}/{self._name}" if self._namespace else self._name
        return f"{self._kind.gvk.group_kind} {where}"

    @property
    def ready(self) -> bool:
        return self.summary is not None and self.summary.ready

    def _is_ready(self, tree: Any) -> bool:
        now = self._client.clock.now()
        self.summary = None if tree is None else summarize(tree, rules=self._rules, now=now)
        return self.ready

    async def wait(self) -> None:
        await self._client.wait_for(self._kind, self._name, self._namespace, self._is_ready)


async def wait_ready(
    client: Client, objects: Iterable[AnyObject], *, timeout: float, rules: SummaryRules | None = None
) -> None:
    """Waits until all objects are ready, by watching them concurrently.

    A failed object may recover, and is still awaited. Raises NotReady on timeout, and the first permanent error.

        await wait_ready(client, [deployment, service], timeout=60)
    """
    awaited = [_Awaited(client, obj, rules) for obj in objects]
    try:
        async with within(client.clock, timeout), asyncio.TaskGroup() as group:
            for each in awaited:
                group.create_task(each.wait())
    except TimeoutError:
        raise NotReady(timeout, {str(each): each.summary for each in awaited if not each.ready}) from None
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
