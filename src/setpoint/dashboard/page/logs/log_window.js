/**
 * A part of merged logs in memory: the lines around the position of the reader, never all lines. Times have milliseconds,
 * and reads are ranges of time, so the window has whole moments: all lines of a millisecond or none.
 */
import { readLines } from "../stream.js";
import { signal } from "../view.js";
import { keyOf, parsed, readLog, requestOf } from "./log_lines.js";

// The lines of one read, which are divided among the logs, and the least for each log.
const STEP = 800;
const LEAST = 100;
// The most lines that the server returns from the end of a log, and those that are read of one moment. Of a moment with
// more, a part is shown.
const LARGEST_TAIL = 10_000;
const LARGEST_MOMENT = 100_000;
/** The number of lines in memory, unless one moment has more. */
export const MOST_LINES = 6000;
const SURPLUS = 500;
const BATCH_MILLISECONDS = 80;
// The spans of a search, in seconds.
const SPANS = [60, 900, 14_400];
const SECONDS = { "1m": 60, "5m": 300, "15m": 900, "1h": 3600, "24h": 86_400 };
const RETRY_MILLISECONDS = 2000;
const LONGEST_RETRY_MILLISECONDS = 120_000;

export class LogWindow {
  /**
   * @param {import("./log_targets.js").Target[]} targets
   * @param {{grep?: string, ignoreCase?: boolean, level?: string, since?: string, until?: string, source?: string, attempt?: string}} filter
   */
  constructor(targets, filter) {
    this.filter = filter;
    this.step = Math.max(LEAST, Math.ceil(STEP / targets.length));
    const { path, query } = requestOf(targets);
    this.path = path;
    this.query = {
      ...query,
      source: filter.source || query.source,
      grep: filter.grep,
      ignore_case: filter.grep && filter.ignoreCase ? "true" : "",
      level: filter.level,
      attempt: targets.length === 1 ? filter.attempt : "",
    };
    /** @type {import("./log_lines.js").LogLine[]} */
    this.lines = [];
    /** The number of lines that were put before the others. */
    this.added = 0;
    this.hasOlder = false;
    this.isAtEnd = false;
    /** The state for the reader, which later lines do not change: a new one follows them. */
    this.shown = signal(this.state());
    this.isBusy = signal(true);
    /** @type {import("../view.js").Signal<Error | null>} */
    this.error = signal(null);
    this.abort = new AbortController();
    this.following = null;
    /** Follows ended processes again, because one may have started. */
    this.wake = () => {};
    this.timer = 0;
    this.open();
  }

  close() {
    this.abort.abort();
    this.following?.abort();
    this.wake();
    clearTimeout(this.timer);
  }

  get follows() {
    return !this.filter.until && !this.query.attempt;
  }

  /** Reads the last lines, and follows the log unless the window is of the past. */
  async open() {
    this.following?.abort();
    this.following = null;
    await this.attempt(async () => {
      const { lines, isWhole } = await this.last(this.step, this.filter.until);
      this.lines = lines;
      this.hasOlder = !isWhole;
      this.isAtEnd = true;
      this.changed();
      if (this.follows) this.follow();
    });
  }

  /** Reads lines before the first. */
  async older() {
    if (!this.hasOlder || this.isBusy.peek() || !this.lines.length) return;
    await this.attempt(async () => {
      const { lines, isWhole } = await this.last(this.step, this.lines[0].time);
      this.lines = [...lines, ...this.lines];
      this.added += lines.length;
      this.hasOlder = !isWhole;
      const end = momentEnd(this.lines, MOST_LINES);
      if (end < this.lines.length) {
        this.lines.length = end;
        this.isAtEnd = false;
        this.following?.abort();
        this.following = null;
      }
      this.changed();
    });
  }

  /** Reads lines after the last, when later lines were dropped. */
  async newer() {
    if (this.isAtEnd || this.isBusy.peek() || !this.lines.length) return;
    await this.attempt(async () => {
      const { lines, isWhole } = await this.next(this.step, after(this.lines.at(-1).time));
      this.append(lines);
      this.isAtEnd = isWhole;
      this.changed();
      if (isWhole && this.follows) this.follow();
    });
  }

  /**
   * Reads the last lines before a time. A search begins with a short span and takes longer ones until it finds lines,
   * because the server reads every line of the span.
   */
  async last(size, until) {
    if (!this.query.grep && !this.query.level) return this.lastOf(size, until, { since: this.filter.since });
    const end = until ? Date.parse(until) : Date.now();
    const earliest = this.filter.since ? Date.now() - SECONDS[this.filter.since] * 1000 : -Infinity;
    for (const span of SPANS) {
      const from = end - span * 1000;
      if (from <= earliest) break;
      const found = await this.lastOf(size, until, { since_time: new Date(from).toISOString() });
      if (found.lines.length) return { ...found, isWhole: false };
    }
    return this.lastOf(size, until, { since: this.filter.since });
  }

