"""Finite-state reconcilers: a controller as states, each a coroutine with a condition of its own.

    fsm = FSM(Bucket, finalizer="storage.example.com/bucket")

    @fsm.state("CredentialsIssued")
    async def credentials(ctx: Context, bucket: Bucket, out: Outputs) -> Next:
        out.apply(Secret(metadata=out.child("credentials"), string_data=...))
        return provisioned

    @fsm.state("BucketProvisioned")
    async def provisioned(ctx: Context, bucket: Bucket, out: Outputs) -> Next:
        return Done() if await storage.has(bucket.metadata.name) else Wait(10, reason="Pending")

    Manager(client, controllers=[fsm.controller(owns=[Secret])])

What the states of a completed walk put out is all there is: what earlier walks put out beside it is deleted.

Every reconcile walks from the first state: there is no pointer to where it was, so whatever happens between two of them
(a crash, a change, a deletion) the next one finds out for itself.
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
