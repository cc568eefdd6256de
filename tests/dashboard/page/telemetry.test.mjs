import assert from "node:assert/strict";
import { test } from "node:test";

import { chartOf, nearest, rateOf, thinned } from "../../../src/setpoint/dashboard/page/telemetry/chart.js";
import { levelOf, matches, merged, recordView, withField } from "../../../src/setpoint/dashboard/page/telemetry/log_records.js";
import { seriesOf } from "../../../src/setpoint/dashboard/page/telemetry/metric_series.js";
import { ticks, timeTicks, valueText } from "../../../src/setpoint/dashboard/page/telemetry/scales.js";
import { durationText, nanoseconds, waterfallOf } from "../../../src/setpoint/dashboard/page/telemetry/waterfall.js";

const span = (spanId, parentSpanId, start, end, status = "Ok") => ({ spanId, parentSpanId, start, end, status, service: "web", name: spanId });
const TRACE = [span("b", "a", 60, 100, "Error"), span("a", "", 0, 100), span("c", "a", 10, 50), span("d", "c", 20, 30), span("e", "lost", 40, 45)];

test("spans are rows below their parents, in the order of time", () => {
  const { rows, nanoseconds: whole } = waterfallOf(TRACE);
  assert.deepEqual(rows.map((row) => [row.span.spanId, row.depth, row.below]), [["a", 0, 2], ["c", 1, 1], ["d", 2, 0], ["b", 1, 0], ["e", 0, 0]]);
  assert.equal(whole, 100);
  assert.deepEqual([rows[1].left, rows[1].width], [0.1, 0.4]);
});

test("the path leads through the spans that ended last", () => {
  const { rows } = waterfallOf(TRACE);
  assert.deepEqual(rows.filter((row) => row.path).map((row) => row.span.spanId), ["a", "b"]);
  assert.deepEqual(rows.filter((row) => row.error).map((row) => row.span.spanId), ["b"]);
});

test("a collapsed span hides the spans below", () => {
  const { rows } = waterfallOf(TRACE, new Set(["c"]));
  assert.deepEqual(rows.map((row) => row.span.spanId), ["a", "c", "b", "e"]);
  assert.equal(rows[1].open, false);
});

test("spans that are each other's parents are shown", () => {
  const { rows } = waterfallOf([span("x", "y", 0, 1), span("y", "x", 0, 1), span("z", "y", 0, 1), span("s", "s", 0, 1)]);
  assert.equal(rows.length, 4);
  assert.deepEqual(waterfallOf([]).rows, []);
});

test("times keep their nanoseconds", () => {
  assert.equal(nanoseconds("2026-01-31T12:00:00.123456789Z") - nanoseconds("2026-01-31T12:00:00Z"), 123456789n);
  assert.equal(nanoseconds("1790000000000000001"), 1790000000000000001n);
  const long = waterfallOf([span("a", "", "1790000000000000001", "1790000000000000003")]);
  assert.equal(long.nanoseconds, 2);
});

test("durations have three digits", () => {
  assert.deepEqual([850, 12345, 4560000, 999999, 1.2e9, 125e9].map(durationText), ["850 ns", "12.3 µs", "4.56 ms", "1.00 ms", "1.20 s", "2 min 5 s"]);
});

