"""Handler chains: several named handlers of one kind that share an informer and a queue.

    nodes = Chain(Node, finalizer="example.com/nodes")

    @nodes.on_change("label-zone", after=["cloud-init"], timeout=30)
    async def label_zone(ctx: HandlerContext, node: Node) -> Node | None: ...

    Manager(client, controllers=[nodes])

Each handler gets the object as returned by the previous one. Each has its own backoff, timeout and metrics: a failed
handler is retried without the others. Handlers can be added and removed while the chain runs. `EachKind` runs a chain,
or any controller, for each matching kind.
"""

from setpoint.flow.chain.chain import Chain
from setpoint.flow.chain.each_kind import EachKind
from setpoint.flow.chain.handler import ChainHandler, Gone, HandlerContext, Skip, SyncHandlerContext
from setpoint.flow.chain.order import RegistrationError
from setpoint.flow.chain.register import registration

__all__ = [
    "Chain",
    "ChainHandler",
    "EachKind",
    "Gone",
    "HandlerContext",
    "RegistrationError",
    "Skip",
    "SyncHandlerContext",
    "registration",
]
