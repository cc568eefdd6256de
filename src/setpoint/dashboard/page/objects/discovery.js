/** The kinds of the control plane, read once and again when a kind is missing. */
import { get, resourcePath } from "../api.js";
import { signal, useEffect } from "../view.js";
import { groupsOf, kindNamed, kindOfObject, pathOf, resourceName } from "./kinds.js";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** The groups with their kinds; null until read. */
export const groups = signal(null);
export const problem = signal(null);
let reading = null;

/** Reads the kinds, unless they are being read. */
export function readKinds() {
  reading ??= Promise.all(["/api", "/apis"].map((path) => get(path, { accept: AGGREGATED, at: "live" })))
    .then(
      (documents) => {
        groups.value = groupsOf(...documents);
        problem.value = null;
      },
      (error) => (problem.value = error),
    )
    .finally(() => (reading = null));
  return reading;
}

/** Returns the kind of a resource such as `deployments.apps`; undefined until known, null if there is none. */
export function useKind(name) {
  const found = groups.value === null ? undefined : kindNamed(groups.value, name);
  useEffect(() => {
    if (!found) readKinds();
  }, [name]);
  return found;
}

/** Returns a reference, as in the addresses of this page: {resource, namespace, name}; null for an unknown kind. */
export function referenceOf(object) {
  const kind = kindOfObject(groups.value ?? [], object.apiVersion ?? "", object.kind ?? "");
  if (!kind) return null;
  return { resource: resourceName(kind), namespace: object.metadata?.namespace ?? object.namespace ?? "", name: object.metadata?.name ?? object.name };
}

/** Returns the parts of the address of an object. */
export const addressOf = ({ resource, namespace, name }) => ["object", resource, namespace || "-", name];

/** Returns the path of an object in the API. */
export const objectPath = (kind, namespace, name) => pathOf(kind, namespace, name);
export const eventsPath = (namespace) => resourcePath({ resource: "events", namespace });
