"""What controllers print, log and fail with is told by their names; one that blocks is named, and hurts nobody else."""

from pathlib import Path

from tests.session.controllers.hosting_app import greeting, hosted_app, program

from setpoint.client.patches import merge

FILE = "controllers/greet.py"
REMEDY = "define the function with `def` instead of `async def`, or use `await ctx.in_thread(…)` there"
TALKS = """
import logging

import setpoint as sp

print("at import")


@sp.controller("v1/ConfigMap", name="talker")
async def talk(ctx: sp.Context, request: sp.Request) -> None:
    if request.name != "first":
        return
    print("no end", end="")
    print(", but here")
    ctx.log.info("in the log")
    logging.getLogger("mine").warning("take care: %s", "of it")
    logging.getLogger("mine").debug("unseen")
    await ctx.in_thread(print, "from a thread")


@sp.controller("v1/Secret", name="failer")
async def fail(ctx: sp.Context, request: sp.Request) -> None:
    if request.name == "first":
        give_up()


def give_up() -> None:
    raise ValueError("not\\nlike this")
"""


async def test_lines_are_those_of_the_controller_that_said_them(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: TALKS}) as app:
        await app.run(FILE)
        metadata = {"name": "first", "namespace": "default"}
        await app.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        await app.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
        talker = await app.logged("talker", "from a thread")
        assert talker == [
            "no end, but here",
            f"talker default/first [{_id(talker)}] in the log",
            "WARNING: take care: of it",
            "from a thread",
        ]
        failer = await app.logged("failer", "default/first failed")
        assert failer[0].startswith(f"default/first failed: {FILE}:28: ValueError: not like this; next try in ")
        assert await app.log(FILE) == ["at import", f"[setpoint] {FILE} loaded (talker, failer)"]
        row = (await app.rows())["failer"]
        assert row["errorPercent"] == 100.0


async def test_lines_that_are_long_or_go_around_python_are_kept(tmp_path: Path) -> None:
    text = program('print("x" * 20000); __import__("os").system("printf %s around; printf \'%s\\\\n\' it >&2")')
    async with hosted_app(tmp_path, {FILE: text}) as app:
        await app.run(FILE)
        await app.client.create(greeting("first", to="world"))
        lines = await app.logged("greeting", "it")
        assert [len(line) for line in lines if line.startswith("x")] == [16384, 3616]


async def test_webhooks_of_a_file_are_told_not_to_be_served(tmp_path: Path) -> None:
    webhook = "\n\n@sp.validate(Greeting)\ndef check(greeting: Greeting) -> None: ...\n"
    async with hosted_app(tmp_path, {FILE: program("pass") + webhook}) as app:
        await app.run(FILE)
        assert await app.until(lambda: app.events("ControllersNote")) == [
            f"Warning: {FILE}: the webhooks check are not served here; use @sp.rule in the kind where possible"
        ]


async def test_a_controller_that_blocks_is_named_and_others_go_on(tmp_path: Path) -> None:
    blocks = program('import time; found.spec.to == "block" and time.sleep(5); ctx.status["text"] = "hello"')
    other = """
        import setpoint as sp


        @sp.controller("v1/ConfigMap", name="other")
        async def other(ctx: sp.Context, request: sp.Request) -> None:
            print("saw", request.name)
    """
    async with hosted_app(tmp_path, {FILE: blocks, "controllers/other.py": other}) as app:
        await app.run(FILE, "controllers/other.py")
        await app.client.create(greeting("first", to="block"))
        told = await app.until(lambda: app.events("ControllerBlocks"))
        assert told == [
            f"Warning: greeting blocks its worker process while reconciling default/first at {FILE}:30: {REMEDY}"
        ]
        row = await app.note("greeting", "has been blocking its worker process for ")
        assert row["state"] == "Blocked"
        assert row["note"].endswith(f" s at {FILE}:30: {REMEDY}")
        metadata = {"name": "meanwhile", "namespace": "default"}
        await app.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        await app.logged("other", "saw meanwhile")
        await app.client.patch(
            "example.com/v1/Greeting", merge({"spec": {"to": "free"}}), "first", "default"
        )  # so that it does not block again
        await app.said("first")
        row = await app.note("greeting", "blocked its worker process for ")
        assert row["state"] == "Running"


def _id(lines: list[str]) -> str:
    return next(line.split("[")[1][:8] for line in lines if line.startswith("talker "))
