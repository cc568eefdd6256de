// The services and the times in which the lines of a trace are searched. Pure.

// Lines are written before the first span has begun, and after the last has ended.
const BEFORE_MILLISECONDS = 5000;
const AFTER_MILLISECONDS = 30_000;
// The server reads every line of the range.
const LONGEST_MILLISECONDS = 3_600_000;
const MOST_PARTS = 50;
// The values of labels; a service with another name is no part of the app.
const LABEL = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** Returns the services of spans that may be parts of the app. */
export function partsOf(spans) {
  const names = new Set(spans.map((span) => span.service).filter((name) => LABEL.test(name ?? "")));
  return [...names].sort().slice(0, MOST_PARTS);
}

/** Returns the time of spans with a margin, at most an hour. */
export function rangeOf(spans) {
  const starts = spans.map((span) => Date.parse(span.start));
  const ends = spans.map((span) => Date.parse(span.end));
  const first = starts.reduce((least, each) => Math.min(least, each), Infinity);
  const last = ends.reduce((most, each) => Math.max(most, each), first);
  const until = Math.min(last, first + LONGEST_MILLISECONDS) + AFTER_MILLISECONDS;
  return { from: new Date(first - BEFORE_MILLISECONDS).toISOString(), until: new Date(until).toISOString() };
}
