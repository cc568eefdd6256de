/** Summaries of the parts of the app: their resource, order and texts. */
import { go, href } from "./route.js";

export const SUMMARIES = "/apis/setpoint.dev/v1/summaries";

/** The states, in the order in which they need attention. */
const RANKS = ["Failed", "Unknown", "Deleting", "Progressing", "Waiting", "Ready", "Finished", "Stopped"];
export const rankOf = (summary) => (RANKS.indexOf(summary.state) + 1 || RANKS.length) - 1;

/** Returns the resource with its group, as in addresses: `executables.usvc-dev.developer.microsoft.com`. */
export const resourceOf = ({ object }) => (object.group ? `${object.resource}.${object.group}` : object.resource);

const partsOf = (summary) => ["service", resourceOf(summary), ...(summary.object.namespace ? [summary.object.namespace] : []), summary.object.name];
export const serviceHref = (summary, query) => href(partsOf(summary), query);
export const openService = (summary, query) => go(partsOf(summary), query);

/** Returns the name with the namespace. */
export const titleOf = ({ object }) => (object.namespace ? `${object.namespace}/${object.name}` : object.name);

/** Returns "2/3" for parts with replicas. */
export const countOf = (summary) => (summary.wanted > 1 || summary.ready > 1 ? `${summary.ready ?? 0}/${summary.wanted}` : "");

/** Returns the reason and the message in one text; the reason of a good state says no more than the state. */
export function reasonOf({ state, reason, message }) {
  if (!message) return ["Ready", "Finished"].includes(state) ? "" : (reason ?? "");
  return state === "Failed" && reason && !message.toLowerCase().includes(reason.toLowerCase()) ? `${reason}: ${message}` : message;
}
