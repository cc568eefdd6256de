// The model of the time slider: a list of revisions, a position in it, and playback. Pure; no clock of its own.
//
// The position is an index into `entries`, which are {revision, time} with times in milliseconds, oldest first. A live
// model always shows the newest state, and its revision is null.

// The longest pause of the playback, in milliseconds of the log: idle hours are skipped.
const LONGEST_GAP = 2000;
export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16];

export function newPlayback(entries = []) {
  return { entries, position: Math.max(0, entries.length - 1), live: true, playing: false, speed: 1, waited: 0 };
}

// Returns the shown revision; null for the newest state.
export function revisionOf(model) {
  return model.live ? null : (model.entries[model.position]?.revision ?? null);
}

export function timeOf(model) {
  return model.entries[model.live ? model.entries.length - 1 : model.position]?.time ?? null;
}

// Returns the model with newer or older entries. The shown revision stays the same.
export function withEntries(model, entries) {
  const known = new Map(model.entries.map((entry) => [entry.revision, entry]));
  for (const entry of entries) known.set(entry.revision, entry);
  const all = [...known.values()].sort((a, b) => a.revision - b.revision);
  const revision = model.entries[model.position]?.revision;
  const place = model.live ? all.length - 1 : all.findIndex((entry) => entry.revision === revision);
  return { ...model, entries: all, position: Math.max(0, place) };
}

export function goLive(model) {
  return { ...model, live: true, playing: false, waited: 0, position: Math.max(0, model.entries.length - 1) };
}

// Returns the model at an index. Every seek ends the playback.
export function seek(model, position) {
  const last = Math.max(0, model.entries.length - 1);
  return { ...model, live: false, playing: false, waited: 0, position: Math.min(last, Math.max(0, position)) };
}

export function step(model, count) {
  return seek(model, model.position + count);
}

// Returns the model at the last entry that is not newer than a revision.
export function seekRevision(model, revision) {
  return seek(model, lastWhere(model.entries, (entry) => entry.revision <= revision));
}

export function seekTime(model, time) {
  return seek(model, lastWhere(model.entries, (entry) => entry.time <= time));
}

// Starts or pauses the playback. At the end of the log, playback starts from the beginning.
export function toggle(model) {
  if (model.playing) return { ...model, playing: false, waited: 0 };
  if (model.entries.length < 2) return model;
  const atEnd = model.live || model.position >= model.entries.length - 1;
  return { ...model, live: false, playing: true, waited: 0, position: atEnd ? 0 : model.position };
}

export function withSpeed(model, speed) {
  return { ...model, speed };
}

// Returns the model after some milliseconds of playback. The playback pauses at the newest entry.
export function advance(model, milliseconds) {
  if (!model.playing) return model;
  const last = model.entries.length - 1;
  let { position, waited } = model;
  waited += milliseconds * model.speed;
  while (position < last) {
    const gap = Math.min(LONGEST_GAP, model.entries[position + 1].time - model.entries[position].time);
    if (waited < gap) break;
    waited -= gap;
    position += 1;
  }
  return position >= last ? { ...model, position: last, playing: false, waited: 0 } : { ...model, position, waited };
}

// Returns the model after a key, or null for a key without a meaning here.
export function afterKey(model, key) {
  const page = Math.max(1, Math.round(model.entries.length / 10));
  const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page, PageUp: page };
  if (key in moves) return step(model, moves[key]);
  if (key === "Home") return seek(model, 0);
  if (key === "End") return goLive(model);
  return key === " " ? toggle(model) : null;
}

// Returns the number of entries in each of some equal parts of the slider's time, for the marks above the slider.
export function density(entries, parts) {
  const counts = new Array(parts).fill(0);
  if (!entries.length) return counts;
  const first = entries[0].time;
  const span = entries.at(-1).time - first || 1;
  for (const entry of entries) {
    counts[Math.min(parts - 1, Math.floor(((entry.time - first) / span) * parts))] += 1;
  }
  return counts;
}

function lastWhere(entries, holds) {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(entries[middle])) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
