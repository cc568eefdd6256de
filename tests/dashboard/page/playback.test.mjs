import assert from "node:assert/strict";
import { test } from "node:test";

import {
  advance, afterKey, density, goLive, newPlayback, revisionOf, seekRevision, seekTime, timeOf, toggle, withEntries, withSpeed,
} from "../../../src/setpoint/dashboard/page/past/playback.js";

const ENTRIES = [10, 20, 30, 40].map((revision, place) => ({ revision, time: place * 1000 }));

test("a new model is live and shows the newest state", () => {
  const model = newPlayback(ENTRIES);
  assert.equal(revisionOf(model), null);
  assert.equal(timeOf(model), 3000);
});

test("keys move by one revision, by pages and to the ends", () => {
  const model = newPlayback(ENTRIES);
  assert.equal(revisionOf(afterKey(model, "ArrowLeft")), 30);
  assert.equal(revisionOf(afterKey(model, "Home")), 10);
  assert.equal(revisionOf(afterKey(afterKey(model, "Home"), "ArrowLeft")), 10);
  assert.equal(revisionOf(afterKey(afterKey(model, "Home"), "PageUp")), 20);
  assert.equal(afterKey(afterKey(model, "Home"), "End").live, true);
  assert.equal(afterKey(model, "x"), null);
});

test("a revision or a time between entries is the entry before", () => {
  assert.equal(revisionOf(seekRevision(newPlayback(ENTRIES), 25)), 20);
  assert.equal(revisionOf(seekTime(newPlayback(ENTRIES), 2999)), 30);
  assert.equal(revisionOf(seekTime(newPlayback(ENTRIES), -5)), 10);
});

test("playback begins at the first revision, keeps the distances and pauses at the end", () => {
  let model = toggle(newPlayback(ENTRIES));
  assert.equal(revisionOf(model), 10);
  model = advance(model, 999);
  assert.equal(revisionOf(model), 10);
  model = advance(model, 1);
  assert.equal(revisionOf(model), 20);
  model = advance(model, 5000);
  assert.equal(revisionOf(model), 40);
  assert.equal(model.playing, false);
  assert.equal(model.live, false);
});

test("the speed multiplies the time, and idle hours are skipped", () => {
  const idle = [{ revision: 1, time: 0 }, { revision: 2, time: 3600000 }, { revision: 3, time: 3600001 }];
  const model = withSpeed(toggle(newPlayback(idle)), 2);
  assert.equal(revisionOf(advance(model, 999)), 1);
  assert.equal(revisionOf(advance(model, 1000)), 2);
});

test("a pause keeps the position, and a second toggle continues", () => {
  const model = toggle(advance(toggle(newPlayback(ENTRIES)), 1000));
  assert.equal(model.playing, false);
  assert.equal(revisionOf(advance(model, 9000)), 20);
  assert.equal(revisionOf(toggle(model)), 20);
});

test("entries that arrive leave the shown revision, and a live model follows", () => {
  const later = [{ revision: 5, time: -1000 }, { revision: 50, time: 9000 }, { revision: 40, time: 3000 }];
  const model = withEntries(seekRevision(newPlayback(ENTRIES), 20), later);
  assert.equal(revisionOf(model), 20);
  assert.equal(model.entries.length, 6);
  assert.equal(timeOf(withEntries(newPlayback(ENTRIES), later)), 9000);
  assert.equal(goLive(model).position, 5);
});

test("one entry or none cannot be played", () => {
  assert.equal(toggle(newPlayback([])).playing, false);
  assert.equal(toggle(newPlayback(ENTRIES.slice(0, 1))).playing, false);
  assert.equal(revisionOf(afterKey(newPlayback([]), "Home")), null);
});

test("the marks count every entry once", () => {
  assert.deepEqual(density(ENTRIES, 2), [2, 2]);
  assert.deepEqual(density(ENTRIES.slice(0, 1), 3), [1, 0, 0]);
  assert.deepEqual(density([], 2), [0, 0]);
});
