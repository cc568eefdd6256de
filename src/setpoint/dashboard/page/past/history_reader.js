/** Reads the history of an object: its revisions, newest first, up to the selected time. */
import { aboutPath, get } from "../api.js";
import { selected } from "../time.js";
import { useEffect, useState } from "../view.js";

// A longer history is read when asked for.
const PAGES = 4;

/** Returns {items, next}: the items of some pages, and the revision to continue before; "" at the end. */
export async function readHistory(reference, { before = "", signal } = {}) {
  const items = [];
  let next = before;
  for (let page = 0; page < PAGES; page += 1) {
    const found = await get(aboutPath(reference, "history"), { at: "live", signal, query: { continue: next } });
    items.push(...found.items);
    next = found.metadata.continue ?? "";
    if (!next) break;
  }
  return { items, next };
}

/** Returns {items, next, error, isLoading, more} for a component; a new version of the object reads again. */
export function useHistory(reference, version) {
  const [state, setState] = useState({ items: [], next: "", error: null, isLoading: true });
  const at = selected.value;
  useEffect(() => {
    const abort = new AbortController();
    const before = at === "live" ? "" : String(Number(at) + 1);
    readHistory(reference, { before, signal: abort.signal }).then(
      (found) => setState({ ...found, error: null, isLoading: false }),
      (error) => abort.signal.aborted || setState({ items: [], next: "", error, isLoading: false }),
    );
    return () => abort.abort();
  }, [reference.resource, reference.namespace, reference.name, at, version]);
  const more = async () => {
    const found = await readHistory(reference, { before: state.next });
    setState((old) => ({ ...old, items: [...old.items, ...found.items], next: found.next }));
  };
  return { ...state, more };
}
