/** A read that follows its changes: a list, then watches from its revision, then the list again when these end. */
import { StatusError } from "./api.js";
import { setWaiting } from "./connection.js";
import { signal } from "./view.js";

const FIRST_DELAY = 500;
const LONGEST_DELAY = 10_000;
const TEMPORARY = new Set([408, 410, 429]);

/** Returns whether the same request can succeed later. */
const isTemporary = (error) => !(error.code >= 400 && error.code < 500) || TEMPORARY.has(error.code);

/** Waits, at most until the signal is aborted. */
export function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

/** The base of lists: a subclass has `list()`, which reads all, and `follow()`, which returns when a watch has ended. */
export class LiveRead {
  /** @param {{isFollowed: boolean, batch: number}} options `batch` is the least time between two updates of the page */
  constructor({ isFollowed, batch }) {
    this.isFollowed = isFollowed;
    this.batch = batch;
    /** Changes with the content. */
    this.version = signal(0);
    /** "loading", "ready" or "failed". */
    this.state = signal("loading");
    /** @type {import("./view.js").Signal<StatusError | null>} */
    this.error = signal(null);
    this.abort = new AbortController();
    this.timer = 0;
  }

  close() {
    this.abort.abort();
    clearTimeout(this.timer);
    setWaiting(this, false);
  }

  async run() {
    const { signal: aborted } = this.abort;
    this.delay = FIRST_DELAY;
    while (!aborted.aborted) {
      try {
        await this.list();
        this.completed();
        if (!this.isFollowed) return;
        await this.follow();
      } catch (error) {
        if (aborted.aborted) return;
        this.error.value = error instanceof StatusError ? error : new StatusError({ message: String(error.message ?? error) });
        if (this.state.peek() === "loading" || !isTemporary(error)) this.state.value = "failed";
        if (!isTemporary(error)) return;
        setWaiting(this, true);
      }
      await this.wait();
    }
  }

  /** Waits before the next request, longer each time until one is answered. */
  async wait() {
    await pause(this.delay, this.abort.signal);
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY);
  }

  /** Records that the server answers. */
  answered() {
    this.delay = FIRST_DELAY;
    setWaiting(this, false);
  }

  completed() {
    this.answered();
    this.error.value = null;
    this.state.value = "ready";
    this.changed();
  }

  /** Updates the page soon: changes are shown together, so that a storm of changes does not render once for each. */
  changed() {
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      this.version.value += 1;
    }, this.batch);
  }
}
