/** The screen of a terminal: cells, cursor, scroll region, and the lines that have left at the top. */

// The lines above the screen that can be scrolled back to.
const MOST_PAST = 1000;

/** @typedef {{text: string, style: Style}} Cell @typedef {{fg: number | string | null, bg: number | string | null, flags: number}} Style */

export const PLAIN = Object.freeze({ fg: null, bg: null, flags: 0 });
export const BOLD = 1;
export const DIM = 2;
export const ITALIC = 4;
export const UNDERLINE = 8;
export const INVERSE = 16;

const blank = Object.freeze({ text: " ", style: PLAIN });

export class Screen {
  constructor(columns, rows) {
    this.columns = columns;
    this.rows = rows;
    this.style = PLAIN;
    this.isCursorVisible = true;
    /** @type {Cell[][]} */
    this.past = [];
    this.reset();
  }

  reset() {
    this.lines = Array.from({ length: this.rows }, () => this.blankLine());
    this.x = 0;
    this.y = 0;
    this.top = 0;
    this.bottom = this.rows - 1;
    this.saved = { x: 0, y: 0, style: PLAIN };
    this.style = PLAIN;
    this.other = null;
  }

  blankLine() {
    return new Array(this.columns).fill(this.style.bg === null ? blank : { text: " ", style: { ...PLAIN, bg: this.style.bg } });
  }

  resize(columns, rows) {
    const fit = (line) => (line.length > columns ? line.slice(0, columns) : [...line, ...new Array(columns - line.length).fill(blank)]);
    this.columns = columns;
    while (this.lines.length > rows) {
      if (this.y < this.lines.length - 1 && this.lines.at(-1).every((cell) => cell.text === " ")) this.lines.pop();
      else {
        this.keep(this.lines.shift());
        this.y = Math.max(0, this.y - 1);
      }
    }
    this.lines = this.lines.map(fit);
    while (this.lines.length < rows) this.lines.push(this.blankLine());
    this.rows = rows;
    this.top = 0;
    this.bottom = rows - 1;
    this.x = Math.min(this.x, columns - 1);
    this.y = Math.min(this.y, rows - 1);
  }

  /** Writes a character; a following mark joins it. */
  put(letter) {
    if (/\p{Mark}/u.test(letter)) {
      const before = Math.max(0, this.x - 1);
      const cell = this.lines[this.y][before];
      this.setCell(before, { ...cell, text: cell.text + letter });
      return;
    }
    if (this.x >= this.columns) {
      this.x = 0;
      this.lineFeed();
    }
    this.setCell(this.x, { text: letter, style: this.style });
    this.x += 1;
    // A wide character takes two cells; the second is empty.
    if (isWide(letter) && this.x < this.columns) {
      this.setCell(this.x, { text: "", style: this.style });
      this.x += 1;
    }
  }

  setCell(x, cell) {
    const line = this.lines[this.y].slice();
    line[x] = cell;
    this.lines[this.y] = line;
  }

  lineFeed() {
    if (this.y === this.bottom) this.scrollUp(1);
    else if (this.y < this.rows - 1) this.y += 1;
  }

  reverseLineFeed() {
    if (this.y === this.top) this.scrollDown(1);
    else if (this.y > 0) this.y -= 1;
  }

  scrollUp(count, top = this.top) {
    for (let index = 0; index < Math.min(count, this.rows); index += 1) {
      const [line] = this.lines.splice(top, 1);
      this.lines.splice(this.bottom, 0, this.blankLine());
      if (top === 0 && this.bottom === this.rows - 1 && !this.other) this.keep(line);
    }
  }

  scrollDown(count, top = this.top) {
    for (let index = 0; index < Math.min(count, this.rows); index += 1) {
      this.lines.splice(this.bottom, 1);
      this.lines.splice(top, 0, this.blankLine());
    }
  }

  keep(line) {
    this.past.push(line);
    if (this.past.length > MOST_PAST) this.past.shift();
  }

  moveTo(x, y) {
    this.x = Math.max(0, Math.min(this.columns - 1, x));
    this.y = Math.max(0, Math.min(this.rows - 1, y));
  }

  setRegion(top, bottom) {
    if (top >= bottom) return;
    this.top = Math.max(0, top);
    this.bottom = Math.min(this.rows - 1, bottom);
    this.moveTo(0, 0);
  }

  /** Erases cells of a line. */
  erase(y, from, to) {
    const line = this.lines[y].slice();
    const [empty] = this.blankLine();
    line.fill(empty, Math.max(0, from), to);
    this.lines[y] = line;
  }

  eraseInDisplay(part) {
    if (part === 0) this.erase(this.y, this.x, this.columns);
    if (part === 1) this.erase(this.y, 0, this.x + 1);
    const [from, to] = part === 0 ? [this.y + 1, this.rows] : part === 1 ? [0, this.y] : [0, this.rows];
    for (let y = from; y < to; y += 1) this.lines[y] = this.blankLine();
    if (part === 3) this.past = [];
  }

  insertCells(count) {
    const [empty] = this.blankLine();
    const line = this.lines[this.y].slice();
    line.splice(this.x, 0, ...new Array(Math.min(count, this.columns)).fill(empty));
    this.lines[this.y] = line.slice(0, this.columns);
  }

  deleteCells(count) {
    const [empty] = this.blankLine();
    const line = this.lines[this.y].slice();
    line.splice(this.x, count);
    while (line.length < this.columns) line.push(empty);
    this.lines[this.y] = line;
  }

  save() {
    this.saved = { x: this.x, y: this.y, style: this.style };
  }

  restore() {
    this.moveTo(this.saved.x, this.saved.y);
    this.style = this.saved.style;
  }

  /** Switches to the alternate screen of programs such as editors, or back. */
  useAlternate(isOn) {
    if (isOn && !this.other) {
      this.other = { lines: this.lines, x: this.x, y: this.y };
      this.lines = Array.from({ length: this.rows }, () => this.blankLine());
    } else if (!isOn && this.other) {
      const { lines, x, y } = this.other;
      this.other = null;
      this.lines = lines;
      this.resize(this.columns, this.rows);
      this.moveTo(x, y);
    }
    this.top = 0;
    this.bottom = this.rows - 1;
  }
}

function isWide(letter) {
  const code = letter.codePointAt(0);
  return code >= 0x1100 && (code <= 0x115f || (code >= 0x2e80 && code <= 0xa4cf) || (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) || (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd));
}
