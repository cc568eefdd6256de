// The layout of a chart of lines: scales, axes and the path of each series. Pure.

import { linear, ticks, timeTicks } from "./scales.js";

// A pause of more than this number of usual distances between points interrupts a line.
const GAP = 5;

// Returns {paths, yTicks, xTicks, left, right, top, bottom, atX}. Points are [milliseconds, number], in the order of time.
export function chartOf(series, { width = 600, height = 180, left = 56, right = 8, top = 8, bottom = 22, zero = true } = {}) {
  const points = series.flatMap((each) => each.points).filter(([, value]) => Number.isFinite(value));
  const frame = { left, right: width - right, top, bottom: height - bottom, width, height };
  if (!points.length) return { ...frame, paths: series.map(() => ""), xTicks: [], yTicks: [], x: linear([0, 1], [0, 1]), y: linear([0, 1], [0, 1]) };
  const [firstTime, lastTime] = range(points, 0);
  let [low, high] = range(points, 1);
  if (zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (low === high) high = low + 1;
  const values = ticks(low, high);
  const x = linear([firstTime, lastTime], [frame.left, frame.right]);
  const y = linear([values[0], values.at(-1)], [frame.bottom, frame.top]);
  const columns = Math.max(1, frame.right - frame.left);
  return {
    ...frame,
    x,
    y,
    firstTime,
    lastTime,
    yTicks: values.map((value) => ({ value, y: y(value) })),
    xTicks: timeTicks(firstTime, lastTime, Math.max(1, Math.floor(columns / 90))).map((time) => ({ time, x: x(time) })),
    paths: series.map((each) => pathOf(thinned(each.points, firstTime, lastTime, columns), x, y)),
  };
}

// Returns at most four points for each column of pixels: the first, the least, the greatest and the last.
export function thinned(points, first, last, columns) {
  if (points.length <= 4 * columns) return points;
  const found = [];
  const span = last - first || 1;
  let bucket = [];
  let column = -1;
  const finish = () => {
    if (!bucket.length) return;
    const least = bucket.reduce((a, b) => (b[1] < a[1] ? b : a));
    const most = bucket.reduce((a, b) => (b[1] > a[1] ? b : a));
    found.push(...new Set([bucket[0], ...[least, most].sort((a, b) => a[0] - b[0]), bucket.at(-1)]));
  };
  for (const point of points) {
    const own = Math.floor(((point[0] - first) / span) * columns);
    if (own !== column) {
      finish();
      bucket = [];
      column = own;
    }
    bucket.push(point);
  }
  finish();
  return found;
}

// Returns the point of a series that is nearest to a time; null for an empty series.
export function nearest(points, time) {
  let low = 0;
  let high = points.length - 1;
  if (high < 0) return null;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= time) low = middle;
    else high = middle;
  }
  return Math.abs(points[low][0] - time) <= Math.abs(points[high][0] - time) ? points[low] : points[high];
}

// Returns the increase per second between points of a counter. A smaller value is a restart of the counter.
export function rateOf(points) {
  const found = [];
  for (let place = 1; place < points.length; place += 1) {
    const [time, value] = points[place];
    const [before, old] = points[place - 1];
    if (time > before) found.push([time, (value >= old ? value - old : value) / ((time - before) / 1000)]);
  }
  return found;
}

// Returns the rate per second of increases, each of which was counted since the previous point.
export function increaseRateOf(points) {
  return points.slice(1).flatMap(([time, value], place) => {
    const before = points[place][0];
    return time > before ? [[time, value / ((time - before) / 1000)]] : [];
  });
}

function range(points, place) {
  let [low, high] = [Infinity, -Infinity];
  for (const point of points) {
    if (point[place] < low) low = point[place];
    if (point[place] > high) high = point[place];
  }
  return [low, high];
}

function pathOf(points, x, y) {
  const usual = usualDistance(points);
  let path = "";
  let before = null;
  for (const [time, value] of points) {
    if (!Number.isFinite(value)) {
      before = null;
      continue;
    }
    const starts = before === null || (usual > 0 && time - before > GAP * usual);
    path += `${starts ? "M" : "L"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
    before = time;
  }
  return path;
}

function usualDistance(points) {
  const distances = points.slice(1).map((point, place) => point[0] - points[place][0]).sort((a, b) => a - b);
  return distances[distances.length >> 1] ?? 0;
}
