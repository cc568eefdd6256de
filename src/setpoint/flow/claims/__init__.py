"""Claims: objects that users create in their namespaces to request another object, which an operator manages.

    claims = Claims(DatabaseClaim, Database, project=lambda claim: {"size": claim.spec.size})
    Manager(client, controllers=[claims.controller(), fsm.controller(watches=[claims.watch()])])

A claim refers to the claimed object in `spec.claimed_ref: ClaimedRef | None`, which refers to its claim in
`spec.claim_ref: ClaimRef | None`. A claim is ready when the claimed object is ready for the current claim.
"""

from setpoint.flow.claims.claims import Claims, Reclaim
from setpoint.flow.claims.refs import ClaimedRef, ClaimRef

__all__ = ["ClaimRef", "ClaimedRef", "Claims", "Reclaim"]
