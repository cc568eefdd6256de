/** The input that a key of the keyboard means to a program in a terminal. */

const CURSOR = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" };
const TILDE = { Insert: 2, Delete: 3, PageUp: 5, PageDown: 6, F5: 15, F6: 17, F7: 18, F8: 19, F9: 20, F10: 21, F12: 24 };
const FUNCTION = { F1: "P", F2: "Q", F3: "R", F4: "S" };
const SINGLE = { Enter: "\r", Backspace: "\x7f", Escape: "\x1b", Tab: "\t" };

/**
 * Returns the input of a key event; "" for keys that belong to the browser.
 * @param {KeyboardEvent} event
 * @param {boolean} isApplication the mode in which cursor keys have other sequences
 */
export function inputOf(event, isApplication) {
  const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
  if (metaKey) return "";
  const modifier = 1 + (shiftKey ? 1 : 0) + (altKey ? 2 : 0) + (ctrlKey ? 4 : 0);
  if (key in CURSOR) return modifier > 1 ? `\x1b[1;${modifier}${CURSOR[key]}` : `\x1b${isApplication ? "O" : "["}${CURSOR[key]}`;
  if (key in TILDE) return `\x1b[${TILDE[key]}${modifier > 1 ? `;${modifier}` : ""}~`;
  if (key in FUNCTION) return `\x1bO${FUNCTION[key]}`;
  if (key === "Tab" && shiftKey) return "\x1b[Z";
  if (key in SINGLE) return (altKey ? "\x1b" : "") + SINGLE[key];
  if ([...key].length !== 1) return "";
  if (ctrlKey && shiftKey) return ""; // copy, paste and others of the browser
  if (ctrlKey) {
    const code = key === " " ? 0 : key.toUpperCase().charCodeAt(0) - 64;
    return code >= 0 && code < 32 ? (altKey ? "\x1b" : "") + String.fromCharCode(code) : "";
  }
  return (altKey ? "\x1b" : "") + key;
}
