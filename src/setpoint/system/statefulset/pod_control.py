"""Creates, updates and deletes the pods of a stateful set and their claims, with events about the set."""

from typing import Any

from setpoint.controller.context import Context
from setpoint.controller.recorder import Recorder
from setpoint.objects.errors import AlreadyExists, APIError, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object
from setpoint.system.pods.control import PodFailure
from setpoint.system.pods.state import POD
from setpoint.system.statefulset.claim_owners import (
    deletes_when_scaled,
    has_foreign_controller,
    is_stale,
    is_up_to_date,
    new_owners,
)
from setpoint.system.statefulset.identity import (
    claims_of,
    has_identity,
    has_storage,
    set_identity,
    set_storage,
)

CLAIM = "v1/PersistentVolumeClaim"


class StatefulPodControl:
    """Changes the pods of one set within one reconcile."""

    def __init__(self, ctx: Context[Any], stateful_set: Object, recorder: Recorder) -> None:
        self._ctx = ctx
        self._set = stateful_set
        self._recorder = recorder

    async def create(self, pod: Object) -> None:
        """Creates the claims of a pod, and the pod. Raises APIError and PodFailure."""
        try:
            await self._create_claims(pod)
        except PodFailure as error:
            self._tell("Create", pod, error)
            raise
        try:
            await self._ctx.api.create(pod)
        except AlreadyExists:
            raise
        except APIError as error:
            await self._own_claims(pod)
            self._tell("Create", pod, error)
            raise
        await self._own_claims(pod)
        self._tell("Create", pod)

    async def update(self, pod: Object) -> None:
        """Restores the labels and volumes of a pod, and the owners of its claims. Raises APIError and PodFailure."""
        changed = thaw(pod)
        if not has_identity(self._set, changed):
            set_identity(changed)
        try:
            if not has_storage(self._set, changed):
                set_storage(self._set, changed)
                await self._create_claims(changed)
            await self._own_claims(changed)
            await self._ctx.api.update(changed)
        except (APIError, PodFailure) as error:
            self._tell("Update", pod, error)
            raise
        self._tell("Update", pod)

    async def delete(self, pod: Object) -> None:
        """Deletes a pod. A missing pod is deleted already. Raises APIError."""
        metadata = pod["metadata"]
        try:
            await self._ctx.api.delete(POD, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except NotFound:
            pass
        except APIError as error:
            self._tell("Delete", pod, error)
            raise
        self._tell("Delete", pod)

    # Claims

    async def has_stale_claim(self, pod: Object) -> bool:
        """Returns True if a claim of a new pod still belongs to an earlier pod, and will be deleted."""
        if not deletes_when_scaled(self._set):
            return False
        claims = await self._claims(pod)
        return any(is_stale(claim, pod) for claim in claims)

    async def has_right_owners(self, pod: Object) -> bool:
        """Returns True if the claims of a pod have the owners of the policy."""
        claims = await self._claims(pod)
        return all(is_up_to_date(claim, self._set, pod) for claim in claims)

    async def restore_claims(self, pod: Object) -> None:
        """Creates missing claims of a pending pod. Raises APIError and PodFailure."""
        await self._create_claims(pod)
        await self.set_owners(pod)

    async def set_owners(self, pod: Object) -> None:
        """Sets the owners of the claims of a pod. Raises APIError."""
        try:
            await self._own_claims(pod)
        except APIError as error:
            self._tell("Update", pod, error)
            raise

    async def _claim(self, wanted: Object) -> Object | None:
        metadata = wanted["metadata"]
        try:
            found: Object = await self._ctx.client.get(CLAIM, metadata["name"], metadata["namespace"])
        except NotFound:
            return None
        return found

    async def _claims(self, pod: Object) -> list[Object]:
        """Returns the existing claims of a pod."""
        found = [await self._claim(wanted) for wanted in claims_of(self._set, pod)]
        return [claim for claim in found if claim is not None]

    async def _create_claims(self, pod: Object) -> None:
        """Creates missing claims. All are tried. Raises PodFailure."""
        problems = []
        for wanted in claims_of(self._set, pod):
            name, found = wanted["metadata"]["name"], await self._claim(wanted)
            if found is not None:
                if found["metadata"].get("deletionTimestamp"):
                    problems.append(f"pvc {name} is being deleted")
                continue
            try:
                await self._ctx.api.create(wanted)
            except APIError as error:
                problems.append(f"failed to create PVC {name}: {error}")
                if not isinstance(error, AlreadyExists):
                    self._tell_claim(name, pod, error)
                continue
            self._tell_claim(name, pod)
        if problems:
            raise PodFailure(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    async def _own_claims(self, pod: Object) -> None:
        for claim in await self._claims(pod):
            name = claim["metadata"]["name"]
            if has_foreign_controller(claim, self._set, pod):
                text = (
                    f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller, "
                    "the retention policy is ignored for this claim"
                )
                self._recorder.warning(self._set, "ConflictingController", text)
            if not is_up_to_date(claim, self._set, pod):
                changed = thaw(claim)
                changed["metadata"]["ownerReferences"] = new_owners(claim, self._set, pod)
                await self._ctx.api.update(changed)

    # Events

    def _tell(self, verb: str, pod: Object, error: Exception | None = None) -> None:
        text = f"{verb} Pod {pod['metadata']['name']} in StatefulSet {self._set['metadata']['name']}"
        if error is None:
            self._recorder.normal(self._set, f"Successful{verb}", f"{text} successful")
        else:
            self._recorder.warning(self._set, f"Failed{verb}", f"{text} failed error: {error}")

    def _tell_claim(self, claim: str, pod: Object, error: Exception | None = None) -> None:
        where = f"Pod {pod['metadata']['name']} in StatefulSet {self._set['metadata']['name']}"
        if error is None:
            self._recorder.normal(self._set, "SuccessfulCreate", f"Create Claim {claim} {where} success")
        else:
            self._recorder.warning(self._set, "FailedCreate", f"Create Claim {claim} for {where} failed error: {error}")
