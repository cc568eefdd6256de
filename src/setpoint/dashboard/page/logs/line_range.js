/** The lines of merged logs that contain a text, between two times: one bounded read, with the interface of a LogWindow. */
import { signal } from "../view.js";
import { readLog, requestOf } from "./log_lines.js";

export class LineRange {
  /**
   * @param {import("./log_targets.js").Target[]} targets
   * @param {{grep: string, from: string, until: string, limit: number}} range `grep` has no special characters
   */
  constructor(targets, { grep, from, until, limit }) {
    const { path, query } = requestOf(targets);
    this.path = path;
    this.query = { ...query, grep, ignore_case: "true", since_time: from, until, limit };
    this.limit = limit;
    this.shown = signal({ lines: [], added: 0, hasOlder: false, isAtEnd: true });
    this.isBusy = signal(true);
    /** @type {import("../view.js").Signal<Error | null>} */
    this.error = signal(null);
    this.abort = new AbortController();
    this.open();
  }

  /** True if there may be more lines than were read. */
  get isCut() {
    return this.shown.value.lines.length >= this.limit;
  }

  async open() {
    this.isBusy.value = true;
    try {
      const lines = await readLog(this.path, this.query, this.abort.signal);
      this.shown.value = { ...this.shown.peek(), lines };
      this.error.value = null;
    } catch (error) {
      if (!this.abort.signal.aborted) this.error.value = error;
    } finally {
      this.isBusy.value = false;
    }
  }

  older() {}

  newer() {}

  close() {
    this.abort.abort();
  }
}
