/** The scopes of the service and what each one lets a caller do. */
export const scopes = {
  "signals:read": "Composite scores (0 to 100) and signals (LONG, SHORT, WAIT)",
  "factor:read": "Four-factor score breakdown",
  "darkpool:read": "Dark pool prints and block trade aggregates",
  "alerts:write": "Register alert webhook endpoints",
} as const;

/** The name of a scope. */
export type Scope = keyof typeof scopes;

/** What an agent without a person behind it may hold at most, and holds by default. */
export const anonymousCeiling: readonly Scope[] = ["signals:read", "factor:read", "darkpool:read"];

/** What it takes to make alerts and to be told of their events, which hold signals. */
export const alertScopes: readonly Scope[] = ["alerts:write", "signals:read"];

/** How a caller gets past the anonymous scopes; part of every refusal for want of scope. */
export const scopeAdvice = "alerts:write needs an agent claimed by a person";

/** Whether a name is one of the scopes. */
export function isScope(name: string): name is Scope {
  return Object.hasOwn(scopes, name);
}

/** The names in a scope parameter (RFC 6749 section 3.3), each once, in the order given. */
export function scopeNames(text: string): readonly string[] {
  return [...new Set(text.split(" ").filter((name) => name !== ""))];
}

/** Every scope, in the order in which they are shown. */
export const allScopes: readonly Scope[] = Object.keys(scopes).filter(isScope);
