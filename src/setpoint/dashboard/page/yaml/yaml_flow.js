/** Flow collections of YAML, such as `{a: 1}` and `[x, y]`, which include JSON. */
import { YamlError, plain, quoted } from "./yaml_scalars.js";

/** Reads a value that begins at a position; returns it and the position after it. */
export function flow(text, start, line) {
  const place = skip(text, start);
  if (text[place] === "{") return map(text, place + 1, line);
  if (text[place] === "[") return list(text, place + 1, line);
  if (text[place] === '"' || text[place] === "'") return quoted(text, place, line);
  const found = /^(?:[^,[\]{}:#\n]|:(?![\s,[\]{}])|#)*/.exec(text.slice(place))[0];
  return { value: plain(found.trim(), line), end: place + found.length };
}

function map(text, start, line) {
  const value = {};
  let place = skip(text, start);
  while (text[place] !== "}") {
    const key = flow(text, place, line);
    place = skip(text, key.end);
    if (text[place] !== ":") throw new YamlError("a colon is missing in {…}", line);
    const member = flow(text, place + 1, line);
    value[String(key.value)] = member.value;
    place = separator(text, member.end, "}", line);
  }
  return { value, end: place + 1 };
}

function list(text, start, line) {
  const value = [];
  let place = skip(text, start);
  while (text[place] !== "]") {
    const item = flow(text, place, line);
    value.push(item.value);
    place = separator(text, item.end, "]", line);
  }
  return { value, end: place + 1 };
}

function separator(text, start, closing, line) {
  const place = skip(text, start);
  if (text[place] === ",") return skip(text, place + 1);
  if (text[place] !== closing) throw new YamlError(`${closing} or a comma is missing`, line);
  return place;
}

/** Returns the position after spaces, line breaks and comments. */
const skip = (text, place) => place + /^(?:\s|#[^\n]*(?=\n|$))*/.exec(text.slice(place))[0].length;
