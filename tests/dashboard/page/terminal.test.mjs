import assert from "node:assert/strict";
import { test } from "node:test";
import { Interpreter } from "../../../src/setpoint/dashboard/page/terminal/interpreter.js";
import { inputOf } from "../../../src/setpoint/dashboard/page/terminal/keys.js";
import { Screen } from "../../../src/setpoint/dashboard/page/terminal/screen.js";

function terminal(columns = 10, rows = 4) {
  const screen = new Screen(columns, rows);
  const answers = [];
  const interpreter = new Interpreter(screen, (text) => answers.push(text));
  return { screen, answers, interpreter, write: (text) => interpreter.write(text), rows: () => screen.lines.map((line) => line.map((cell) => cell.text).join("").trimEnd()) };
}

test("text wraps, and lines that leave at the top are kept", () => {
  const { write, rows, screen } = terminal();
  write("0123456789abc\r\n2\r\n3\r\n4");
  assert.deepEqual(rows(), ["abc", "2", "3", "4"]);
  assert.equal(screen.past.length, 1);
});

test("sequences may arrive in pieces", () => {
  const { write, rows, screen } = terminal();
  write("abc\x1b[");
  write("1;2");
  write("HX\x1b]0;a title");
  write("\x07!");
  assert.deepEqual(rows()[0], "aX!");
  assert.equal(screen.x, 3);
});

test("lines and cells are erased, inserted and deleted", () => {
  const { write, rows } = terminal();
  write("one\r\ntwo\r\nthree\x1b[2;1H\x1b[L\x1b[1;2H\x1b[P\x1b[@-");
  assert.deepEqual(rows(), ["o-e", "", "two", "three"]);
  write("\x1b[2J");
  assert.deepEqual(rows(), ["", "", "", ""]);
});

test("a region scrolls by itself", () => {
  const { write, rows, screen } = terminal();
  write("a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\nx");
  assert.deepEqual(rows(), ["a", "c", "x", "d"]);
  assert.equal(screen.past.length, 0);
});

test("the alternate screen leaves the first one unchanged", () => {
  const { write, rows } = terminal();
  write("shell\x1b[?1049h\x1b[Heditor");
  assert.equal(rows()[0], "editor");
  write("\x1b[?1049l$");
  assert.equal(rows()[0], "shell$");
});

test("programs are told the position of the cursor", () => {
  const { write, answers } = terminal();
  write("ab\r\nc\x1b[6n");
  assert.deepEqual(answers, ["\x1b[2;2R"]);
});

test("colours and other renditions belong to their text", () => {
  const { write, screen } = terminal();
  write("\x1b[1;31ma\x1b[0mb\x1b[38;5;196mc\x1b[38;2;1;2;3md");
  const styles = screen.lines[0].slice(0, 4).map((cell) => cell.style);
  assert.equal(styles[0].flags, 1);
  assert.deepEqual([styles[1].fg, styles[1].flags], [null, 0]);
  assert.deepEqual([styles[2].fg, styles[3].fg], ["rgb(255,0,0)", "rgb(1,2,3)"]);
});

test("a smaller screen keeps the lines at the cursor", () => {
  const { write, rows, screen } = terminal();
  write("1\r\n2\r\n3\r\n4");
  screen.resize(5, 2);
  assert.deepEqual(rows(), ["3", "4"]);
  assert.equal(screen.past.length, 2);
});

test("keys are sent as terminals send them", () => {
  const key = (name, more = {}) => inputOf({ key: name, ...more }, false);
  assert.equal(key("a"), "a");
  assert.equal(key("c", { ctrlKey: true }), "\x03");
  assert.equal(key("x", { altKey: true }), "\x1bx");
  assert.equal(key("ArrowUp"), "\x1b[A");
  assert.equal(inputOf({ key: "ArrowUp" }, true), "\x1bOA");
  assert.equal(key("ArrowRight", { ctrlKey: true }), "\x1b[1;5C");
  assert.equal(key("C", { ctrlKey: true, shiftKey: true }), "");
  assert.equal(key("Shift"), "");
});
