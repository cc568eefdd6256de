/**
 * The traces among the IDs in log lines. Only an ID that the telemetry knows is a link: IDs are collected for a moment and
 * looked up together. A trace may arrive after its lines, so unknown IDs are looked up again a few times.
 */
import { get } from "../api.js";
import { signal } from "../view.js";

const TRACES = "/apis/setpoint.dev/v1/telemetry/traces";
// The most IDs that the server looks up at once.
export const MOST_IDS = 100;
// The server has no telemetry, or the user may not read it.
const REFUSALS = new Set([400, 401, 403, 404, 405, 503]);
/** The number of IDs that are remembered. */
export const MOST_REMEMBERED = 5000;
const BATCH_MILLISECONDS = 150;
// The pauses before an unknown ID is looked up again: exporters send spans some seconds after their end.
const PAUSES = [4000, 15_000, 60_000];

export class KnownTraces {
  /** @param {(ids: string[]) => Promise<{traceId: string, name: string}[]>} lookUp returns the known traces among IDs */
  constructor(lookUp) {
    this.lookUp = lookUp;
    /** The ID of each known trace, with its name. */
    this.names = new Map();
    /** Changes with `names`. */
    this.version = signal(0);
    // The number of finished lookups of each ID that is not known.
    this.tries = new Map();
    this.waiting = new Set();
    this.timer = 0;
    this.isRefused = false;
  }

  /** Returns the first known trace of IDs, or null. Reading it subscribes to later answers. */
  firstOf(ids) {
    this.version.value;
    const id = ids.find((each) => this.names.has(each));
    return id === undefined ? null : { id, name: this.names.get(id) };
  }

  /** Looks IDs up soon, if they are not known already. */
  want(ids) {
    if (this.isRefused) return;
    for (const id of ids) {
      if (this.names.has(id) || this.tries.has(id)) continue;
      this.tries.set(id, 0);
      this.waiting.add(id);
    }
    this.start();
  }

  start() {
    if (this.waiting.size) this.timer ||= setTimeout(() => this.send(), BATCH_MILLISECONDS);
  }

  async send() {
    const ids = [...this.waiting].slice(0, MOST_IDS);
    for (const id of ids) this.waiting.delete(id);
    try {
      const found = await this.lookUp(ids);
      for (const { traceId, name } of found) this.names.set(traceId, name);
      if (found.length) this.version.value += 1;
    } catch (error) {
      this.isRefused = REFUSALS.has(error.code);
      if (this.isRefused) this.waiting.clear();
    }
    for (const id of ids) this.again(id);
    this.forget();
    this.timer = 0;
    this.start();
  }

  /** Looks an unknown ID up again later. */
  again(id) {
    if (this.names.has(id)) {
      this.tries.delete(id);
      return;
    }
    const count = this.tries.get(id) ?? 0;
    this.tries.set(id, count + 1);
    if (this.isRefused || count >= PAUSES.length) return;
    setTimeout(() => {
      if (!this.tries.has(id)) return;
      this.waiting.add(id);
      this.start();
    }, PAUSES[count]);
  }

  /** Bounds the memory: the oldest IDs are forgotten, and looked up again if their lines are shown again. */
  forget() {
    for (const each of [this.names, this.tries]) {
      for (const id of each.keys()) {
        if (each.size <= MOST_REMEMBERED) break;
        each.delete(id);
      }
    }
  }
}

/** The traces that all log lists of the page share. */
export const knownTraces = new KnownTraces(async (ids) => (await get(TRACES, { query: { ids: ids.join(), limit: MOST_IDS }, at: "live" })).items);
