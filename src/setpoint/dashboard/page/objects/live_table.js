/** The rows of a kind: read page by page, then kept up to date by a watch; at a past revision, read once. */
import { pages, send } from "../api.js";
import { LiveRead } from "../live_read.js";
import { selected } from "../time.js";
import { useEffect, useMemo } from "../view.js";
import { TableRows } from "./table_rows.js";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const BATCH_MILLISECONDS = 100;

export class LiveTable extends LiveRead {
  /** @param {string} path @param {{at: string, query?: object}} options */
  constructor(path, { at, query = {} }) {
    super({ isFollowed: at === "live", batch: BATCH_MILLISECONDS });
    this.path = path;
    this.at = at;
    this.query = query;
    this.table = new TableRows();
    this.run();
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
        this.answered();
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
      if (isKept && !document.hidden) await this.wait();
    }
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
