"""The operator of `website_operator.py` on a cluster: the one that KUBECONFIG names, that this pod is in, or that
`~/.kube/config` names.

    setpoint serve --listen 127.0.0.1:6443 --kubeconfig ./kubeconfig &
    KUBECONFIG=./kubeconfig python -m examples.on_a_cluster

It installs its kind, waits until it leads, and works until SIGINT or SIGTERM. Run as many replicas as you like: one
works, and another takes over when it ends. `/metrics` and the health checks are at port 8080 (`--pages` chooses).
"""

import argparse
import asyncio
import logging

from examples.website_operator import Website, website

import setpoint as sp


async def install() -> None:
    async with sp.Client.connect() as client:
        await client.install(Website)


def main() -> None:
    arguments = argparse.ArgumentParser(description="Runs the operator of websites.")
    arguments.add_argument("--pages", default="127.0.0.1:8080", help="where to serve metrics and health checks")
    pages = arguments.parse_args().pages
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(install())
    sp.run(website, leader_election="websites", metrics=pages, health=pages)


if __name__ == "__main__":
    main()
