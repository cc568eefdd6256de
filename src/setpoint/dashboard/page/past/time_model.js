/** The time slider's state: the part of the log that the page knows, the position in it, and the playback. */
import { get } from "../api.js";
import { select, selected } from "../time.js";
import { effect, signal } from "../view.js";
import {
  advance, afterKey, goLive, newPlayback, revisionOf, seek, seekRevision, step, toggle, withEntries, withSpeed,
} from "./playback.js";

const REVISIONS = "/apis/setpoint.dev/v1/revisions";
// The number of entries of one read of the log.
const PAGE = 500;
// The interval of the playback, and the shortest time between two selections while the slider is moved.
const TICK_MILLISECONDS = 100;

export const playback = signal(newPlayback());
/** The oldest readable revision; 0 until known. */
export const oldest = signal(0);
/** The error of the last read of the log; null without one. */
export const problem = signal(null);
export const isReading = signal(false);

let timer = 0;
let ticked = 0;
let selecting = 0;
let reading = null;

/** Reads the newest entries of the log, unless a read is under way. The log is read only on use: an idle page is silent. */
export function refresh() {
  reading ??= readNewest().finally(() => (reading = null));
  return reading;
}

async function readNewest() {
  const known = playback.peek().entries.at(-1)?.revision ?? 0;
  const head = await read({ limit: 1 });
  if (!head) return;
  const newest = Number(head.metadata.resourceVersion);
  oldest.value = Number(head.metadata.oldest);
  // The gap between the known entries and the newest ones is left out if it is longer than one page.
  if (newest > known) await readAfter(Math.max(known, newest - PAGE));
}

/** Reads the entries before the first known one. */
export async function readEarlier() {
  const first = playback.peek().entries[0]?.revision ?? 0;
  if (first > 1) await readAfter(Math.max(0, first - 1 - PAGE));
}

async function readAfter(after) {
  const page = await read({ after, limit: PAGE });
  if (!page) return;
  const entries = page.items.map((item) => ({
    revision: Number(item.revision),
    time: Date.parse(item.time),
    text: `${item.object.kind} ${item.object.name}`,
  }));
  playback.value = withEntries(playback.peek(), entries);
}

async function read(query) {
  isReading.value = true;
  try {
    const page = await get(REVISIONS, { query, at: "live" });
    problem.value = null;
    return page;
  } catch (error) {
    problem.value = error;
    return null;
  } finally {
    isReading.value = false;
  }
}

/** Returns the last revision that was written by a time in RFC 3339. */
export async function revisionAt(time) {
  const found = await get(REVISIONS, { query: { time }, at: "live" });
  return Number(found.metadata.at);
}

/** Changes the model and the selected time of the page. A slider that moves selects at most ten times in a second. */
function show(model) {
  playback.value = model;
  clearTimeout(selecting);
  selecting = setTimeout(() => select(revisionOf(model) ?? "live", { replace: true }), TICK_MILLISECONDS);
  run(model.playing);
}

function run(isPlaying) {
  if (!isPlaying) {
    clearInterval(timer);
    timer = 0;
  } else if (!timer) {
    ticked = performance.now();
    timer = setInterval(tick, TICK_MILLISECONDS);
  }
}

function tick() {
  const now = performance.now();
  const before = playback.peek();
  const model = advance(before, now - ticked);
  ticked = now;
  playback.value = model;
  if (revisionOf(model) !== revisionOf(before)) select(revisionOf(model), { replace: true });
  run(model.playing);
}

export const seekTo = (position) => show(seek(playback.peek(), position));
export const setSpeed = (speed) => show(withSpeed(playback.peek(), speed));
export const live = () => show(goLive(playback.peek()));

export async function stepBy(count) {
  await refresh();
  show(step(playback.peek(), count));
}

export async function togglePlaying() {
  if (!playback.peek().playing) await refresh();
  show(toggle(playback.peek()));
}

/** Applies a key of the slider; returns false for a key without a meaning. */
export function press(key) {
  const model = afterKey(playback.peek(), key);
  if (model) show(model);
  return model !== null;
}

/** Follows the address, which a link or the history of the browser may have changed. */
export function followAddress() {
  return effect(() => {
    const text = selected.value;
    const model = playback.peek();
    if (text === "live") {
      if (!model.live && !selecting) playback.value = goLive(model);
    } else if (String(revisionOf(model)) !== text && !model.playing) {
      follow(Number(text));
    }
    selecting = 0;
  });
}

async function follow(revision) {
  const { entries } = playback.peek();
  if (!entries.some((entry) => entry.revision === revision)) {
    await refresh();
    if (!playback.peek().entries.some((entry) => entry.revision === revision)) await readAfter(Math.max(0, revision - PAGE / 2));
  }
  if (selected.peek() === String(revision)) playback.value = seekRevision(playback.peek(), revision);
}
