/** The actions on a part of the app, as patches of its object: the same that `setpoint stop`, `start` and others write. */
import { announce, note } from "./announce.js";
import { patch, resourcePath } from "./api.js";

const RESTART_REQUESTED = "setpoint.dev/restart-requested-at";
const RUN_ARGUMENTS = "setpoint.dev/run-arguments";
const SUSPENDED_WITH_SET = "setpoint.dev/suspended-with-set";
const KUBERNETES_RESTART = "kubectl.kubernetes.io/restartedAt";

const DONE = { start: "Started", stop: "Stopped", restart: "Restart requested:", scale: "Scaled", run: "Run requested:" };
export const TITLES = { start: "Start", stop: "Stop", restart: "Restart", scale: "Scale", run: "Run" };
export const SIGNS = { start: "▶", stop: "■", restart: "↻", scale: "⇕", run: "▶" };

/** Returns the merge patch of an action. `now` is the time in RFC 3339. */
export function change(action, object, now, replicas) {
  const stamp = now.replace(/\.(\d{3})Z$/, ".$1000Z");
  if (object.group === "apps" && action === "restart") {
    return { spec: { template: { metadata: { annotations: { [KUBERNETES_RESTART]: now } } } } };
  }
  switch (action) {
    case "stop":
      return { spec: { suspend: true } };
    case "start":
      return { spec: { suspend: null, ...startOf(object) }, metadata: { annotations: { [SUSPENDED_WITH_SET]: null } } };
    case "restart":
      return { spec: { suspend: null }, metadata: { annotations: { [RESTART_REQUESTED]: stamp } } };
    case "run":
      return { metadata: { annotations: { [RESTART_REQUESTED]: stamp, [RUN_ARGUMENTS]: null } } };
    case "scale":
      return { spec: { replicas } };
    default:
      throw new Error(`unknown action ${action}`);
  }
}

// Only these kinds have the field that keeps them from starting.
const startOf = (object) => (["Executable", "Container"].includes(object.kind) ? { start: true } : {});

/**
 * Performs an action on the object of a summary, and reports the result. Returns true if the server accepted it.
 * @param {{object: object}} summary
 */
export async function act(action, { object }, replicas) {
  const [group, version] = object.apiVersion.includes("/") ? object.apiVersion.split("/") : ["", object.apiVersion];
  const place = { group, version, resource: object.resource, namespace: object.namespace, name: object.name };
  const path = resourcePath({ ...place, subresource: action === "scale" ? "scale" : "" });
  try {
    await patch(path, change(action, object, new Date().toISOString(), replicas), { query: { fieldManager: "setpoint dashboard" } });
    announce(`${DONE[action]} ${object.name}`);
    return true;
  } catch (error) {
    note(`${TITLES[action]} ${object.name}: ${error.message}`, { isError: true });
    return false;
  }
}
