"""Finite-state reconcilers: a controller as a sequence of states, each a coroutine function with its own condition.

    fsm = FSM(Bucket, finalizer="storage.example.com/bucket")

    @fsm.state("CredentialsIssued")
    async def credentials(ctx: Context, bucket: Bucket, out: Outputs) -> Next:
        out.apply(Secret(metadata=out.child("credentials"), string_data=...))
        return provisioned

    @fsm.state("BucketProvisioned")
    async def provisioned(ctx: Context, bucket: Bucket, out: Outputs) -> Next:
        return Done() if await storage.has(bucket.metadata.name) else Wait(10, reason="Pending")

    Manager(client, controllers=[fsm.controller(owns=[Secret])])

The outputs of a completed walk are the complete set: other outputs of earlier walks are deleted.

Every reconcile walks from the first state: the current state is not stored, so that a reconcile after any event (a
crash, a change, a deletion) determines the state anew.
"""

from setpoint.flow.fsm.fsm import FSM
from setpoint.flow.fsm.outputs import Outputs
from setpoint.flow.fsm.readiness import is_ready, wait_ready
from setpoint.flow.fsm.results import Done, Fail, Failed, Wait
from setpoint.flow.fsm.state import Next, Note, State

__all__ = [
    "FSM",
    "Done",
    "Fail",
    "Failed",
    "Next",
    "Note",
    "Outputs",
    "State",
    "Wait",
    "is_ready",
    "wait_ready",
]
