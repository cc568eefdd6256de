"""Who goes in, who waits, and who is told to come back later."""

import asyncio
import json
from datetime import UTC, datetime

from tests.server.flowcontrol.crowd import LEVELS, MAPS, SCHEMAS, crowd, soon
from tests.server.read.reader import MemorySink

from setpoint.objects.clock import ManualClock
from setpoint.server.message import Response

START = datetime(2026, 1, 1, tzinfo=UTC)


def header(response: Response, name: str) -> str:
    return dict(response.headers).get(name, "")


async def test_a_greedy_user_whose_writes_hang_leaves_seats_for_another() -> None:
    async with crowd(max_mutating_requests_inflight=40) as server:
        greedy = [asyncio.create_task(server.make("greedy", f"slow-{n}")) for n in range(60)]
        await soon()
        assert 0 < server.slow.held < 40
        assert any(not task.done() for task in greedy)
        assert (await asyncio.wait_for(server.make("modest", "quick"), 5)).status == 201
        server.slow.open.set()
        assert {response.status for response in await asyncio.gather(*greedy)} == {201}


async def test_in_a_crowd_of_ready_requests_a_modest_user_waits_for_one_of_each_other_not_for_all() -> None:
    async with crowd(ManualClock(START)) as server:
        await server.make("admin", "a")
        order: list[str] = []

        async def ask(user: str) -> None:
            assert (await server.ask(user, f"{MAPS}/a")).status == 200
            order.append(user)

        greedy = [asyncio.create_task(ask("greedy")) for _ in range(300)]
        modest = [asyncio.create_task(ask("modest")) for _ in range(5)]
        await asyncio.gather(*greedy, *modest)
        # Some are let in before anybody waits; then they take turns.
        assert max(index for index, user in enumerate(order) if user == "modest") < 40


async def test_a_flow_that_fills_its_queue_is_told_to_come_back_and_others_are_not() -> None:
    async with crowd(max_mutating_requests_inflight=8) as server:
        greedy = [asyncio.create_task(server.make("greedy", f"slow-{n}")) for n in range(400)]
        await soon()
        turned_away = [task.result() for task in greedy if task.done()]
        assert 0 < len(turned_away) < 100
        for response in turned_away:
            assert response.status == 429
            assert header(response, "Retry-After") == "1"
            assert isinstance(response.body, bytes)
            status = json.loads(response.body)
            assert (status["kind"], status["reason"], status["details"]) == (
                "Status",
                "TooManyRequests",
                {"retryAfterSeconds": 1},
            )
        assert (await asyncio.wait_for(server.make("modest", "quick"), 5)).status == 201
        found = await server.measure("apiserver_flowcontrol_rejected_requests_total")
        labels = '{flow_schema="global-default",priority_level="global-default",reason="queue-full"}'
        assert found == {labels: len(turned_away)}
        assert (await server.measure("apiserver_current_inqueue_requests"))['{request_kind="mutating"}'] > 0
        server.slow.open.set()
        await asyncio.gather(*greedy)
        assert (await server.measure("apiserver_current_inqueue_requests"))['{request_kind="mutating"}'] == 0
        assert (await server.measure("apiserver_current_inflight_requests"))['{request_kind="mutating"}'] == 0


async def test_who_waited_too_long_is_told_to_come_back() -> None:
    clock = ManualClock(START)
    async with crowd(clock, max_mutating_requests_inflight=8, wait_seconds=3.0) as server:
        held = [asyncio.create_task(server.make("greedy", f"slow-{n}")) for n in range(30)]
        await soon()
        clock.advance(2.9)
        await soon()
        assert not any(task.done() for task in held)
        clock.advance(0.2)
        await soon()
        late = [task.result() for task in held if task.done()]
        assert late
        assert {response.status for response in late} == {429}
        assert len(late) == 30 - server.slow.held
        server.slow.open.set()
        await asyncio.gather(*held)


