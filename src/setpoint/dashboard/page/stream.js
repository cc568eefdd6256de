/** Streams of the server: WebSockets, because a browser opens only six other connections to a server at a time. */
import { withQuery } from "./api.js";

/** Returns the address of a WebSocket for a path. */
export function socketAddress(path, query = {}) {
  const url = new URL(withQuery(path, query), location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/**
 * Calls `onLine` with each line of a stream of JSON lines or text, until it ends or the signal is aborted. Returns true
 * if the stream had been opened.
 * @param {(line: string) => void} onLine
 * @param {() => void} [onOpen]
 * @returns {Promise<boolean>}
 */
export function readLines(path, { query = {}, signal, onOpen = () => {} }, onLine) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const socket = new WebSocket(socketAddress(path, query));
    socket.binaryType = "arraybuffer";
    const decoder = new TextDecoder();
    let rest = "";
    let isOpen = false;
    const end = () => socket.close();
    signal.addEventListener("abort", end, { once: true });
    socket.onopen = () => {
      isOpen = true;
      onOpen();
    };
    socket.onmessage = ({ data }) => {
      if (signal.aborted) return;
      const lines = (rest + (typeof data === "string" ? data : decoder.decode(data, { stream: true }))).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line) onLine(line);
      // An event of a watch is a message of its own, with or without a line end.
      if (rest.startsWith("{") && rest.endsWith("}") && isJson(rest)) {
        onLine(rest);
        rest = "";
      }
    };
    socket.onclose = () => {
      signal.removeEventListener("abort", end);
      resolve(isOpen);
    };
  });
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
