/** The scalars of YAML. Words that parsers read differently are refused, so that no value changes its type unnoticed. */

export class YamlError extends Error {
  /** @param {string} message @param {number} line from 1 */
  constructor(message, line) {
    super(`line ${line}: ${message}`);
    this.line = line;
  }
}

const AMBIGUOUS = /^(?:yes|no|on|off|y|n|[-+]?0\d+|[-+]?\d[\d_]*_[\d_]*|[-+]?\d+(?::[0-5]?\d)+|\d{4}-\d\d?-\d\d?|0o[0-7]+|0b[01]+|0x[\da-f]+)$/i;
const NUMBER = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i;
const ESCAPES = { 0: "\0", a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r", e: "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", N: "\x85", _: "\xa0", L: "\u2028", P: "\u2029" };

/** Returns the value of a word without quotes. */
export function plain(text, line) {
  if (text === "" || text === "~" || /^(?:null|Null|NULL)$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  if (AMBIGUOUS.test(text)) throw new YamlError(`${text} can be read in two ways; put it in quotes if it is text`, line);
  if (/^[&*!|>%@`]/.test(text)) throw new YamlError(`${text[0]} is not supported here; write the value itself, or put it in quotes`, line);
  if (NUMBER.test(text)) return whole(text, line);
  return text;
}

function whole(text, line) {
  const value = Number(text);
  if (/^[-+]?\d+$/.test(text) && !Number.isSafeInteger(value)) throw new YamlError(`${text} is too large for this editor; use kubectl edit`, line);
  return value;
}

/**
 * Reads a quoted text that begins at a position.
 * @returns {{value: string, end: number}} `end` is the position after the closing quote
 */
export function quoted(text, start, line) {
  const quote = text[start];
  let value = "";
  for (let place = start + 1; place < text.length; place += 1) {
    const letter = text[place];
    if (letter === quote && quote === "'" && text[place + 1] === "'") {
      value += "'";
      place += 1;
    } else if (letter === quote) {
      return { value, end: place + 1 };
    } else if (letter === "\\" && quote === '"') {
      const { piece, used } = escaped(text, place + 1, line);
      value += piece;
      place += used;
    } else if (letter === "\n") {
      // A line break in quotes is a space, and an empty line is a line break.
      const rest = /^\s*/.exec(text.slice(place))[0];
      const breaks = rest.split("\n").length - 1;
      value = value.replace(/[ \t]+$/, "") + (breaks > 1 ? "\n".repeat(breaks - 1) : " ");
      place += rest.length - 1;
    } else {
      value += letter;
    }
  }
  throw new YamlError(`the closing ${quote} is missing`, line);
}

function escaped(text, place, line) {
  const letter = text[place];
  if (letter in ESCAPES) return { piece: ESCAPES[letter], used: 1 };
  if (letter === "\n") return { piece: "", used: /^\n[ \t]*/.exec(text.slice(place))[0].length };
  const size = { x: 2, u: 4, U: 8 }[letter];
  const digits = text.slice(place + 1, place + 1 + (size ?? 0));
  if (!size || !/^[\da-f]+$/i.test(digits) || digits.length < size) throw new YamlError(`\\${letter} is not an escape sequence`, line);
  return { piece: String.fromCodePoint(parseInt(digits, 16)), used: size + 1 };
}