  /**
   * Reads the last lines of a range. The server returns as many of each log, so lines before a gap are left out, and the
   * moment of the gap as well. A moment with more lines than the server returns from the end is read from its beginning.
   */
  async lastOf(size, until, range) {
    for (let tail = Math.min(size, LARGEST_TAIL); ; tail = Math.min(tail * 5, LARGEST_TAIL)) {
      const lines = await this.read({ tail, until, ...range });
      const counts = new Map();
      const firsts = new Map();
      for (const line of lines) {
        counts.set(line.name, (counts.get(line.name) ?? 0) + 1);
        if (!firsts.has(line.name)) firsts.set(line.name, line.time);
      }
      const cut = [...counts].filter(([, count]) => count >= tail).map(([name]) => firsts.get(name)).sort().at(-1);
      if (cut === undefined) return { lines, isWhole: true };
      const whole = lines.filter((line) => line.time > cut);
      if (whole.length) return { lines: whole, isWhole: false };
      if (tail === LARGEST_TAIL) {
        const moment = await this.read({ limit: LARGEST_MOMENT, since_time: cut, until: after(cut) });
        return { lines: moment, isWhole: false };
      }
    }
  }

  /** Reads the first lines from a time on. */
  async next(size, time) {
    for (let limit = size; ; limit = Math.min(limit * 5, LARGEST_MOMENT)) {
      const lines = await this.read({ limit, since_time: time, until: this.filter.until });
      if (lines.length < limit) return { lines, isWhole: true };
      const cut = lines.at(-1).time;
      const whole = lines.filter((line) => line.time < cut);
      if (whole.length) return { lines: whole, isWhole: false };
      if (limit === LARGEST_MOMENT) return { lines, isWhole: false };
    }
  }

  async read(range) {
    return readLog(this.path, { ...this.query, ...range }, this.abort.signal);
  }

  async follow() {
    const following = new AbortController();
    this.following = following;
    let delay = RETRY_MILLISECONDS;
    while (!following.signal.aborted && !this.abort.signal.aborted) {
      const last = this.lines.at(-1)?.time;
      const query = { ...this.query, follow: "true", ...(last ? { since_time: last } : { since: this.filter.since || "1s" }) };
      // The server repeats the lines of the last moment, also those before the window: the first new line follows the last.
      const known = this.keys();
      const lastKey = this.lines.at(-1)?.key;
      let isNew = false;
      const repeats = new Map();
      await readLines(this.path, { query, signal: following.signal }, (text) => {
        const line = parsed(text);
        line.key = keyOf(line, repeats);
        if (line.time === last && (!isNew || known.has(line.key))) {
          isNew ||= line.key === lastKey;
          return;
        }
        this.append([line]);
        this.changed();
        delay = RETRY_MILLISECONDS;
      });
      // The stream ends with the processes; `wake` follows their next run.
      if (!following.signal.aborted) await this.pause(delay);
      delay = Math.min(delay * 2, LONGEST_RETRY_MILLISECONDS);
    }
  }

  /** Waits for a time, or until `wake`. */
  pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  state() {
    return { lines: [...this.lines], added: this.added, hasOlder: this.hasOlder, isAtEnd: this.isAtEnd };
  }

  keys() {
    return new Set(this.lines.map((line) => line.key));
  }

  append(lines) {
    this.lines.push(...lines);
    const surplus = this.lines.length - MOST_LINES;
    // Dropping many at once is cheaper than dropping one for each new line.
    if (surplus <= 0 || (surplus <= SURPLUS && lines.length === 1)) return;
    if (this.lines[surplus].time === this.lines.at(-1).time) return; // the last moment stays whole
    const end = momentEnd(this.lines, surplus);
    this.lines.splice(0, end);
    this.added -= end;
    this.hasOlder = true;
  }

  changed() {
    if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.shown.value = this.state();
    }, BATCH_MILLISECONDS);
  }

  async attempt(work) {
    this.isBusy.value = true;
    try {
      await work();
      this.error.value = null;
    } catch (error) {
      if (!this.abort.signal.aborted) this.error.value = error;
    } finally {
      this.isBusy.value = false;
    }
  }
}

/** Returns the millisecond after a time; "" for a line without a time. */
function after(time) {
  return time && new Date(Date.parse(time) + 1).toISOString();
}

/** Returns the end of the moment that a number of lines reaches into; all lines if there are no more. */
function momentEnd(lines, count) {
  let end = Math.min(count, lines.length);
  while (end < lines.length && lines[end].time === lines[end - 1].time) end++;
  return end;
}
