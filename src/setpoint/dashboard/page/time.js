/** The selected time of the whole page: a revision, or "live". It is the parameter `at` of the address. */
import { computed } from "./view.js";
import { change, parameter } from "./route.js";

const at = parameter("at");

/** The selected revision as text, or "live". */
export const selected = computed(() => (/^\d+$/.test(at.value) ? at.value : "live"));
export const isLive = computed(() => selected.value === "live");

/** Selects a revision or "live" for every table, graph, log and chain of the page. */
export function select(revision, { replace = false } = {}) {
  change({ at: revision === "live" ? "" : String(revision) }, { replace });
}
