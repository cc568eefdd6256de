/** Interprets the output of programs for terminals (xterm's common sequences) and changes a screen. */
import { BOLD, DIM, INVERSE, ITALIC, PLAIN, UNDERLINE } from "./screen.js";

// One sequence, a run of text, or a control character.
const TOKEN = /\x1b\[([<-?]?)([\d;:]*)([ -/]*)([@-~])|\x1b\]([^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b([ -/]?)([0-~])|[\x00-\x1f\x7f]|[^\x00-\x1f\x7f]+/gu;
const UNFINISHED = /\x1b(?:\[[<-?]?[\d;:]*[ -/]*|\][^\x07\x1b]*(?:\x1b)?|[PX^_][^\x1b]*(?:\x1b)?|[ -/])?$/;
const TAB = 8;

export class Interpreter {
  /** @param {import("./screen.js").Screen} screen @param {(answer: string) => void} answer sends input to the program */
  constructor(screen, answer) {
    this.screen = screen;
    this.answer = answer;
    this.rest = "";
    this.isApplication = false;
    this.isPasteMarked = false;
  }

  /** @param {string} text */
  write(text) {
    let whole = this.rest + text;
    const cut = UNFINISHED.exec(whole);
    this.rest = cut && cut[0].length < 4096 ? cut[0] : "";
    if (this.rest) whole = whole.slice(0, -this.rest.length);
    for (const found of whole.matchAll(TOKEN)) this.token(found);
  }

  token([whole, mark, parameters, , final, , charset, single]) {
    if (final !== undefined) {
      const numbers = parameters.split(/[;:]/).map((each) => (each === "" ? -1 : Number(each)));
      if (mark === "?") this.mode(numbers, final);
      else if (mark === "") this.sequence(final, numbers);
    } else if (single !== undefined) {
      if (!charset) this.escape(single);
    } else if (whole < " " || whole === "\x7f") {
      this.control(whole);
    } else if (whole[0] !== "\x1b") {
      for (const letter of whole) this.screen.put(letter);
    }
  }

  control(letter) {
    const { screen } = this;
    if (letter === "\r") screen.x = 0;
    else if (letter === "\n" || letter === "\v" || letter === "\f") screen.lineFeed();
    else if (letter === "\b") screen.x = Math.max(0, Math.min(screen.x, screen.columns - 1) - 1);
    else if (letter === "\t") screen.x = Math.min(screen.columns - 1, (Math.floor(screen.x / TAB) + 1) * TAB);
  }

  escape(letter) {
    const { screen } = this;
    const done = {
      7: () => screen.save(),
      8: () => screen.restore(),
      D: () => screen.lineFeed(),
      E: () => ((screen.x = 0), screen.lineFeed()),
      M: () => screen.reverseLineFeed(),
      c: () => screen.reset(),
    };
    done[letter]?.();
  }

  mode(numbers, final) {
    if (final !== "h" && final !== "l") return;
    const isOn = final === "h";
    for (const number of numbers) {
      if (number === 25) this.screen.isCursorVisible = isOn;
      if (number === 1) this.isApplication = isOn;
      if (number === 2004) this.isPasteMarked = isOn;
      if (number === 1049 || number === 1047 || number === 47) {
        if (number === 1049 && isOn) this.screen.save();
        this.screen.useAlternate(isOn);
        if (number === 1049 && !isOn) this.screen.restore();
      }
    }
  }

  sequence(final, numbers) {
    const { screen } = this;
    const first = Math.max(numbers[0] ?? -1, 0);
    const count = Math.max(first, 1);
    const x = Math.min(screen.x, screen.columns - 1);
    const done = {
      A: () => screen.moveTo(x, Math.max(screen.y - count, screen.y >= screen.top ? screen.top : 0)),
      B: () => screen.moveTo(x, Math.min(screen.y + count, screen.y <= screen.bottom ? screen.bottom : screen.rows)),
      C: () => screen.moveTo(x + count, screen.y),
      D: () => screen.moveTo(x - count, screen.y),
      E: () => screen.moveTo(0, screen.y + count),
      F: () => screen.moveTo(0, screen.y - count),
      G: () => screen.moveTo(count - 1, screen.y),
      H: () => screen.moveTo(Math.max(numbers[1] ?? 1, 1) - 1, count - 1),
      J: () => screen.eraseInDisplay(first),
      K: () => screen.erase(screen.y, first === 0 ? screen.x : 0, first === 1 ? screen.x + 1 : screen.columns),
      L: () => screen.y >= screen.top && screen.y <= screen.bottom && screen.scrollDown(count, screen.y),
      M: () => screen.y >= screen.top && screen.y <= screen.bottom && screen.scrollUp(count, screen.y),
      P: () => screen.deleteCells(count),
      S: () => screen.scrollUp(count),
      T: () => screen.scrollDown(count),
      X: () => screen.erase(screen.y, screen.x, screen.x + count),
      "@": () => screen.insertCells(count),
      d: () => screen.moveTo(x, count - 1),
      m: () => this.rendition(numbers),
      n: () => first === 6 && this.answer(`\x1b[${screen.y + 1};${x + 1}R`),
      c: () => this.answer("\x1b[?1;2c"),
      r: () => screen.setRegion(count - 1, (numbers[1] > 0 ? numbers[1] : screen.rows) - 1),
      s: () => screen.save(),
      u: () => screen.restore(),
    };
    done.f = done.H;
    done["`"] = done.G;
    done[final]?.();
  }

  rendition(numbers) {
    let style = { ...this.screen.style };
    const flags = { 1: BOLD, 2: DIM, 3: ITALIC, 4: UNDERLINE, 7: INVERSE };
    const cleared = { 22: BOLD | DIM, 23: ITALIC, 24: UNDERLINE, 27: INVERSE };
    for (let place = 0; place < numbers.length; place += 1) {
      const number = Math.max(numbers[place], 0);
      if (number === 0) style = { ...PLAIN };
      else if (number in flags) style.flags |= flags[number];
      else if (number in cleared) style.flags &= ~cleared[number];
      else if (number === 38 || number === 48) {
        const isIndexed = numbers[place + 1] === 5;
        const colour = isIndexed ? indexed(numbers[place + 2]) : `rgb(${numbers.slice(place + 2, place + 5).map((each) => Math.min(255, Math.max(0, each))).join(",")})`;
        style[number === 38 ? "fg" : "bg"] = colour;
        place += isIndexed ? 2 : 4;
      } else if (number === 39) style.fg = null;
      else if (number === 49) style.bg = null;
      else if ((number >= 30 && number < 38) || (number >= 90 && number < 98)) style.fg = PALETTE[(number % 10) + (number >= 90 ? 8 : 0)];
      else if ((number >= 40 && number < 48) || (number >= 100 && number < 108)) style.bg = PALETTE[(number % 10) + (number >= 100 ? 8 : 0)];
    }
    this.screen.style = Object.freeze(style);
  }
}

const PALETTE = ["#3b424d", "#f0767a", "#7fd08f", "#e5c07b", "#6ea8fe", "#cf9bf2", "#5fcfcf", "#d5dae1", "#8a94a3", "#ff9a9d", "#a4e5b0", "#f4d799", "#9cc5ff", "#e2bdfb", "#92e4e4", "#ffffff"];

/** Returns a colour of the palette with 256 colours. */
function indexed(number) {
  if (number < 16) return PALETTE[Math.max(number, 0)];
  if (number >= 232) {
    const grey = 8 + (Math.min(number, 255) - 232) * 10;
    return `rgb(${grey},${grey},${grey})`;
  }
  const level = (each) => (each ? 55 + each * 40 : 0);
  const rest = number - 16;
  return `rgb(${level(Math.floor(rest / 36))},${level(Math.floor(rest / 6) % 6)},${level(rest % 6)})`;
}
