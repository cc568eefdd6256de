/** A list of objects that follows its changes, or shows the selected moment of the past. */
import { StatusError, get, pages } from "./api.js";
import { setWaiting } from "./connection.js";
import { readLines } from "./stream.js";
import { selected } from "./time.js";
import { signal, useEffect, useMemo } from "./view.js";

// Changes are shown together, so that a storm of changes does not render once for each.
const BATCH_MILLISECONDS = 60;
const FIRST_DELAY = 500;
const LONGEST_DELAY = 10_000;
const NOT_REPAIRED_BY_WAITING = new Set([400, 401, 403, 404, 405, 422]);

export class Collection {
  /**
   * @param {string} path of the list
   * @param {{query?: object, at?: string, watch?: boolean}} [options]
   */
  constructor(path, { query = {}, at = "live", watch = true } = {}) {
    this.path = path;
    this.query = query;
    this.at = at;
    this.isWatched = watch && at === "live";
    /** The objects by uid. The map is changed in place; `version` changes with it. */
    this.items = new Map();
    this.version = signal(0);
    /** "loading", "ready" or "failed". */
    this.state = signal("loading");
    /** @type {import("./view.js").Signal<StatusError | null>} */
    this.error = signal(null);
    this.revision = "";
    this.abort = new AbortController();
    this.timer = 0;
    this.run();
  }

  close() {
    this.abort.abort();
    clearTimeout(this.timer);
    setWaiting(this, false);
  }

  async run() {
    let delay = FIRST_DELAY;
    while (!this.abort.signal.aborted) {
      try {
        await this.list();
        delay = FIRST_DELAY;
        if (!this.isWatched) return;
        await this.follow();
      } catch (error) {
        if (this.abort.signal.aborted) return;
        this.error.value = error instanceof StatusError ? error : new StatusError({ message: String(error.message ?? error) });
        if (this.state.peek() === "loading") this.state.value = "failed";
        if (NOT_REPAIRED_BY_WAITING.has(error.code)) {
          this.state.value = "failed";
          return;
        }
        setWaiting(this, true);
        await this.pause(delay);
        delay = Math.min(delay * 2, LONGEST_DELAY);
      }
    }
  }

  /** Reads the whole list, page by page. */
  async list() {
    const found = new Map();
    const isFirst = this.items.size === 0;
    for await (const page of pages(this.path, { query: this.query, at: this.at, signal: this.abort.signal })) {
      for (const item of page.items ?? []) found.set(keyOf(item), item);
      this.revision = page.metadata?.resourceVersion ?? "";
      if (isFirst && page.metadata?.continue) {
        this.items = new Map(found);
        this.changed();
      }
    }
    this.items = found;
    this.error.value = null;
    this.state.value = "ready";
    setWaiting(this, false);
    this.changed();
  }

  /** Follows the changes until the list must be read again. */
  async follow() {
    let delay = FIRST_DELAY;
    let failures = 0;
    while (!this.abort.signal.aborted) {
      let isExpired = false;
      const query = { ...this.query, watch: "true", allowWatchBookmarks: "true", resourceVersion: this.revision };
      const onOpen = () => {
        setWaiting(this, false);
        delay = FIRST_DELAY;
        failures = 0;
      };
      await readLines(this.path, { query, signal: this.abort.signal, onOpen }, (line) => {
        const event = JSON.parse(line);
        if (event.type === "ERROR") isExpired = true;
        else this.take(event);
      });
      if (isExpired || this.abort.signal.aborted) return;
      failures += 1;
      if (failures > 1) setWaiting(this, true);
      await this.pause(delay);
      delay = Math.min(delay * 2, LONGEST_DELAY);
      // A browser does not tell why a WebSocket was refused; a list does.
      if (failures > 1) return;
    }
  }

  /** @param {{type: string, object: object}} event */
  take({ type, object }) {
    this.revision = object.metadata?.resourceVersion ?? this.revision;
    if (type === "BOOKMARK") return;
    if (type === "DELETED") this.items.delete(keyOf(object));
    else this.items.set(keyOf(object), object);
    this.changed();
  }

  changed() {
    if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.version.value += 1;
    }, BATCH_MILLISECONDS);
  }

  pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.abort.signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
}

const keyOf = (item) => item.metadata?.uid || `${item.metadata?.namespace ?? ""}/${item.metadata?.name}`;

/**
 * Returns a collection for a component: the list at the selected time, followed while live. Reading `version.value`
 * subscribes to the changes. An empty path reads nothing.
 */
export function useCollection(path, query = {}, options = {}) {
  const at = options.at ?? selected.value;
  const key = JSON.stringify([path, query, at]);
  const made = useMemo(() => (path ? new Collection(path, { query, ...options, at }) : null), [key]);
  useEffect(() => () => made?.close(), [made]);
  return made;
}

/**
 * Returns `{value, error, isLoading, reload}` of one read at the selected time; reads again when the path, the query or
 * the time changes. The last value stays until the next one has arrived.
 */
export function useRead(path, query = {}, options = {}) {
  const at = options.at ?? selected.value;
  const key = JSON.stringify([path, query, at, options.accept]);
  const state = useMemo(() => signal({ value: null, error: null, isLoading: true, round: 0 }), [path]);
  const { round } = state.value;
  useEffect(() => {
    if (!path) return undefined;
    const abort = new AbortController();
    get(path, { query, ...options, at, signal: abort.signal }).then(
      (value) => (state.value = { ...state.peek(), value, error: null, isLoading: false }),
      (error) => abort.signal.aborted || (state.value = { ...state.peek(), error, isLoading: false }),
    );
    return () => abort.abort();
  }, [key, round]);
  const reload = () => (state.value = { ...state.peek(), round: state.peek().round + 1 });
  return { ...state.value, reload };
}
