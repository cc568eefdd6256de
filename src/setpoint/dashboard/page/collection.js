/** A list of objects that follows its changes, or shows the selected moment of the past. */
import { UNREACHABLE, get, pages } from "./api.js";
import { setWaiting } from "./connection.js";
import { LiveRead } from "./live_read.js";
import { readLines } from "./stream.js";
import { selected } from "./time.js";
import { signal, useEffect, useMemo } from "./view.js";

const BATCH_MILLISECONDS = 60;
const RETRY_MILLISECONDS = 2000;

export class Collection extends LiveRead {
  /**
   * @param {string} path of the list
   * @param {{query?: object, at?: string, watch?: boolean}} [options]
   */
  constructor(path, { query = {}, at = "live", watch = true } = {}) {
    super({ isFollowed: watch && at === "live", batch: BATCH_MILLISECONDS });
    this.path = path;
    this.query = query;
    this.at = at;
    /** The objects by uid. The map is changed in place; `version` changes with it. */
    this.items = new Map();
    this.revision = "";
    this.run();
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
  }

  /** Follows the changes until the list must be read again. */
  async follow() {
    let failures = 0;
    while (!this.abort.signal.aborted) {
      let isExpired = false;
      const query = { ...this.query, watch: "true", allowWatchBookmarks: "true", resourceVersion: this.revision };
      const onOpen = () => {
        this.answered();
        failures = 0;
      };
      await readLines(this.path, { query, signal: this.abort.signal, onOpen }, (line) => {
        const event = JSON.parse(line);
        if (event.type === "ERROR") isExpired = true;
        else this.take(event);
      });
      if (isExpired || this.abort.signal.aborted) return;
      failures += 1;
      if (failures > 1) {
        // A browser does not give the reason why a WebSocket was refused; a list does.
        setWaiting(this, true);
        return;
      }
      await this.wait();
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
  const reload = () => (state.value = { ...state.peek(), round: state.peek().round + 1 });
  useEffect(() => {
    if (!path) return undefined;
    const abort = new AbortController();
    let timer = 0;
    get(path, { query, ...options, at, signal: abort.signal }).then(
      (value) => (state.value = { ...state.peek(), value, error: null, isLoading: false }),
      (error) => {
        if (abort.signal.aborted) return;
        state.value = { ...state.peek(), error, isLoading: false };
        if (error.reason === UNREACHABLE) timer = setTimeout(reload, RETRY_MILLISECONDS);
      },
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, round]);
  return { ...state.value, reload };
}
