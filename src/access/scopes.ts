/** The scopes of the service, each with a description of what it allows. */
export const scopeDescriptions = {
  "signals:read": "Composite scores (0 to 100) and signals (LONG, SHORT, WAIT)",
  "factor:read": "Four-factor score breakdown",
  "darkpool:read": "Dark pool prints and block trade aggregates",
  "alerts:write": "Register alert webhook endpoints",
} as const;

/** The name of a scope. */
export type Scope = keyof typeof scopeDescriptions;

/** Scopes of an agent without an owner: the default, and the most that the operator can allow. */
export const anonymousScopeCeiling: readonly Scope[] = [
  "signals:read",
  "factor:read",
  "darkpool:read",
];

/** The scopes required to create alerts and to receive their events, which contain signals. */
export const alertScopes: readonly Scope[] = ["alerts:write", "signals:read"];

/** Advice on getting more than the anonymous scopes; part of every `insufficient_scope` error. */
export const scopeAdvice = "alerts:write needs an agent claimed by a person";

/** Whether a text is the name of a scope of this service. */
export function isScope(name: string): name is Scope {
  return Object.hasOwn(scopeDescriptions, name);
}

/**
 * The scope names in a scope parameter (RFC 6749 section 3.3), without duplicates, in the given
 * order.
 */
export function parseScopeNames(text: string): readonly string[] {
  return [...new Set(text.split(" ").filter((name) => name !== ""))];
}

/** All scopes, in display order. */
export const allScopes: readonly Scope[] = Object.keys(scopeDescriptions).filter(isScope);