async def test_reads_do_not_wait_for_writes_that_hang() -> None:
    async with crowd(max_mutating_requests_inflight=4) as server:
        held = [asyncio.create_task(server.make("greedy", f"slow-{n}")) for n in range(20)]
        await soon()
        assert (await asyncio.wait_for(server.ask("greedy", MAPS), 5)).status == 200
        server.slow.open.set()
        await asyncio.gather(*held)


async def test_administrators_and_probes_never_wait() -> None:
    async with crowd(max_mutating_requests_inflight=1, max_requests_inflight=1) as server:
        held = [asyncio.create_task(server.make("greedy", f"slow-{n}")) for n in range(20)]
        held += [asyncio.create_task(server.make("admin", f"slow-admin-{n}")) for n in range(300)]
        await soon()
        assert server.slow.held > 300
        answers = await asyncio.gather(*(server.ask("", path) for path in ("/readyz", "/livez/ping", "/healthz") * 50))
        assert {response.status for response in answers} == {200}
        server.slow.open.set()
        assert {response.status for response in await asyncio.gather(*held)} == {201}


async def test_a_level_without_queues_turns_away_at_once() -> None:
    async with crowd(max_mutating_requests_inflight=100) as server:
        for name in ("global-default", "service-accounts"):
            assert (await server.ask("admin", f"{SCHEMAS}/{name}", "DELETE")).status == 200
        held = [asyncio.create_task(server.make("greedy", f"slow-{n}")) for n in range(300)]
        await soon()
        codes = [task.result().status for task in held if task.done()]
        assert codes
        assert set(codes) == {429}
        assert len(codes) + server.slow.held == 300
        server.slow.open.set()
        await asyncio.gather(*held)


async def test_a_cancelled_wait_gives_up_its_place() -> None:
    async with crowd(max_mutating_requests_inflight=4) as server:
        held = [asyncio.create_task(server.make("greedy", f"slow-{n}")) for n in range(20)]
        await soon()
        waiting = (await server.measure("apiserver_current_inqueue_requests"))['{request_kind="mutating"}']
        for task in held[-5:]:
            task.cancel()
        await soon()
        found = await server.measure("apiserver_current_inqueue_requests")
        assert found['{request_kind="mutating"}'] == waiting - 5
        server.slow.open.set()
        answers = await asyncio.gather(*held[:-5])
        assert {response.status for response in answers} == {201}
        assert (await server.measure("apiserver_current_inflight_requests"))['{request_kind="mutating"}'] == 0


async def test_streams_have_a_bound_of_their_own_and_hold_no_seat() -> None:
    async with crowd(max_long_running=8, max_requests_inflight=2) as server:

        async def watch(user: str) -> Response:
            return await server.ask(user, f"{MAPS}?watch=true")

        sinks, running = [], []
        for user, codes in (("greedy", [200] * 6 + [429]), ("modest", [200, 200, 429]), ("admin", [200])):
            for code in codes:
                response = await watch(user)
                assert response.status == code
                if code == 200:
                    assert not isinstance(response.body, bytes | list)
                    sinks.append(MemorySink())
                    running.append(asyncio.create_task(response.body.run(sinks[-1])))
                    await soon()
        assert (await server.measure("apiserver_current_inflight_requests"))['{request_kind="readOnly"}'] == 1
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        assert (await watch("modest")).status == 200


