// Masks the values of Secrets, of variables with telling names, passwords in addresses, and JSON Web Tokens. Pure.
//
// The page shows masked values only; differences and blame are computed from the real ones, which have the same lines.

import { isMap } from "./field_paths.js";

export const MASK = "***";
const TELLING = /passw(or)?d|passphrase|secret|token|credential|(api|access|private|signing|encryption)[_-]?key/i;
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const ENVIRONMENTS = ["env", "effectiveEnv"];
const OF_VARIABLE = /(?:^|\.)(?:env|effectiveEnv)\[([^\]]+)\]\.value$/;

// Returns the object as it is shown.
export function masked(object) {
  const shown = maskedTree(object);
  if (shown?.kind !== "Secret") return shown;
  for (const field of ["data", "stringData"]) {
    if (isMap(shown[field])) shown[field] = Object.fromEntries(Object.keys(shown[field]).map((key) => [key, MASK]));
  }
  return shown;
}

// Returns the value of a field as it is shown: `kind` is that of the object, `path` that of the field.
export function maskedValue(value, kind, path) {
  if (value === undefined) return value;
  if (path.includes(LAST_APPLIED) || (kind === "Secret" && /^(data|stringData)\b/.test(path))) return MASK;
  const variable = OF_VARIABLE.exec(path);
  if (variable && TELLING.test(variable[1])) return MASK;
  if (/(^|\.)(env|effectiveEnv)(\[[^\]]+\])?$/.test(path)) return variables(value);
  return maskedTree(value);
}

export function maskedText(text) {
  return text
    .replace(/eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*/g, MASK)
    .replace(/([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:)[^\s@/]+(?=@)/gi, `$1${MASK}`);
}

function maskedTree(value) {
  if (typeof value === "string") return maskedText(value);
  if (Array.isArray(value)) return value.map(maskedTree);
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskedField(key, item)]));
}

function maskedField(key, value) {
  if (key === LAST_APPLIED) return MASK;
  return ENVIRONMENTS.includes(key) ? variables(value) : maskedTree(value);
}

function variables(value) {
  if (Array.isArray(value)) return value.map(variables);
  const shown = maskedTree(value);
  return isMap(shown) && shown.value && TELLING.test(String(shown.name ?? "")) ? { ...shown, value: MASK } : shown;
}
