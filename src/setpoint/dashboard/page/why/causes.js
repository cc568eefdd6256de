// The texts of a graph of causes. Pure.
import { clock, moment } from "../format.js";

// Returns the second line of a node: the time, and the writer or the type.
export const subtitleOf = (node) => [node.time && clock(node.time), node.actor || node.type].filter(Boolean).join(" · ");

// Returns the names and values of the details of a node, without empty ones and without the object.
export function factsOf(node) {
  const facts = [["Type", node.type], ["File", node.path], ["Time", node.time && moment(node.time)], ["Actor", node.actor], ["Revision", node.revision]];
  return facts.filter(([, value]) => value);
}

// Returns the origin that a user asks for first: the server lists saved files before requests and processes.
export const firstOrigin = (graph) => graph.origins?.[0] ?? null;
