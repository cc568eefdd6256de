"""What the controllers of an app remember of their reconciles can be asked for at the server, wherever they run."""

from pathlib import Path

from tests.session.controllers.hosting_app import GREETING, greeting, hosted_app, program

from setpoint.past.object_ref import place_at
from setpoint.past.reconciles import read_traces
from setpoint.past.related_objects import Related
from setpoint.past.trace import Trace

FILE = "controllers/greeting.py"
HELLO = program('ctx.status["text"] = "hello"')


async def test_a_trace_of_a_reconcile_in_another_process_tells_what_it_read(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: HELLO}) as app:
        await app.run(FILE)
        made = await app.client.create(greeting("first", to="world"))
        await app.said("first")
        place = await place_at(app.client, GREETING, "first", "default")
        related = Related(app.client, await app.client.mapper.resources())

        async def traced() -> Trace | None:
            first = (await read_traces(app.client, place, made, related))[0]
            return first if first.reconcile is not None else None

        # The status is written before the reconcile ends and is recorded.
        first = await app.until(traced)
        assert first is not None
        assert first.reconcile is not None
        assert (first.reconcile.controller, first.reconcile.number, first.reconcile.result) == (
            "greeting",
            1,
            "success",
        )
        assert [(each.kind, each.object) for each in first.reconcile.reads] == [
            ("Greeting.example.com", "default/first")
        ]
        assert [each.subresource for each in first.reconcile.writes] == ["status"]
        assert first.writes
