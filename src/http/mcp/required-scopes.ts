import { tools } from "../../../tools/index.ts";
import type { Scope } from "../../auth/scopes.ts";

/** Operations on resources and prompts: all of them are about signals. */
const ON_SIGNALS: ReadonlySet<unknown> = new Set([
  "resources/read",
  "prompts/get",
  "subscriptions/listen",
  "completion/complete",
]);

const OF_SIGNALS: readonly Scope[] = ["signals:read"];
const NONE: readonly Scope[] = [];

const scopesOfTools: ReadonlyMap<unknown, readonly Scope[]> = new Map(
  tools.map(({ name, scopes }) => [name, scopes]),
);

/** The scopes that a message of MCP, or the messages of a batch, need together. */
export function scopesOf(body: unknown): readonly Scope[] {
  return Array.isArray(body) ? [...new Set(body.flatMap(scopesOfOne))] : scopesOfOne(body);
}

/** Nothing but the method and the name decides; whatever else is wrong may not make it need less. */
function scopesOfOne(message: unknown): readonly Scope[] {
  const { method, params } = membersOf(message);
  if (ON_SIGNALS.has(method)) return OF_SIGNALS;
  if (method !== "tools/call") return NONE;
  return scopesOfTools.get(membersOf(params).name) ?? NONE;
}

/** Of what is no object, none. */
const membersOf = (value: unknown): Readonly<Record<string, unknown>> => Object(value);
