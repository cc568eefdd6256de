/** Texts for times, durations and sizes. */

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

/** Returns a duration such as "3 min" or "0.4 s". */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 0.001) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 1) return `${(seconds * 1000).toFixed(0)} ms`;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const [size, unit] = UNITS.find(([each]) => seconds >= each);
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** Returns the time since a moment; empty without one. */
export function age(time, now = Date.now()) {
  return time ? duration(Math.max(1, Math.floor((now - Date.parse(time)) / 1000))) : "";
}

/** Returns the local time of day with milliseconds. */
export function clock(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time ?? "");
  const two = (number) => String(number).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

export function moment(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "" : `${date.toLocaleDateString("sv")} ${clock(time)}`;
}

/** Returns a number of bytes such as "12.5 MiB". */
export function bytes(count) {
  let value = count;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (Math.abs(value) < 1024) return `${Number(value.toFixed(value < 10 && unit !== "B" ? 1 : 0))} ${unit}`;
    value /= 1024;
  }
  return `${Number(value.toFixed(1))} TiB`;
}
