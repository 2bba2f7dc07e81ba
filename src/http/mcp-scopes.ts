import { z } from "zod";
import { tools } from "../../tools/index.ts";
import type { Scope } from "../auth/scopes.ts";

/** What of a message decides which scope it needs; nothing else may make it fit less. */
const Message = z.object({ method: z.string(), params: z.unknown() });
const Params = z.object({ name: z.unknown() });

/** Operations on resources and prompts: all of them are about signals. */
const ON_SIGNALS: readonly string[] = [
  "resources/read",
  "prompts/get",
  "subscriptions/listen",
  "completion/complete",
];

/** The scopes that a message of MCP, or the messages of a batch, need together. */
export function scopesOf(body: unknown): readonly Scope[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  return [...new Set(messages.flatMap(scopesOfOne))];
}

function scopesOfOne(message: unknown): readonly Scope[] {
  const { method, params } = Message.safeParse(message).data ?? {};
  if (method === undefined) return [];
  if (ON_SIGNALS.includes(method)) return ["signals:read"];
  if (method !== "tools/call") return [];
  const called = Params.safeParse(params).data?.name;
  return tools.filter(({ name }) => name === called).map(({ scope }) => scope);
}
