/** Paths and reads of the telemetry. Telemetry has times instead of revisions: the past is that before a time. */
import { get } from "../api.js";
import { useRead } from "../collection.js";
import { playback } from "../past/time_model.js";
import { timeOf } from "../past/playback.js";
import { isLive } from "../time.js";
import { signal, useEffect } from "../view.js";

export const TELEMETRY = "/apis/setpoint.dev/v1/telemetry";
/** The names of the services that sent telemetry. */
export const services = signal([]);

/** Returns the end of the shown time in RFC 3339; "" for the newest records. */
export function endOfTime() {
  if (isLive.value) return "";
  const time = timeOf(playback.value);
  return time === null ? "" : new Date(time).toISOString();
}

/** Reads an answer of the telemetry; the selected revision is no parameter of these paths. */
export const useTelemetry = (path, query = {}) => useRead(path && `${TELEMETRY}/${path}`, query, { at: "live" });

export function useServices() {
  useEffect(() => {
    get(`${TELEMETRY}/services`, { at: "live" }).then(
      ({ items }) => (services.value = items.map((item) => (typeof item === "string" ? item : item.name)).sort()),
      () => (services.value = []),
    );
  }, []);
  return services.value;
}
