import assert from "node:assert/strict";
import { test } from "node:test";
import { conflicts, fieldChanges, fieldName, jsonPatch } from "../../../src/setpoint/dashboard/page/yaml/field_changes.js";
import { editableText } from "../../../src/setpoint/dashboard/page/yaml/object_text.js";
import { YamlError, readYaml } from "../../../src/setpoint/dashboard/page/yaml/yaml_reader.js";

const read = [
  ["scalars", "---\na: 1\nb: 'x: y'\nc: \"q\\n\\u0041\"\nd: ~\ne:\nf: true\ng: -1.5e3\nh: -x\n", { a: 1, b: "x: y", c: "q\nA", d: null, e: null, f: true, g: -1500, h: "-x" }],
  ["lists at the indentation of their key", "a:\n- 1\n- b: 2\n  c: 3\n-\n  - x\n- - u\n  - v\n", { a: [1, { b: 2, c: 3 }, ["x"], ["u", "v"]] }],
  ["literal and folded texts", "a: |\n  one\n   two\n\nb: >-\n  x\n  w\n\n  z\n", { a: "one\n two\n", b: "x w\nz" }],
  ["flow collections", 'a: {b: [1, two, "3"], c: {}}\nd: []\ne: [-c, "x"]\n', { a: { b: [1, "two", "3"], c: {} }, d: [], e: ["-c", "x"] }],
  ["JSON", '{"a": [1, {"b": null}]}', { a: [1, { b: null }] }],
  ["comments and addresses", "a: 1 # note\n# all\nb:\n  # in\n  c: http://x:80/#f\n", { a: 1, b: { c: "http://x:80/#f" } }],
  ["values over several lines", "a: long\n  text\nb: \"one\n  two\"\nc: 'x\n\n  w'\n", { a: "long text", b: "one two", c: "x\nw" }],
  ["keys with dots and quotes", 'a.b/c: d\n"e f": g\n', { "a.b/c": "d", "e f": "g" }],
  ["templates", "a: '{{ urlFor \"api\" }}'\n", { a: '{{ urlFor "api" }}' }],
];
for (const [what, text, value] of read) test(`reads ${what}`, () => assert.deepEqual(readYaml(text), value));

const refused = [
  ["a: yes\n", /line 1: yes can be read in two ways/],
  ["a: 0123\n", /line 1: 0123 can be read/],
  ["a:\n\tb: 1\n", /line 2: indentation with tabs/],
  ["a: 1\n  b: 2\n", /line 2: this line is indented too far/],
  ["a: 1\na: 2\n", /line 2: a is given twice/],
  ["a: x: z\n", /line 1: a text with a colon/],
  ["a: &b 1\n", /line 1: & is not supported/],
  ["a: [1\n", /line 1: \] or a comma is missing/],
  ['a: "b\n', /line 1: the closing " is missing/],
  ["a: 12345678901234567890\n", /line 1: .* is too large/],
];
for (const [text, message] of refused) test(`refuses ${JSON.stringify(text)}`, () => assert.throws(() => readYaml(text), (error) => error instanceof YamlError && message.test(error.message)));

test("the text for editing lacks the status and the managed fields", () => {
  const text = "kind: A\nmetadata:\n  managedFields:\n  - manager: x\n    fieldsV1:\n      f: {}\n  name: a\nspec: {}\nstatus:\n  conditions:\n  - type: b\n";
  assert.equal(editableText(text), "kind: A\nmetadata:\n  name: a\nspec: {}");
});

test("a patch tests every value that the user saw", () => {
  const changes = fieldChanges({ a: 1, l: [{ x: 1 }, 2], "d/e": 1 }, { a: 1, l: [{ x: 3 }, 2], f: { g: 1 } });
  assert.deepEqual(jsonPatch(changes), [
    { op: "test", path: "/l/0/x", value: 1 },
    { op: "replace", path: "/l/0/x", value: 3 },
    { op: "test", path: "/d~1e", value: 1 },
    { op: "remove", path: "/d~1e" },
    { op: "add", path: "/f", value: { g: 1 } },
  ]);
  assert.deepEqual(changes.map((change) => fieldName(change.path)), ["l[0].x", '["d/e"]', "f"]);
});

test("only changes of the same field conflict", () => {
  const base = { spec: { a: 1, b: { c: 1 } }, metadata: { resourceVersion: "1" } };
  const theirs = fieldChanges(base, { spec: { a: 1, b: { c: 2 } }, metadata: { resourceVersion: "2" } });
  const mine = (spec) => fieldChanges(base, { ...base, spec });
  assert.deepEqual(conflicts(mine({ a: 2, b: { c: 1 } }), theirs), []);
  assert.deepEqual(conflicts(mine({ a: 1, b: { c: 2 } }), theirs), []);
  assert.deepEqual(conflicts(mine({ a: 1, b: { c: 3 } }), theirs).map((each) => fieldName(each.path)), ["spec.b.c"]);
  assert.deepEqual(conflicts(mine({ a: 1 }), theirs).map((each) => fieldName(each.path)), ["spec.b"]);
});
