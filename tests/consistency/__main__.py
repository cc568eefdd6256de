"""Runs many rounds on every store, and reports the first violation with its seed: `make robustness`."""

import argparse
import asyncio
import sys
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace

from tests.consistency.check import violations
from tests.consistency.history import UNKNOWN
from tests.consistency.processes import Served, served_etcd, served_sqlite, starting
from tests.consistency.rounds import SMALL_CACHE, Plan, run_round, run_served_round
from tests.consistency.world import Servers, etcd, late_etcd, memory, sqlite
from tests.debian import missing

STORES = {"memory": memory, "sqlite": sqlite, "etcd": etcd, "late-etcd": late_etcd}
# Servers in processes of their own, which are killed and paused.
KILLED: dict[str, Served] = {"killed-sqlite": served_sqlite, "killed-etcd": served_etcd}
_SHOWN = 5


def plan_of(store: str, seed: int) -> Plan:
    """Returns the plan of a round: every third round restarts the servers, every fourth has a small cache of the state,
    and half of the rounds on etcd have two servers."""
    plan = Plan(servers=1 + seed % 2 if "etcd" in store else 1, compactions=seed % 5)
    if seed % 3 == 0:
        plan = replace(plan, restarts=3)
    return replace(plan, cache_bytes=SMALL_CACHE) if seed % 4 == 0 else plan


async def run(store: str, seeds: range) -> bool:
    """Runs rounds on a store. Returns False after a violation."""
    total: Counter[str] = Counter()
    world: Servers
    async with starting() if store in KILLED else nullcontext() as starter:
        for seed in seeds:
            plan = plan_of(store, seed)
            if starter is None:
                history, world = await run_round(seed, plan, STORES[store])
            else:
                # A round with more steps has room for the kills.
                plan = replace(plan, restarts=3, pauses=3, steps=40)
                history, world = await run_served_round(seed, plan, KILLED[store], starter)
            found = violations(history)
            if found:
                print(f"{store}: {len(found)} violations with seed {seed}")
                print("\n".join(found[:_SHOWN]))
                return False
            total["writes"] += len(history.writes)
            total["lost responses"] += sum(write.outcome == UNKNOWN for write in history.writes)
            total["reads"] += len(history.reads) + len(history.listings)
            total["watches"] += len(history.watches)
            total["events"] += sum(len(watch.events) for watch in history.watches)
            total["restarts"] += world.restarts
            total["compactions"] += len(history.compactions)
    counts = ", ".join(f"{count} {name}" for name, count in total.items())
    print(f"{store}: {len(seeds)} rounds without a violation: {counts}", flush=True)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.consistency")
    parser.add_argument("--rounds", type=int, default=300, help="the number of rounds on each store")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first round")
    parser.add_argument("--store", choices=[*STORES, *KILLED], action="append", help="a store; all by default")
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.rounds)
    passed = True
    for store in arguments.store or [*STORES, *KILLED]:
        reason = missing("etcd", "etcd-server") if "etcd" in store else None
        if reason is not None:
            print(f"{store}: skipped, {reason}")
            continue
        passed = asyncio.run(run(store, seeds)) and passed
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
