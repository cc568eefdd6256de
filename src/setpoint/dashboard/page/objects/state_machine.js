// The states of an object's state machine, from its live conditions. Pure.
//
// A state machine writes one condition for each state, in the order of the walk, and Ready. A state that the walk did
// not reach is Unknown; the first state that is False or Unknown is the current one.

const OF_WHOLE = new Set(["Ready", "Suspended"]);

// Returns {ready, suspended, states: [{type, status, reason, message, since, current}]}; null without conditions.
export function machineOf(object) {
  const conditions = object?.status?.conditions;
  if (!Array.isArray(conditions) || !conditions.length) return null;
  const steps = conditions.filter((condition) => !OF_WHOLE.has(condition.type));
  const current = steps.find((condition) => condition.status === "False") ?? steps.find((condition) => condition.status !== "True");
  return {
    ready: conditions.find((condition) => condition.type === "Ready") ?? null,
    suspended: conditions.some((condition) => condition.type === "Suspended" && condition.status === "True"),
    states: steps.map((condition) => ({
      type: condition.type,
      status: condition.status,
      reason: condition.reason ?? "",
      message: condition.message ?? "",
      since: condition.lastTransitionTime ?? "",
      current: condition === current,
    })),
  };
}
