/** The rows of a kind: read page by page, then kept up to date by a watch; at a past revision, read once. */
import { StatusError, pages, send } from "../api.js";
import { setWaiting } from "../connection.js";
import { selected } from "../time.js";
import { signal, useEffect, useMemo } from "../view.js";
import { TableRows } from "./table_rows.js";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const BATCH_MILLISECONDS = 100;
const FIRST_DELAY = 500;
const LONGEST_DELAY = 10_000;

export class LiveTable {
  /** @param {string} path @param {{at: string, query?: object}} options */
  constructor(path, { at, query = {} }) {
    this.path = path;
    this.at = at;
    this.query = query;
    this.table = new TableRows();
    this.version = signal(0);
    this.isLoading = signal(true);
    this.error = signal(null);
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
        if (this.at !== "live") return;
        await this.follow();
      } catch (error) {
        if (this.abort.signal.aborted) return;
        this.error.value = error;
        this.isLoading.value = false;
        if (!(error instanceof StatusError) || (error.code >= 400 && error.code < 500 && error.code !== 410 && error.code !== 429)) return;
      }
      if (this.abort.signal.aborted) return;
      setWaiting(this, true);
      await new Promise((resolve) => setTimeout(resolve, delay));
      delay = Math.min(2 * delay, LONGEST_DELAY);
    }
  }

  async list() {
    const whole = new TableRows();
    const isFirst = this.table.rows.size === 0;
    const options = { query: this.query, at: this.at, accept: TABLE, signal: this.abort.signal };
    for await (const page of pages(this.path, options)) {
      whole.addPage(page);
      if (isFirst) {
        this.table = whole;
        this.changed();
      }
    }
    this.table = whole;
    this.error.value = null;
    this.isLoading.value = false;
    setWaiting(this, false);
    this.changed();
  }

  /**
   * Applies the events of watches, until the revision has expired or the server cannot be reached. A WebSocket cannot
   * ask for rows of a table, so this watch is a request; a browser has six of them for a server, over all tabs.
   * Therefore a hidden tab ends its watch, and continues when shown.
   */
  async follow() {
    let isKept = true;
    while (isKept && !this.abort.signal.aborted) {
      await shown(this.abort.signal);
      const watching = new AbortController();
      const end = () => (document.hidden || this.abort.signal.aborted) && watching.abort();
      document.addEventListener("visibilitychange", end);
      this.abort.signal.addEventListener("abort", end, { once: true });
      try {
        end();
        const query = { ...this.query, watch: "true", allowWatchBookmarks: "true", resourceVersion: this.table.resourceVersion };
        const answer = await send(this.path, { query, at: "live", accept: TABLE, signal: watching.signal });
        await eachLine(answer, (line) => {
          isKept = this.table.apply(JSON.parse(line)) && isKept;
          this.changed();
        });
      } catch (error) {
        if (!watching.signal.aborted) throw error;
      } finally {
        document.removeEventListener("visibilitychange", end);
        this.abort.signal.removeEventListener("abort", end);
      }
    }
  }

  changed() {
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      this.version.value += 1;
    }, BATCH_MILLISECONDS);
  }
}

/** Waits until the tab is visible, or the signal is aborted. */
function shown(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", check);
      resolve();
    };
    document.addEventListener("visibilitychange", check);
    signal.addEventListener("abort", check, { once: true });
  });
}

/** Calls `take` with each line of an answer, as they arrive. */
async function eachLine(answer, take) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) take(line);
  }
}

export function useLiveTable(path, query = {}) {
  const at = selected.value;
  const made = useMemo(() => (path ? new LiveTable(path, { at, query }) : null), [path, at, JSON.stringify(query)]);
  useEffect(() => () => made?.close(), [made]);
  return made;
}
