/** The address of the page: a path and query parameters after `#`, so that a link opens the same view again. */
import { computed, signal } from "./view.js";

// Parameters that every link of the page carries on: the selected time.
const KEPT = ["at"];

/**
 * @typedef {{path: string, parts: string[], query: Record<string, string>}} Route
 * @param {string} hash
 * @returns {Route}
 */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { path: `/${path.split("/").filter(Boolean).join("/")}`, parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = signal(parse(location.hash));
/** The value of a parameter, as a signal: changes of other parameters cause no rendering. */
export const parameter = (name) => computed(() => route.value.query[name] ?? "");

addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

/** Returns the hash of parts of a path, which are encoded, and of a query; empty values are left out. */
export function hashOf(parts, query = {}) {
  const path = parts.map((part) => encodeURIComponent(part)).join("/");
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

/** Returns the `href` of a link. The selected time is kept, unless the query names another. */
export function href(parts, query = {}) {
  const kept = Object.fromEntries(KEPT.map((name) => [name, route.value.query[name]]));
  return hashOf(parts, { ...kept, ...query });
}

/** Opens another view. */
export function go(parts, query = {}) {
  location.hash = href(parts, query);
}

/** Changes parameters of the current view; an empty value removes one. With `replace`, adds no entry to the history. */
export function change(query, { replace = false } = {}) {
  const made = hashOf(route.value.parts, { ...route.value.query, ...query });
  if (made === location.hash) return;
  if (replace) {
    history.replaceState(null, "", made);
    route.value = parse(made);
  } else {
    location.hash = made;
  }
}
