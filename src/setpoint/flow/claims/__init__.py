"""Claims: what users ask for in their namespace, and what stands for it, which is somebody else's to run.

    claims = Claims(DatabaseClaim, Database, project=lambda claim: {"size": claim.spec.size})
    Manager(client, controllers=[claims.controller(), fsm.controller(watches=[claims.watch()])])

A claim names what it claimed in `spec.claimed_ref: ClaimedRef | None`, and that names its claim in `spec.claim_ref:
ClaimRef | None`. The claim is ready when what it claimed is ready for the claim as it is now.
"""

from setpoint.flow.claims.claims import Claims, Reclaim
from setpoint.flow.claims.refs import ClaimedRef, ClaimRef

__all__ = ["ClaimRef", "ClaimedRef", "Claims", "Reclaim"]
