// The lines of the chart of a metric. Pure.

import { increaseRateOf, rateOf } from "./chart.js";

const QUANTILES = ["p50", "p90", "p99"];

// A sum that only grows is shown as its rate.
export const isCounter = (item) => item.type === "sum" && item.monotonic !== false;

// Returns {name, points} of each line: a histogram has one for each quantile, a counter shows its rate per second.
// Points are [milliseconds, value], in the order of time.
export function seriesOf(series, item) {
  const hasServices = new Set(series.map((each) => each.service)).size > 1;
  const hasInstances = new Set(series.map((each) => each.instance)).size > 1;
  return series.flatMap((each) => {
    const attributes = Object.entries(each.attributes ?? {}).map(([key, value]) => `${key}=${value}`);
    const name = [hasServices && each.service, hasInstances && each.instance, ...attributes].filter(Boolean).join(" ");
    if (item.type === "histogram" || item.type === "summary") return quantilesOf(each.points, name);
    if (!isCounter(item)) return [{ name: name || item.name, points: each.points }];
    const rate = item.temporality === "Delta" ? increaseRateOf : rateOf;
    return [{ name: name || item.name, points: rate(each.points) }];
  });
}

function quantilesOf(points, name) {
  const known = QUANTILES.filter((quantile) => points.some(([, value]) => Number.isFinite(value?.[quantile])));
  return known.map((quantile) => ({
    name: [quantile, name].filter(Boolean).join(" "),
    points: points.map(([time, value]) => [time, value?.[quantile] ?? NaN]),
  }));
}
