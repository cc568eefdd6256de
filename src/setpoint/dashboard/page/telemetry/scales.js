// Scales of charts: round steps for values and for times. Pure.

const SECOND = 1000;
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400].map(
  (seconds) => seconds * SECOND,
);

// Returns a function from a value to a place.
export function linear([low, high], [from, to]) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

// Returns round values that cover a range: 1, 2 or 5 times a power of ten apart.
export function ticks(low, high, count = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
  const found = [];
  const first = Math.floor(low / step + 1e-9);
  for (let place = first; ; place += 1) {
    found.push(Number((place * step).toPrecision(12)));
    if (place * step >= high - step * 1e-9) return found;
  }
}

// Returns full seconds, minutes, hours or days within a range of milliseconds.
export function timeTicks(low, high, count = 5) {
  if (!(high > low)) return [low];
  const step = TIME_STEPS.find((each) => (high - low) / each <= count) ?? Math.ceil((high - low) / count / 86400000) * 86400000;
  const found = [];
  for (let time = Math.ceil(low / step) * step; time <= high; time += step) found.push(time);
  return found;
}

// Returns a value with a unit in at most four digits: 1.5k, 12 MiB, 250 ms.
export function valueText(value, unit = "") {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (["By", "bytes", "byte"].includes(unit)) return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"], " ");
  if (["s", "seconds"].includes(unit)) return secondsText(value);
  if (unit === "ms") return secondsText(value / 1000);
  const text = scaled(value, 1000, ["", "k", "M", "G", "T"], "");
  return unit && unit !== "1" ? `${text} ${unit.replace(/[{}]/g, "")}` : text;
}

function secondsText(value) {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 0.001) return `${round(value * 1e6)} µs`;
  if (size < 1) return `${round(value * 1000)} ms`;
  return size < 120 ? `${round(value)} s` : `${round(value / 60)} min`;
}

function scaled(value, base, units, gap) {
  let size = value;
  let place = 0;
  while (Math.abs(size) >= base && place < units.length - 1) {
    size /= base;
    place += 1;
  }
  return `${round(size)}${units[place] ? gap + units[place] : ""}`;
}

function round(value) {
  return String(Number(value.toPrecision(3)));
}
