/** Reads one document of YAML: block and flow collections, all scalars, comments. Anchors and tags are refused. */
import { flow } from "./yaml_flow.js";
import { YamlError, plain, quoted } from "./yaml_scalars.js";

export { YamlError };

/** Returns the value of a document. Throws YamlError with the line. */
export function readYaml(text) {
  const reader = new Reader(text.replace(/\r\n/g, "\n").replace(/^---(?=\s)/, "").split("\n"));
  const value = reader.block(-1);
  reader.skipEmpty();
  if (reader.place < reader.lines.length && reader.lines[reader.place].trim() !== "...") {
    throw new YamlError("this line does not belong to the value above; check its indentation", reader.place + 1);
  }
  return value;
}

class Reader {
  constructor(lines) {
    this.lines = lines;
    this.place = 0;
  }

  get number() {
    return this.place + 1;
  }

  skipEmpty() {
    while (this.place < this.lines.length && /^\s*(?:#.*)?$/.test(this.lines[this.place])) this.place += 1;
  }

  indent() {
    const line = this.lines[this.place];
    const spaces = /^[ \t]*/.exec(line)[0];
    if (spaces.includes("\t")) throw new YamlError("indentation with tabs is not allowed; use spaces", this.number);
    return spaces.length;
  }

  /** Reads the value whose lines are indented more than `parent`; null if there is none. */
  block(parent, isListAllowed = false) {
    this.skipEmpty();
    if (this.place >= this.lines.length) return null;
    const indent = this.indent();
    const isList = /^-(?:\s|$)/.test(this.lines[this.place].slice(indent));
    // A list may be as far left as its key.
    if (indent < parent + 1 && !(isListAllowed && isList && indent === parent)) return null;
    if (isList) return this.list(indent);
    return keyEnd(this.lines[this.place].slice(indent)) >= 0 ? this.map(indent) : this.scalar(indent, indent, parent);
  }

  list(indent) {
    const found = [];
    for (;;) {
      this.skipEmpty();
      if (this.place >= this.lines.length || this.indent() !== indent) break;
      const line = this.lines[this.place];
      if (!/^-(?:\s|$)/.test(line.slice(indent))) break;
      const rest = line.slice(indent + 1);
      if (/^\s*(?:#.*)?$/.test(rest)) {
        this.place += 1;
        found.push(this.block(indent));
      } else {
        // The dash counts as indentation of the item.
        this.lines[this.place] = `${" ".repeat(indent + 1)}${rest}`;
        found.push(this.block(indent));
      }
    }
    return found;
  }

  map(indent) {
    const found = {};
    for (;;) {
      this.skipEmpty();
      if (this.place >= this.lines.length || this.indent() !== indent) break;
      const line = this.lines[this.place];
      const end = keyEnd(line.slice(indent));
      if (end < 0) break;
      const key = this.key(line.slice(indent, indent + end));
      if (Object.hasOwn(found, key)) throw new YamlError(`${key} is given twice`, this.number);
      const start = indent + end + 1 + /^\s*/.exec(line.slice(indent + end + 1))[0].length;
      if (start >= line.length || line[start] === "#") {
        this.place += 1;
        found[key] = this.block(indent, true);
      } else {
        found[key] = this.scalar(start, indent + 1, indent);
      }
    }
    return found;
  }

  key(text) {
    const trimmed = text.trim();
    if (/^["']/.test(trimmed)) return quoted(trimmed, 0, this.number).value;
    return trimmed;
  }

  /** Reads a value that begins on this line at a position and may continue on lines indented at least by `least`. */
  scalar(start, least, parent) {
    const line = this.lines[this.place];
    const first = line[start];
    if (first === "|" || first === ">") return this.literal(line.slice(start), parent);
    if (first === '"' || first === "'" || first === "{" || first === "[") {
      const rest = [line.slice(start), ...this.lines.slice(this.place + 1)].join("\n");
      const { value, end } = first === '"' || first === "'" ? quoted(rest, 0, this.number) : flow(rest, 0, this.number);
      const used = rest.slice(0, end).split("\n").length - 1;
      this.place += used;
      const after = rest.slice(end).split("\n", 1)[0];
      if (!/^\s*(?:#.*)?$/.test(after)) throw new YamlError(`${after.trim()} is not expected after the value`, this.number);
      this.place += 1;
      return value;
    }
    const number = this.number;
    let text = withoutComment(line.slice(start));
    this.place += 1;
    // Long words continue on lines with more indentation.
    while (this.place < this.lines.length && this.lines[this.place].trim() && this.indent() >= Math.max(least, parent + 1) && !/^\s*#/.test(this.lines[this.place])) {
      if (keyEnd(this.lines[this.place].trim()) >= 0) throw new YamlError("this line is indented too far, or the value above needs quotes", this.number);
      text += ` ${withoutComment(this.lines[this.place].trim())}`;
      this.place += 1;
    }
    if (/:\s/.test(text)) throw new YamlError("a text with a colon and a space needs quotes", number);
    return plain(text, number);
  }

  /** Reads a text of several lines: `|` keeps line breaks, `>` folds them. */
  literal(header, parent) {
    const found = /^([|>])([1-9]?)([-+]?)([1-9]?)\s*(?:#.*)?$/.exec(header);
    if (!found) throw new YamlError(`${header.trim()} is not supported; put the text in quotes`, this.number);
    const [, style, before, keeping, after] = found;
    this.place += 1;
    const lines = [];
    let indent = before || after ? Math.max(parent, 0) + Number(before || after) : 0;
    while (this.place < this.lines.length) {
      const line = this.lines[this.place];
      const depth = /^ */.exec(line)[0].length;
      if (line.trim()) {
        indent ||= depth > parent ? depth : -1;
        if (depth < indent || indent < 0) break;
      }
      lines.push(line.slice(Math.max(indent, 0)));
      this.place += 1;
    }
    const text = style === "|" ? lines.join("\n") : folded(lines);
    const bare = text.replace(/\n+$/, "");
    return keeping === "-" ? bare : keeping === "+" ? `${text}\n` : bare && `${bare}\n`;
  }
}

/** Returns the position of the colon after a key; -1 if the line has no key. */
function keyEnd(text) {
  const found = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'[\]{},#&*!|>%@`-][^#]*?|-[^\s#][^#]*?|[^\s"'[\]{},&*!|>%@`-][^\s]*?)\s*:(?=\s|$)/.exec(text);
  return found ? found[0].length - 1 : -1;
}

const withoutComment = (text) => text.replace(/(?:^|\s)#.*$/, "").trim();

function folded(lines) {
  return lines.reduce((text, line, place) => {
    if (place === 0) return line;
    const isBreak = line === "" || line.startsWith(" ") || lines[place - 1].startsWith(" ");
    return isBreak ? `${text}\n${line}` : text.endsWith("\n") ? `${text}${line}` : `${text} ${line}`;
  }, "");
}
