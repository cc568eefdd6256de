"""A kopf operator, as its author would write it: no part of it knows of tests."""

import asyncio
from typing import Any

import kopf


@kopf.on.startup()
async def prepare(memo: kopf.Memo, **_: Any) -> None:
    await asyncio.sleep(30)
    memo.prepared = True


@kopf.on.create("example.com", "v1", "reminders")
async def remind(spec: kopf.Spec, retry: int, memo: kopf.Memo, **_: Any) -> dict[str, Any]:
    if not spec.get("text"):
        raise kopf.PermanentError("spec.text is needed")
    if retry < 3:
        raise kopf.TemporaryError("not yet", delay=600)
    return {"retries": retry, "prepared": memo.prepared}


@kopf.on.update("example.com", "v1", "reminders", field="spec.text")
def change(old: Any, new: Any, patch: kopf.Patch, **_: Any) -> None:
    patch.status["changed"] = f"{old} to {new}"


@kopf.on.delete("example.com", "v1", "reminders")
async def forget(**_: Any) -> None:
    await asyncio.sleep(3600)


@kopf.timer("example.com", "v1", "reminders", interval=3600, initial_delay=3600, annotations={"tick": "yes"})
async def tick(patch: kopf.Patch, status: kopf.Status, **_: Any) -> None:
    patch.status["ticks"] = status.get("ticks", 0) + 1


@kopf.daemon("example.com", "v1", "reminders", annotations={"watch": "yes"})
async def watch(name: str, memo: kopf.Memo, **_: Any) -> None:
    while True:
        memo.setdefault("watched", []).append(name)
        await asyncio.sleep(60)
