import assert from "node:assert/strict";
import { test } from "node:test";

// Modules of the page look at its address when they are loaded.
globalThis.location ??= { hash: "", href: "http://localhost/", origin: "http://localhost" };
globalThis.addEventListener ??= () => {};
const { LogWindow, MOST_LINES } = await import("../../../src/setpoint/dashboard/page/logs/log_window.js");

const START = Date.parse("2026-01-01T00:00:00Z");
const END = new Date(START + 3_600_000).toISOString();
const TARGETS = [{ resource: "executables", name: "api" }];

/** Returns lines with their number in the log, so many in each millisecond. */
function lines(counts, textOf = (number) => `line ${number}`) {
  const times = counts.flatMap((count, place) => Array(count).fill(new Date(START + place).toISOString()));
  return times.map((time, number) => ({ time, name: "api", source: "stdout", attempt: 1, line: textOf(number), message: textOf(number) }));
}

/** The server refuses to return more lines from the end of a log. */
function refusal(query) {
  if (Number(query.get("tail") ?? 0) <= 10_000) return null;
  return new Response(JSON.stringify({ kind: "Status", code: 400, message: "tail: must be at most 10000" }), { status: 400 });
}

/** Answers reads as the server does: `until` excludes its moment, `since_time` includes its own. */
function serve(log) {
  const reads = [];
  globalThis.fetch = async (url) => {
    const query = new URL(url, "http://localhost").searchParams;
    reads.push(Object.fromEntries(query));
    const refused = refusal(query);
    if (refused) return refused;
    let found = log.filter((line) => line.line.includes(query.get("grep") ?? ""));
    if (query.get("until")) found = found.filter((line) => line.time < query.get("until"));
    if (query.get("since_time")) found = found.filter((line) => line.time >= query.get("since_time"));
    if (query.get("limit")) found = found.slice(0, Number(query.get("limit")));
    if (query.get("tail")) found = found.slice(-Number(query.get("tail")));
    return new Response(found.map((line) => JSON.stringify(line)).join("\n"));
  };
  return reads;
}

async function opened(filter = {}) {
  const log = new LogWindow(TARGETS, { until: END, ...filter });
  while (log.isBusy.peek()) await new Promise((resolve) => setTimeout(resolve));
  assert.equal(log.error.peek(), null);
  return log;
}

const texts = (log) => log.lines.map((line) => line.line);

/** Reads a whole log backwards and forwards. Each window must be a part of the log without gaps. */
async function walk(log, all, largest) {
  const check = () => {
    const first = all.indexOf(texts(log)[0]);
    assert.deepEqual(texts(log), all.slice(first, first + log.lines.length));
    assert.ok(log.lines.length <= MOST_LINES + largest, `${log.lines.length} lines in memory`);
    return first;
  };
  let first = check();
  while (log.hasOlder) {
    await log.older();
    assert.equal(log.error.peek(), null);
    const earlier = check();
    assert.ok(earlier < first || !log.hasOlder, "each read makes progress");
    first = earlier;
  }
  assert.equal(texts(log)[0], all[0]);
  while (!log.isAtEnd) {
    await log.newer();
    check();
  }
  assert.equal(texts(log).at(-1), all.at(-1));
  log.close();
}

for (const counts of [Array(3000).fill(1), Array(40).fill(500), [10_938, 8_262, 800], [20_000], [1, 20_000, 1], [5]]) {
  test(`a log of ${counts.length} moments with ${counts[0]} lines in the first is read without gaps`, async () => {
    const log = lines(counts);
    serve(log);
    await walk(await opened(), log.map((line) => line.line), Math.max(...counts));
  });
}

test("a line before the window is shown although its moment has lines in the window", async () => {
  // As a stack trace that the window cuts.
  const log = lines([10, 30, ...Array(790).fill(1)]);
  serve(log);
  const window = await opened();
  assert.equal(window.lines[0].line, "line 40", "the moment that the read cuts is left to the next one");
  await window.older();
  assert.deepEqual(texts(window), log.map((line) => line.line));
  assert.equal(window.hasOlder, false);
  window.close();
});

test("equal lines of one moment are as many as in the log", async () => {
  const log = lines([3000], (number) => "ab"[number % 2]);
  serve(log);
  const window = await opened();
  while (window.hasOlder && !window.error.peek()) await window.older();
  assert.equal(window.error.peek(), null);
  assert.deepEqual(texts(window), log.map((line) => line.line));
  window.close();
});

test("of a moment with more lines than one read, a part is shown, and the lines before it", async () => {
  const log = lines([10, 150_000, 10]);
  serve(log);
  const window = await opened();
  const seen = [];
  while (window.hasOlder) {
    await window.older();
    assert.equal(window.error.peek(), null);
    seen.push(window.lines[0].line);
  }
  assert.deepEqual(seen, ["line 10", "line 0"]);
  window.close();
});

test("lines that follow drop whole moments", async () => {
  const log = lines(Array(70).fill(100));
  serve([]);
  const window = await opened();
  window.append(log.slice(0, 50));
  window.changed();
  while (!window.shown.peek().lines.length) await new Promise((resolve) => setTimeout(resolve));
  for (const line of log.slice(50)) window.append([line]);
  assert.deepEqual(window.shown.peek().lines, log.slice(0, 50), "what is shown changes as a whole");
  const all = log.map((line) => line.line);
  assert.deepEqual(texts(window), all.slice(-texts(window).length));
  assert.ok(window.lines.length <= MOST_LINES + 600);
  assert.equal(window.lines[0].line, "line 600");
  assert.equal(window.hasOlder, true);
  window.close();
});

test("logs of several processes are read without gaps", async () => {
  const names = ["api-0", "api-1"];
  const log = lines(Array(600).fill(7)).map((line, number) => ({ ...line, name: names[number % 2] }));
  globalThis.fetch = perLog(log, names);
  const window = new LogWindow(names.map((name) => ({ resource: "executables", name })), { until: END });
  while (window.isBusy.peek()) await new Promise((resolve) => setTimeout(resolve));
  while (window.hasOlder && !window.error.peek()) await window.older();
  assert.equal(window.error.peek(), null);
  assert.deepEqual(texts(window), log.map((line) => line.line));
  window.close();
});

/** Answers with the last lines of each log, as the server does. */
function perLog(log, names) {
  return async (url) => {
    const query = new URL(url, "http://localhost").searchParams;
    const refused = refusal(query);
    if (refused) return refused;
    const tail = Number(query.get("tail"));
    const kept = new Set(names.flatMap((name) => log.filter((line) => line.name === name && line.time < query.get("until")).slice(-tail)));
    return new Response(log.filter((line) => kept.has(line)).map((line) => JSON.stringify(line)).join("\n"));
  };
}

test("a search goes on before the moment of its first line", async () => {
  const log = lines([5, 2000, ...Array(2000).fill(1)], (number) => `${number % 2 ? "even" : "odd"} ${number}`);
  const reads = serve(log);
  await walk(await opened({ grep: "odd" }), log.filter((line) => line.line.includes("odd")).map((line) => line.line), 1000);
  assert.ok(reads.some((read) => read.since_time), "a search begins with a short span");
});

test("few lines of a log cost few reads", async () => {
  const reads = serve(lines(Array(5000).fill(1)));
  const window = await opened();
  await window.older();
  assert.equal(reads.length, 2);
  assert.ok(reads.every((read) => Number(read.tail) <= 800));
  window.close();
});
