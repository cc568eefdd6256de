/** Requests to the server. Reads honour the selected time; errors are Status objects. */
import { failed, reached } from "./connection.js";
import { loggedOut } from "./session.js";
import { selected } from "./time.js";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
// Larger answers would block the page while they are parsed.
const PAGE = 250;
// The pauses after which a read that did not reach the server is sent again: a browser ends all requests when the
// machine gets a network interface.
const PAUSES = [100, 500];
/** The reason of a request that did not reach the server. */
export const UNREACHABLE = "Unreachable";

/** An error of the server, with its Status. */
export class StatusError extends Error {
  /** @param {{code?: number, reason?: string, message?: string, details?: object}} status */
  constructor(status) {
    super(status.message || `the server answered with the code ${status.code}`);
    this.status = status;
    this.code = status.code ?? 0;
    this.reason = status.reason ?? "";
  }
}

/** Returns the path with a query; the values of a list become repeated parameters, and empty values are left out. */
export function withQuery(path, query = {}) {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== "") made.append(name, String(each));
    }
  }
  const text = made.toString();
  return text ? `${path}${path.includes("?") ? "&" : "?"}${text}` : path;
}

/**
 * Sends a request and returns the Response; throws StatusError, or the error of an aborted request.
 * @param {string} path
 * @param {{method?: string, query?: object, body?: any, type?: string, accept?: string, signal?: AbortSignal, at?: string}} [options]
 *   `at` is the time of a read: by default the selected one, and "live" for answers that have no past.
 */
export async function send(path, { method = "GET", query = {}, body, type = "application/json", accept, signal, at } = {}) {
  const headers = { "Setpoint-Page": "1" };
  if (accept) headers.Accept = accept;
  if (body !== undefined) headers["Content-Type"] = type;
  const time = method === "GET" ? (at ?? selected.peek()) : "live";
  const url = withQuery(path, time === "live" ? query : { ...query, at: time });
  const payload = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const request = { method, headers, body: payload, signal, credentials: "same-origin", cache: "no-store" };
  const response = await reachServer(url, request, method === "GET" ? PAUSES : []);
  if (response.ok) return response;
  throw await errorOf(response);
}

/** Sends a request, and again after each of the pauses if the server was not reached. */
async function reachServer(url, request, pauses) {
  for (const milliseconds of [...pauses, 0]) {
    try {
      const response = await fetch(url, request);
      reached();
      return response;
    } catch (error) {
      if (error.name === "AbortError") throw error;
      failed(error.message);
    }
    if (milliseconds) await new Promise((resolve) => setTimeout(resolve, milliseconds));
  }
  throw unreachable();
}

const unreachable = () => new StatusError({ reason: UNREACHABLE, message: "the server cannot be reached" });

/** @param {Response} response */
async function errorOf(response) {
  let status = {};
  try {
    status = await response.json();
  } catch {
    // Answers of proxies are no Status.
  }
  if (response.status === 401) loggedOut();
  return new StatusError({ message: status.message, reason: status.reason, details: status.details, code: response.status });
}

/** Returns the decoded answer of a read. */
export async function get(path, options = {}) {
  const response = await send(path, options);
  try {
    return await response.json();
  } catch (error) {
    // The connection ended in the middle of the answer.
    throw error instanceof TypeError ? unreachable() : error;
  }
}

export async function create(path, body, options = {}) {
  return (await send(path, { ...options, method: "POST", body })).json();
}

/** Sends a patch; a merge patch by default. */
export async function patch(path, body, options = {}) {
  return (await send(path, { type: "application/merge-patch+json", ...options, method: "PATCH", body })).json();
}

export async function remove(path, options = {}) {
  return (await send(path, { ...options, method: "DELETE" })).json();
}

/**
 * Yields the pages of a list, all of one revision, each small enough to be parsed between two frames.
 * @returns {AsyncGenerator<{items: object[], metadata: object}>}
 */
export async function* pages(path, { query = {}, ...options } = {}) {
  let next = "";
  do {
    const page = await get(path, { ...options, query: { limit: PAGE, ...query, continue: next } });
    yield page;
    next = page.metadata?.continue ?? "";
  } while (next);
}

/** Returns a Table of the server: `columnDefinitions` and `rows`, whose `object` has the metadata. */
export async function table(path, options = {}) {
  let whole = null;
  for await (const page of pages(path, { ...options, accept: TABLE })) {
    if (whole === null) whole = page;
    else whole.rows.push(...page.rows);
    whole.metadata = { ...page.metadata };
  }
  return whole;
}

/** Returns the path of a resource's collection or, with a name, of an object. `group` may be empty, `version` given. */
export function resourcePath({ group = "", version = "v1", resource, namespace = "", name = "", subresource = "" }) {
  const start = group ? `/apis/${group}/${version}` : `/api/${version}`;
  const parts = [namespace && `namespaces/${encodeURIComponent(namespace)}`, resource, name && encodeURIComponent(name), subresource];
  return [start, ...parts.filter(Boolean)].join("/");
}

/** Returns the path of an answer about an object, such as its `why` or `samples`. */
export function aboutPath({ group = "", resource, namespace = "", name }, answer) {
  const place = namespace ? `namespaces/${encodeURIComponent(namespace)}/` : "";
  return `/apis/setpoint.dev/v1/${place}${resource}${group ? `.${group}` : ""}/${encodeURIComponent(name)}/${answer}`;
}