async def test_a_schema_counts_for_the_very_next_request() -> None:
    async with crowd() as server:
        default = header(await server.ask("jane", MAPS), "X-Kubernetes-Pf-Flowschema-Uid")
        [schema] = [
            item
            for item in json.loads((await server.ask("admin", SCHEMAS)).body)["items"]  # type: ignore[arg-type]
            if item["metadata"]["uid"] == default
        ]
        assert schema["metadata"]["name"] == "global-default"
        level = {
            "metadata": {"name": "jane"},
            "spec": {
                "type": "Limited",
                "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}},
            },
        }
        made = await server.ask("admin", LEVELS, "POST", level)
        assert isinstance(made.body, bytes)
        level_uid = json.loads(made.body)["metadata"]["uid"]
        schema = {
            "metadata": {"name": "jane"},
            "spec": {
                "matchingPrecedence": 500,
                "priorityLevelConfiguration": {"name": "jane"},
                "rules": [
                    {
                        "subjects": [{"kind": "User", "user": {"name": "jane"}}],
                        "resourceRules": [
                            {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"], "namespaces": ["*"]}
                        ],
                    }
                ],
            },
        }
        assert (await server.ask("admin", SCHEMAS, "POST", schema)).status == 201
        assert header(await server.ask("jane", MAPS), "X-Kubernetes-Pf-Prioritylevel-Uid") == level_uid
        assert header(await server.ask("jane", f"{MAPS}/a"), "X-Kubernetes-Pf-Flowschema-Uid") == default
        assert header(await server.ask("joe", MAPS), "X-Kubernetes-Pf-Flowschema-Uid") == default
        assert (await server.ask("admin", f"{LEVELS}/jane", "DELETE")).status == 200
        assert header(await server.ask("jane", MAPS), "X-Kubernetes-Pf-Flowschema-Uid") == default


async def test_flows_of_every_sort_find_their_level() -> None:
    async with crowd() as server:
        for user, path in (
            ("system:kube-scheduler", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a"),
            ("system:kube-scheduler", MAPS),
            ("system:serviceaccount:kube-system:x", MAPS),
            ("system:serviceaccount:default:x", MAPS),
            ("jane", "/version"),
            ("", "/readyz/ping"),
            ("admin", MAPS),
        ):
            await server.ask(user, path)
        found = await server.measure("apiserver_flowcontrol_dispatched_requests_total")
        assert set(found) == {
            f'{{flow_schema="{schema}",priority_level="{level}"}}'
            for schema, level in (
                ("system-leader-election", "leader-election"),
                ("kube-scheduler", "workload-high"),
                ("kube-system-service-accounts", "workload-high"),
                ("service-accounts", "workload-low"),
                ("global-default", "global-default"),
                ("probes", "exempt"),
                ("exempt", "exempt"),
            )
        }


async def test_what_every_cluster_has_is_made_once_and_again_when_it_is_gone() -> None:
    async with crowd() as server:

        async def names(path: str) -> list[str]:
            body = (await server.ask("admin", path)).body
            assert isinstance(body, bytes)
            return [item["metadata"]["name"] for item in json.loads(body)["items"]]

        assert len(await names(SCHEMAS)) == 11
        assert len(await names(LEVELS)) == 8
        before = await server.server.services.store.revision()
        await server.server.start()
        assert await server.server.services.store.revision() == before
        for name in ("exempt", "catch-all"):
            await server.ask("admin", f"{SCHEMAS}/{name}", "DELETE")
        # They hold without their objects, too.
        assert (await server.ask("admin", MAPS)).status == 200
        await server.server.start()
        assert len(await names(SCHEMAS)) == 11


async def test_who_is_alone_takes_no_turns_until_somebody_else_comes() -> None:
    clock = ManualClock(START)
    async with crowd(clock) as server:
        await server.make("admin", "a")

        async def asked_at_once() -> float:
            """How many of a hundred requests have to wait."""
            tasks = [asyncio.create_task(server.ask("greedy", f"{MAPS}/a")) for _ in range(100)]
            await asyncio.sleep(0)
            waiting = (await server.measure("apiserver_current_inqueue_requests"))['{request_kind="readOnly"}']
            await asyncio.gather(*tasks)
            return waiting

        assert await asked_at_once() > 50
        clock.advance(2)
        await asked_at_once()
        assert await asked_at_once() == 0
        await server.ask("modest", f"{MAPS}/a")
        assert await asked_at_once() > 50
