/** An error of the server in place of the content that could not be read. */
import { html } from "./view.js";

/** @param {{error: {message: string, reason?: string, code?: number}, onRetry?: () => void}} properties */
export function Problem({ error, onRetry }) {
  const text = textOf(error);
  return html`<div class="problem" role="alert">
    <p>${text}</p>
    ${onRetry && html`<button onClick=${onRetry}>Try again</button>`}
  </div>`;
}

const UNKNOWN_PATH = "the server could not find the requested resource";

function textOf({ code, message }) {
  if (code === 403) return `You may not read this: ${message}`;
  // The page may be newer than the server behind it, such as that of an imported session.
  return code === 404 && message === UNKNOWN_PATH ? "This server does not provide these data." : message;
}
