"""A kind with webhooks: what is missing is filled in, what cannot be is refused, before anything is stored.

`python examples/guarded_kind.py` serves the webhooks over HTTPS, has the control plane ask them, and shows the answers.
"""

import asyncio

import setpoint as sp
from setpoint.objects.errors import APIError


class TicketSpec(sp.Model):
    """What a ticket is about."""

    title: str
    priority: str = ""
    assignee: str = ""


class Ticket(sp.Resource, group="example.com", version="v1"):
    """A ticket."""

    spec: TicketSpec


@sp.default(Ticket)
def fill_in(ticket: Ticket) -> None:
    ticket.spec.priority = ticket.spec.priority or "normal"


@sp.validate(Ticket)
def check(ticket: Ticket) -> list[str]:
    if ticket.spec.priority == "urgent" and not ticket.spec.assignee:
        raise sp.Denied("an urgent ticket needs an assignee: set spec.assignee")
    return ["titles in capitals are hard to read"] if ticket.spec.title.isupper() else []


async def main() -> None:
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.install(Ticket)
        webhooks = sp.WebhookServer(client, [fill_in, check], name="tickets", address="127.0.0.1:0")
        async with sp.Manager(client, webhooks=webhooks):
            made = await client.create(ticket("broken-door", TicketSpec(title="The door is broken")))
            print("the priority is", made.spec.priority)
            try:
                await client.create(ticket("fire", TicketSpec(title="Fire", priority="urgent")))
            except APIError as error:
                print("refused:", error)


def ticket(name: str, spec: TicketSpec) -> Ticket:
    return Ticket(metadata=sp.ObjectMeta(name=name, namespace="default"), spec=spec)


if __name__ == "__main__":
    asyncio.run(main())
