// An object as lines of YAML, each with the path of its field. Pure.

import { below, identifierOf, isMap, itemPath } from "./field_paths.js";

const HIDDEN = new Set(["managedFields"]);

// Returns the lines: {text, path, holds}; `holds` is true for a line that only contains other lines.
export function yamlLines(tree, { hidden = HIDDEN } = {}) {
  const lines = [];
  mapping(withoutHidden(tree, hidden), "", 0, lines);
  return lines;
}

// Returns the text of a value on one line.
export function scalar(value) {
  if (value === null || value === undefined) return "null";
  if (typeof value !== "string") return JSON.stringify(value);
  return isPlain(value) ? value : JSON.stringify(value);
}

function withoutHidden(tree, hidden) {
  if (!isMap(tree?.metadata)) return tree;
  const metadata = Object.fromEntries(Object.entries(tree.metadata).filter(([key]) => !hidden.has(key)));
  return { ...tree, metadata };
}

// A string is plain if a reader of YAML takes it for the same string.
function isPlain(text) {
  return (
    /^[A-Za-z_/.][^\n\r\t]*$/.test(text) &&
    !/: |:$| #|\s$/.test(text) &&
    !/^(true|false|yes|no|on|off|null|y|n|\.inf|\.nan)$/i.test(text) &&
    !/^\.\d/.test(text)
  );
}

function mapping(value, path, depth, lines) {
  for (const [key, item] of Object.entries(value)) {
    entry(`${"  ".repeat(depth)}${scalar(key)}:`, item, below(path, key), depth, lines);
  }
}

function entry(head, value, path, depth, lines) {
  if (isMap(value) && Object.keys(value).length) {
    lines.push({ text: head, path, holds: true });
    mapping(value, path, depth + 1, lines);
  } else if (Array.isArray(value) && value.length) {
    lines.push({ text: head, path, holds: true });
    sequence(value, path, depth, lines);
  } else if (typeof value === "string" && value.includes("\n") && !/^\s|[\r\t]/.test(value)) {
    block(head, value, path, depth, lines);
  } else {
    lines.push({ text: `${head} ${scalar(value)}`, path, holds: false });
  }
}

function sequence(items, path, depth, lines) {
  const identifier = identifierOf(items);
  items.forEach((item, place) => {
    const own = itemPath(path, item, place, identifier);
    const indent = "  ".repeat(depth);
    if (isMap(item) && Object.keys(item).length) {
      const first = lines.length;
      mapping(item, own, depth + 1, lines);
      lines[first] = { ...lines[first], text: `${indent}- ${lines[first].text.slice(indent.length + 2)}` };
    } else {
      lines.push({ text: `${indent}- ${scalar(item)}`, path: own, holds: false });
    }
  });
}

function block(head, value, path, depth, lines) {
  const kept = value.endsWith("\n") ? (value.endsWith("\n\n") ? "|+" : "|") : "|-";
  const indent = "  ".repeat(depth + 1);
  lines.push({ text: `${head} ${kept}`, path, holds: false });
  for (const line of value.replace(/\n$/, "").split("\n")) {
    lines.push({ text: line ? indent + line : "", path, holds: false });
  }
}
