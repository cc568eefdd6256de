/** The text of an object for editing: without the fields that only the server writes. */

/** Returns the YAML of the server without `status` and `metadata.managedFields`. */
export function editableText(yaml) {
  const lines = yaml.split("\n");
  const found = [];
  let skipped = null;
  for (const line of lines) {
    const indent = /^ */.exec(line)[0].length;
    if (skipped !== null && line.trim() && !(indent > skipped || (indent === skipped && line.slice(indent).startsWith("- ")))) skipped = null;
    if (skipped === null && (line.startsWith("status:") || /^ {2,4}managedFields:/.test(line))) skipped = indent;
    if (skipped === null) found.push(line);
  }
  return found.join("\n");
}

/** Returns the fields of an object that `editableText` keeps. */
export function editablePart({ status: _, ...object }) {
  const { managedFields: __, ...metadata } = object.metadata ?? {};
  return { ...object, metadata };
}
