"""The controller of HorizontalPodAutoscalers. Each is examined at its creation, and then every 15 seconds; a change of
an autoscaler waits for the next examination, as with kube-controller-manager."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from setpoint.client.mapper import NoMatch
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Result
from setpoint.controller.watch import Watch, for_none
from setpoint.objects import conditions
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.labels import Selector, parse
from setpoint.objects.quantity import Quantity
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.horizontalpodautoscaler.autoscaler_selectors import AutoscalerSelectors
from setpoint.system.horizontalpodautoscaler.metric_sources import Failure, Proposal, Target, propose
from setpoint.system.horizontalpodautoscaler.replica_count import TOLERANCE, Tolerances
from setpoint.system.horizontalpodautoscaler.scaling_limits import Limits, Memory, limited
from setpoint.system.pods.selection import pods_matching
from setpoint.system.pods.state import POD
from setpoint.system.turns import in_turns

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

AUTOSCALER = "autoscaling/v2/HorizontalPodAutoscaler"
COMPONENT = "horizontal-pod-autoscaler"
CONCURRENCY = 5
PERIOD = timedelta(seconds=15)
ABLE, ACTIVE, LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"

_SCALED_TO_ZERO = ("ScaledToZero", "True", "ScaledToZero", "the HPA controller scaled the workload to zero")
_NOT_SCALED_TO_ZERO = (
    *("ScaledToZero", "False", "NotScaledToZero"),
    "the HPA controller did not scale the workload to zero",
)


class _Unscalable(Exception):  # noqa: N818 - named for the state
    """The replicas cannot be computed; the statuses of the metrics say which have values."""

    def __init__(self, text: str, metrics: list[Object]) -> None:
        super().__init__(text)
        self.metrics = metrics


class AutoscalerReconciler:
    """Reconciles autoscalers."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder
        # The next examination and the memory of each autoscaler.
        self._due: dict[Request, datetime] = {}
        self._memories: dict[Request, Memory] = {}
        self._selectors = AutoscalerSelectors()

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Examines an autoscaler that is due."""
        key = Request(request.name, request.namespace)
        try:
            found: Object = await ctx.client.get(AUTOSCALER, request.name, request.namespace)
        except NotFound:
            self._due.pop(key, None)
            self._memories.pop(key, None)
            self._selectors.remove(key)
            return None
        now = ctx.clock.now()
        due = self._due.setdefault(key, now)
        if due <= now:
            await _Examination(self, ctx, key, found).run()
            due = self._due[key] = now + PERIOD
        return Result(requeue_after=(due - now).total_seconds())

    def memory(self, key: Request) -> Memory:
        return self._memories.setdefault(key, Memory())

    async def rivals(
        self, ctx: Context[Any], key: Request, selector: Selector, pods: Sequence[Object]
    ) -> list[Request]:
        """Returns the autoscalers with selectors that match some of the pods, this one included."""
        self._selectors.set(key, selector)
        found: set[Request] = set()
        async for pod in in_turns(ctx, pods):
            found.update(self._selectors.matching(key.namespace, pod["metadata"].get("labels")))
        return sorted(found)

    def warn(self, autoscaler: Object, reason: str, text: str) -> None:
        self._recorder.warning(autoscaler, reason, text)

    def tell(self, autoscaler: Object, reason: str, text: str) -> None:
        self._recorder.normal(autoscaler, reason, text)


class _Examination:
    """One examination of an autoscaler: computes the replicas, scales the target, and writes the status."""

    def __init__(self, owner: AutoscalerReconciler, ctx: Context[Any], key: Request, autoscaler: Object) -> None:
        self._owner = owner
        self._ctx = ctx
        self._key = key
        self._autoscaler = autoscaler
        self._spec = autoscaler["spec"]
        self._status: Object = thaw(autoscaler.get("status") or {})
        self._conditions: list[Object] = self._status.setdefault("conditions", [])
        least = self._spec.get("minReplicas")
        self._limits = Limits(1 if least is None else least, self._spec["maxReplicas"], self._spec.get("behavior"))

    async def run(self) -> None:
        reference = self._spec["scaleTargetRef"]
        group, _, version = reference.get("apiVersion", "").rpartition("/")
        kind = GroupVersionKind(group, version or "v1", reference["kind"])
        try:
            scale = await self._ctx.api.scale(kind, reference["name"], self._key.namespace)
        except (APIError, NoMatch) as error:
            text = str(error)
            if isinstance(error, NoMatch):
                text = f"unable to determine resource for scale target reference: {error}"
            self._owner.warn(self._autoscaler, "FailedGetScale", text)
            message = f"the HPA controller was unable to get the target's current scale: {text}"
            self._set(ABLE, "False", "FailedGetScale", message)
            await self._write()
            return
        self._set(ABLE, "True", "SucceededGetScale", "the HPA controller was able to get the target's current scale")
        current = (scale.get("spec") or {}).get("replicas") or 0
        now, memory = self._ctx.clock.now(), self._owner.memory(self._key)
        if not memory.recommendations:
            memory.recommend(now, current, 0)
        wanted, why = current, ""
        metrics: list[Object] = self._status.get("currentMetrics") or []
        if not current and self._limits.least:
            text = "scaling is disabled since the replica count of the target is zero"
            self._set(ACTIVE, "False", "ScalingDisabled", text)
        elif current > self._limits.most:
            wanted, why = self._limits.most, "Current number of replicas above Spec.MaxReplicas"
        elif current < self._limits.least:
            wanted, why = self._limits.least, "Current number of replicas below Spec.MinReplicas"
        else:
            try:
                proposal, metrics = await self._proposal(scale, current)
            except _Unscalable as error:
                self._owner.warn(self._autoscaler, "FailedComputeMetricsReplicas", str(error))
                self._fill(current, self._status.get("desiredReplicas", 0), error.metrics)
                await self._write()
                return
            if proposal.replicas != current:
                above = proposal.replicas > current
                why = f"{proposal.name} above target" if above else "All metrics below target"
            found = limited(current, proposal.replicas, self._limits, memory, now)
            self._set(ABLE, "True", *found.able)
            self._set(LIMITED, "True" if found.is_limited else "False", *found.limit)
            wanted = found.replicas
        if wanted != current:
            try:
                await self._ctx.api.update_scale(kind, {**scale, "spec": {**scale["spec"], "replicas": wanted}})
            except APIError as error:
                text = f"New size: {wanted}; reason: {why}; error: {error}"
                self._owner.warn(self._autoscaler, "FailedRescale", text)
                message = f"the HPA controller was unable to update the target scale: {error}"
                self._set(ABLE, "False", "FailedUpdateScale", message)
                self._fill(current, self._status.get("desiredReplicas", 0), metrics)
                await self._write()
                return
            text = f"the HPA controller was able to update the target scale to {wanted}"
            self._set(ABLE, "True", "SucceededRescale", text)
            self._set(*(_SCALED_TO_ZERO if not wanted else _NOT_SCALED_TO_ZERO))
            self._owner.tell(self._autoscaler, "SuccessfulRescale", f"New size: {wanted}; reason: {why}")
            memory.changed(now, current, wanted, self._limits.behavior)
            self._status["lastScaleTime"] = format_time(now)
        self._fill(current, wanted, metrics)
        await self._write()

    async def _proposal(self, scale: Object, current: int) -> tuple[Proposal, list[Object]]:
        """Returns the largest proposal of all metrics, and their statuses. Raises _Unscalable."""
        target = await self._target(scale, current)
        best: Proposal | None = None
        failures: list[Failure] = []
        statuses: list[Object] = []
        specs = self._spec.get("metrics") or []
        for spec in specs:
            try:
                found = await propose(self._ctx, spec, target, _tolerances(self._limits.behavior))
            except Failure as failure:
                self._owner.warn(self._autoscaler, failure.reason, failure.cause)
                failures.append(failure)
                statuses.append({"type": ""})
                continue
            statuses.append(found.status)
            if best is None or found.replicas > best.replicas:
                best = found
        if failures and (best is None or best.replicas < current):
            text = f"the HPA was unable to compute the replica count: {failures[0].cause}"
            self._set(ACTIVE, "False", failures[0].reason, text)
            count = f"{len(failures)} invalid out of {len(specs)}"
            raise _Unscalable(f"invalid metrics ({count}), first error is: {failures[0]}", statuses)
        assert best is not None, "the server requires a metric"
        text = f"the HPA was able to successfully calculate a replica count from {best.name}"
        self._set(ACTIVE, "True", "ValidMetricFound", text)
        return best, statuses

    async def _target(self, scale: Object, current: int) -> Target:
        """Returns the pods that the target selects. Raises _Unscalable."""
        status = scale.get("status") or {}
        text = status.get("selector") or ""
        if not text:
            self._refuse("SelectorRequired", "selector is required", "the HPA target's scale is missing a selector")
        try:
            selector = parse(text)
        except APIError as error:
            cause = f"couldn't convert selector into a corresponding internal selector object: {error}"
            self._refuse("InvalidSelector", cause, cause)
        pods = await pods_matching(self._ctx, self._key.namespace, selector, selector.required())
        rivals = await self._owner.rivals(self._ctx, self._key, selector, pods)
        if len(rivals) > 1:
            listed = " ".join(f"{{{each.name} {each.namespace}}}" for each in rivals)
            cause = f"pods by selector {selector} are controlled by multiple HPAs: [{listed}]"
            self._refuse("AmbiguousSelector", cause, cause)
        return Target(self._key.namespace, selector, pods, current, status.get("replicas") or 0)

    def _refuse(self, reason: str, cause: str, message: str) -> NoReturn:
        """Reports a selector that cannot be used. Raises _Unscalable."""
        self._owner.warn(self._autoscaler, reason, cause)
        condition = "InvalidSelector" if reason == "SelectorRequired" else reason
        self._set(ACTIVE, "False", condition, message)
        raise _Unscalable(cause, [])

    def _set(self, kind: str, status: str, reason: str, message: str) -> None:
        conditions.set_condition(
            self._conditions, self._ctx.clock, type=kind, status=status, reason=reason, message=message
        )

    def _fill(self, current: int, wanted: int, metrics: list[Object]) -> None:
        self._status["currentReplicas"] = current
        self._status["desiredReplicas"] = wanted
        self._status["currentMetrics"] = metrics or None

    async def _write(self) -> None:
        before = self._autoscaler.get("status") or {}
        after = {name: value for name, value in self._status.items() if value is not None}
        if after != {name: value for name, value in before.items() if value is not None}:
            await self._ctx.client.update({**self._autoscaler, "status": after}, subresource="status")


def _tolerances(behavior: Object | None) -> Tolerances:
    """Returns the tolerances that the behavior sets, or the default."""

    def of(name: str) -> float:
        found = ((behavior or {}).get(name) or {}).get("tolerance")
        return TOLERANCE if found is None else Quantity.parse(str(found)).as_float()

    return Tolerances(of("scaleDown"), of("scaleUp"))


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(
        Controller(
            host.name,
            AutoscalerReconciler(host.recorder(COMPONENT)).reconcile,
            clock=host.clock,
            kind=AUTOSCALER,
            watches=[Watch(POD, for_none)],
            concurrency=CONCURRENCY,
            own_status_triggers=False,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
