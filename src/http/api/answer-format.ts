import type { IncomingMessage } from "node:http";

/** Matches a media range of `Accept` for CSV or JSON, with its weight (RFC 9110 section 12.5.1). */
const RANGE = /^\s*(text\/csv|application\/json)\s*(?:$|;(?:.*?\bq=([\d.]+))?)/i;

/**
 * The table format, CSV or JSON, to which `Accept` gives the higher weight. JSON if `Accept` lists
 * neither format, or lists both with the same weight; wildcards are ignored.
 */
export function preferredFormat({
  headers: { accept },
}: Pick<IncomingMessage, "headers">): "json" | "csv" {
  if (accept === undefined || !accept.toLowerCase().includes("text/csv")) return "json";
  const weights = { "text/csv": 0, "application/json": 0 };
  for (const range of accept.split(",")) {
    const [, type, weight = "1"] = RANGE.exec(range) ?? [];
    if (type !== undefined) weights[type.toLowerCase() as keyof typeof weights] = Number(weight);
  }
  return weights["text/csv"] > weights["application/json"] ? "csv" : "json";
}