test("ticks are round and cover the range", () => {
  assert.deepEqual(ticks(0, 97), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(0, 0.3), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(ticks(-5, 5), [-6, -4, -2, 0, 2, 4, 6]);
  assert.deepEqual(ticks(3, 3), [3]);
  assert.deepEqual(timeTicks(500, 61000, 5), [15000, 30000, 45000, 60000]);
});

test("values have units", () => {
  assert.deepEqual([valueText(1536, "By"), valueText(0.25, "s"), valueText(12, "ms"), valueText(15300), valueText(3, "{request}"), valueText(0, "s")], ["1.5 KiB", "250 ms", "12 ms", "15.3k", "3 request", "0 s"]);
});

test("a chart has a path for each series, within the frame", () => {
  const chart = chartOf([{ points: [[0, 1], [1000, 3], [2000, 2]] }, { points: [] }], { width: 200, height: 100 });
  assert.equal(chart.paths[1], "");
  const numbers = chart.paths[0].match(/[\d.]+ [\d.]+/g).map((pair) => pair.split(" ").map(Number));
  assert.equal(numbers.length, 3);
  for (const [x, y] of numbers) assert.ok(x >= chart.left && x <= chart.right && y >= chart.top && y <= chart.bottom);
});

test("a pause in the points interrupts the line, and no point is drawn for a missing value", () => {
  const points = [[0, 1], [10, 1], [20, 1], [30, 1], [900, 1], [910, NaN], [920, 1]];
  assert.equal(chartOf([{ points }]).paths[0].match(/M/g).length, 3);
});

test("a chart without points has no ticks", () => {
  assert.deepEqual(chartOf([{ points: [] }]).yTicks, []);
});

test("a hundred thousand points become at most four for each pixel, with the extremes", () => {
  const points = Array.from({ length: 100000 }, (_, place) => [place, place === 54321 ? 999 : place % 7]);
  const found = thinned(points, 0, 99999, 500);
  assert.ok(found.length <= 2004, `${found.length}`);
  assert.ok(found.some(([, value]) => value === 999));
  assert.deepEqual([found[0], found.at(-1)], [points[0], points.at(-1)]);
});

test("the nearest point is found, and the rate of a counter survives a restart", () => {
  const points = [[0, 0], [1000, 10], [2000, 30], [3000, 5]];
  assert.deepEqual(nearest(points, 1400), [1000, 10]);
  assert.deepEqual(nearest(points, 9999), [3000, 5]);
  assert.equal(nearest([], 1), null);
  assert.deepEqual(rateOf(points), [[1000, 10], [2000, 20], [3000, 5]]);
});

test("histograms have a line for each quantile, and counters show their rate", () => {
  const lines = (item, points) => seriesOf([{ attributes: { a: "b" }, service: "s", points }], item);
  const histogram = lines({ type: "histogram" }, [[0, { p50: null, p99: null }], [1000, { p50: 1, p99: 2 }]]);
  assert.deepEqual(histogram.map((line) => line.name), ["p50 a=b", "p99 a=b"]);
  assert.ok(Number.isNaN(histogram[0].points[0][1]));
  const points = [[0, 10], [2000, 30]];
  assert.deepEqual(lines({ type: "sum", monotonic: true }, points)[0].points, [[2000, 10]]);
  assert.deepEqual(lines({ type: "sum", monotonic: true, temporality: "Delta" }, points)[0].points, [[2000, 15]]);
  assert.deepEqual(lines({ type: "sum", monotonic: false }, points)[0].points, points);
});

test("series of several services are told apart", () => {
  const found = seriesOf([{ service: "a", points: [] }, { service: "b", points: [] }], { name: "m", type: "gauge" });
  assert.deepEqual(found.map((line) => line.name), ["a", "b"]);
});

test("levels are known by name and by number", () => {
  assert.deepEqual(["Warning", "error", "INFO2", 17, 10, "", undefined, "critical"].map(levelOf), ["WARN", "ERROR", "INFO", "ERROR", "INFO", "", "", "FATAL"]);
});

test("fields of a record have dotted names, and structured bodies a message", () => {
  const view = recordView({ severity: "INFO", body: { msg: "hi", user: { id: 7 } }, attributes: { tags: ["a"], empty: null } });
  assert.equal(view.message, "hi");
  assert.deepEqual(view.fields, [["msg", "hi"], ["user.id", "7"], ["tags", '["a"]'], ["empty", "null"]]);
});

test("a field is a filter, and a second click removes the filter", () => {
  const filters = withField([], "user.id", "7");
  const view = recordView({ body: "", attributes: { user: { id: 7 } } });
  assert.ok(matches(view, filters));
  assert.ok(!matches(view, withField(filters, "other", "1")));
  assert.deepEqual(withField(filters, "user.id", "7"), []);
});

test("records are newest first, each once, and bounded", () => {
  const record = (time) => ({ time, service: "a", body: time });
  assert.deepEqual(merged([record("2"), record("1")], [record("3"), record("2")], 2).map((each) => each.time), ["3", "2"]);
});
