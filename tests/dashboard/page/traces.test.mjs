import assert from "node:assert/strict";
import { mock, test } from "node:test";

// Modules of the page look at its address when they are loaded.
globalThis.location ??= { hash: "", href: "http://localhost/", origin: "http://localhost" };
globalThis.addEventListener ??= () => {};
const PAGE = "../../../src/setpoint/dashboard/page";
const { mayNameTrace, traceIdsIn } = await import(`${PAGE}/logs/trace_ids.js`);
const { KnownTraces, MOST_IDS, MOST_REMEMBERED } = await import(`${PAGE}/logs/known_traces.js`);
const { LineRange } = await import(`${PAGE}/logs/line_range.js`);
const { partsOf, rangeOf } = await import(`${PAGE}/telemetry/line_search.js`);

const ID = "0af7651916cd43dd8448eb211c80319c";
const OTHER = "b7ad6b7169203331b7ad6b7169203331";
const numbered = (number) => number.toString(16).padStart(32, "0");

test("words, traceparents and fields name traces", () => {
  assert.deepEqual(traceIdsIn({ line: `served ${ID} in 3 ms` }), [ID]);
  assert.deepEqual(traceIdsIn({ line: `traceparent: 00-${ID}-b7ad6b7169203331-01` }), [ID]);
  assert.deepEqual(traceIdsIn({ line: `{"x":"${OTHER}","trace_id":"${ID}"}`, fields: { x: OTHER, trace_id: ID } }), [ID, OTHER]);
  for (const name of ["trace_id", "traceId", "otelTraceID", "TraceId"]) {
    const line = JSON.stringify({ [name]: ID.toUpperCase() });
    assert.deepEqual(traceIdsIn({ line, fields: { [name]: ID.toUpperCase() } }), [ID]);
    assert.ok(mayNameTrace({ line }));
  }
});

test("parts of longer words, upper case in texts and zeros name no trace", () => {
  for (const text of [`${ID}0`, `x${ID}`, `_${ID}`, ID.toUpperCase(), "0".repeat(32), ID.slice(1), ""]) {
    assert.deepEqual(traceIdsIn({ line: `a ${text} b` }), [], text);
  }
  assert.deepEqual(traceIdsIn({ line: "a", fields: { trace_id: 7, traceId: "no" } }), []);
  assert.equal(mayNameTrace({ line: ID.slice(1) }), false);
});

test("a line with many IDs names four", () => {
  const ids = Array.from({ length: 9 }, (_, place) => numbered(place + 1));
  assert.deepEqual(traceIdsIn({ line: ids.join(" ") }), ids.slice(0, 4));
});

/** Runs a test with timers of its own; `pass` lets time go by. */
function timed(name, body) {
  test(name, async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const pass = async (milliseconds) => {
      mock.timers.tick(milliseconds);
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    };
    try {
      await body(pass);
    } finally {
      mock.timers.reset();
    }
  });
}

timed("IDs of many lines are looked up by one request, each once", async (pass) => {
  const requests = [];
  const known = new KnownTraces(async (ids) => (requests.push(ids), ids.includes(ID) ? [{ traceId: ID, name: "GET /" }] : []));
  known.want([ID]);
  known.want([OTHER, ID]);
  assert.equal(known.firstOf([ID]), null);
  await pass(150);
  known.want([ID, OTHER]);
  await pass(150);
  assert.deepEqual(requests, [[ID, OTHER]]);
  assert.deepEqual(known.firstOf([OTHER, ID]), { id: ID, name: "GET /" });
  assert.equal(known.firstOf([OTHER]), null);
});

timed("a request has a bounded number of IDs", async (pass) => {
  const requests = [];
  const known = new KnownTraces(async (ids) => (requests.push(ids.length), []));
  known.want(Array.from({ length: MOST_IDS + 5 }, (_, place) => numbered(place + 1)));
  await pass(150);
  await pass(150);
  assert.deepEqual(requests, [MOST_IDS, 5]);
});

