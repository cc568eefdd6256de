/** The login of the viewer. */
import { signal } from "./view.js";

/**
 * The session; null until known, `{user: ""}` without a login.
 * @type {import("./view.js").Signal<null | {user: string, readOnly?: boolean, app?: string, archive?: boolean, version?: string}>}
 */
export const session = signal(null);

/** True if the viewer cannot change anything: an archive, or a login that only reads. */
export const isReadOnly = () => Boolean(session.value?.readOnly || session.value?.archive);

/** Records that the server refused the login. */
export function loggedOut() {
  session.value = { user: "" };
}
