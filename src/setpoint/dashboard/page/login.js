/** The screens before the app is shown: the login is unknown, missing, or has ended. */
import { StatusError, get } from "./api.js";
import { session } from "./session.js";
import { html } from "./view.js";

const RETRY_MILLISECONDS = 2000;

/** Reads the session until the server answers. */
export async function readSession() {
  try {
    session.value = await get("/dashboard/session", { at: "live" });
  } catch (error) {
    if (error instanceof StatusError && error.code && error.code !== 401) session.value = { user: "" };
    else if (error.code !== 401) setTimeout(readSession, RETRY_MILLISECONDS);
  }
}

export function LoginRequired() {
  return html`<main class="login" id="main">
    <h1 tabindex="-1">Log in</h1>
    <p>This page shows an app only after a login. In a terminal, run</p>
    <pre><code>setpoint dashboard</code></pre>
    <p>and open the printed link. A link works once, and the login ends with the session of the app.</p>
    <p><button class="primary" onClick=${() => location.reload()}>I have logged in</button></p>
  </main>`;
}

export const Connecting = () => html`<main class="login" id="main"><p role="status">Connecting to the server …</p></main>`;