timed("an unknown ID is looked up again a few times, and then no more", async (pass) => {
  let isThere = false;
  let count = 0;
  const known = new KnownTraces(async (ids) => ((count += 1), isThere ? ids.map((traceId) => ({ traceId, name: "late" })) : []));
  known.want([ID]);
  await pass(150);
  isThere = true;
  await pass(4000);
  await pass(150);
  assert.deepEqual([count, known.firstOf([ID])?.name], [2, "late"]);
  isThere = false;
  known.want([OTHER]);
  for (let minute = 0; minute < 60; minute += 1) {
    await pass(60_000);
    await pass(150);
  }
  assert.equal(count, 2 + 4);
});

timed("a refusal ends all lookups without an error", async (pass) => {
  let count = 0;
  const known = new KnownTraces(async () => {
    count += 1;
    throw Object.assign(new Error("forbidden"), { code: 403 });
  });
  known.want([ID]);
  await pass(150);
  known.want([OTHER]);
  await pass(100_000);
  assert.deepEqual([count, known.firstOf([ID, OTHER])], [1, null]);
});

timed("after a lost connection the IDs are looked up again", async (pass) => {
  let count = 0;
  const known = new KnownTraces(async (ids) => {
    count += 1;
    if (count === 1) throw Object.assign(new Error("lost"), { code: 0 });
    return ids.map((traceId) => ({ traceId, name: "found" }));
  });
  known.want([ID]);
  await pass(150);
  await pass(4000);
  await pass(150);
  assert.equal(known.firstOf([ID])?.name, "found");
});

timed("the number of remembered IDs is bounded", async (pass) => {
  const known = new KnownTraces(async (ids) => ids.map((traceId) => ({ traceId, name: "" })));
  known.want(Array.from({ length: MOST_REMEMBERED + 250 }, (_, place) => numbered(place + 1)));
  for (let request = 0; request < 60; request += 1) await pass(150);
  assert.equal(known.names.size, MOST_REMEMBERED);
  assert.equal(known.tries.size, 0);
});

test("the search for lines has the time of the trace with a margin, at most an hour", () => {
  const span = (start, end, service = "api") => ({ start: `2026-01-01T${start}Z`, end: `2026-01-01T${end}Z`, service });
  assert.deepEqual(rangeOf([span("10:00:02.5", "10:00:04"), span("10:00:00", "10:00:10.25")]), {
    from: "2026-01-01T09:59:55.000Z",
    until: "2026-01-01T10:00:40.250Z",
  });
  assert.equal(rangeOf([span("10:00:00", "23:00:00")]).until, "2026-01-01T11:00:30.000Z");
  assert.deepEqual(partsOf([span("10:00:00", "10:00:00", "web"), span("10:00:00", "10:00:00", "a b"), span("10:00:00", "10:00:00"), {}]), ["api", "web"]);
});

test("a range of lines is one read of all processes", async () => {
  const reads = [];
  const line = { time: "2026-01-01T10:00:00.000Z", name: "api-1", source: "stdout", attempt: 1, level: "", message: "x", line: ID };
  globalThis.fetch = async (url) => (reads.push(new URL(url, "http://localhost")), new Response(`${JSON.stringify(line)}\n${JSON.stringify(line)}\n`));
  const targets = [{ resource: "executables", name: "api-1" }, { resource: "containers", name: "db" }];
  const range = new LineRange(targets, { grep: ID, from: "2026-01-01T09:00:00.000Z", until: "2026-01-01T11:00:00.000Z", limit: 2 });
  while (range.isBusy.peek()) await new Promise((resolve) => setTimeout(resolve));
  assert.equal(reads.length, 1);
  assert.match(reads[0].pathname, /executables\/api-1\/log$/);
  const { grep, since_time, until, limit, ...others } = Object.fromEntries(reads[0].searchParams);
  assert.deepEqual([grep, since_time, until, limit], [ID, "2026-01-01T09:00:00.000Z", "2026-01-01T11:00:00.000Z", "2"]);
  assert.equal(others.with, "containers/db");
  assert.equal(new Set(range.shown.peek().lines.map((each) => each.key)).size, 2);
  assert.equal(range.isCut, true);
});
