/** The processes and containers whose logs are shown: those of the selected services. */
import { get } from "../api.js";
import { batch, signal, useEffect, useMemo } from "../view.js";

const GROUP = "/apis/usvc-dev.developer.microsoft.com/v1";
const RESOURCES = ["executables", "containers"];
const PART = "setpoint.dev/part";
// The number of logs that the server merges in one answer.
export const MOST_TARGETS = 50;

/** @typedef {{resource: string, name: string, part: string, uid: string, terminal: boolean}} Target */

/** Returns the service that a process belongs to. */
export const partOf = (object) => object.metadata.labels?.[PART] ?? object.metadata.annotations?.["setpoint.dev/one-off-of"] ?? object.metadata.name;

/**
 * Returns the processes and containers of services, or of all without names.
 * @returns {Promise<{targets: Target[], isCut: boolean}>}
 */
async function read(parts, options) {
  const labelSelector = parts.length ? `${PART} in (${parts.join(",")})` : "";
  const lists = await Promise.all(
    RESOURCES.map((resource) => get(`${GROUP}/${resource}`, { ...options, query: { labelSelector, limit: MOST_TARGETS } })),
  );
  const targets = lists.flatMap((list, place) => list.items.map((object) => target(RESOURCES[place], object)));
  return { targets: targets.slice(0, MOST_TARGETS), isCut: targets.length > MOST_TARGETS || lists.some((list) => list.metadata.continue) };
}

const target = (resource, object) => ({
  resource,
  name: object.metadata.name,
  uid: object.metadata.uid,
  part: partOf(object),
  terminal: Boolean(object.spec?.terminal),
});

/**
 * Returns the targets of services for a component. `key` changes when they have to be read again.
 * @returns {{targets: Target[] | null, isCut: boolean, error: Error | null}}
 */
export function useTargets(parts, at, key = "") {
  const state = useMemo(() => signal({ targets: null, isCut: false, error: null }), []);
  const names = parts.join(",");
  useEffect(() => {
    const abort = new AbortController();
    read(parts, { signal: abort.signal, at }).then(
      (found) => batch(() => (state.value = sameTargets(state.peek().targets, found.targets) ? state.peek() : { ...found, error: null })),
      (error) => abort.signal.aborted || (state.value = { ...state.peek(), error }),
    );
    return () => abort.abort();
  }, [names, at, key]);
  return state.value;
}

const sameTargets = (one, other) => one !== null && one.length === other.length && one.every((each, place) => each.uid === other[place].uid);
