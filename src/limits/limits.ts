/** How often something may be done. */
export interface Quota {
  readonly points: number;
  /** Length of the window in seconds. */
  readonly windowSeconds: number;
}

/** Every limit with its default (reliability section 4). The name is what `RATE_LIMITS` and the
 *  `RateLimit` header field call it. */
export const quotas = {
  /** Registrations of clients, per address. */
  register: { points: 10, windowSeconds: 3600 },
  /** Registrations of clients, all together. */
  "register-all": { points: 1000, windowSeconds: 3600 },
  /** Token requests, per client. */
  token: { points: 60, windowSeconds: 60 },
  /** Wrong client secrets, per client. */
  "secret-client": { points: 10, windowSeconds: 900 },
  /** Wrong client secrets, per address. */
  "secret-address": { points: 10, windowSeconds: 900 },
  /** Applications, per address. */
  apply: { points: 5, windowSeconds: 3600 },
  /** Applications in a day, per address. */
  "apply-day": { points: 20, windowSeconds: 86_400 },
  /** Inquiries, per address. */
  contact: { points: 5, windowSeconds: 3600 },
  /** Attempts to complete a claim, per agent. */
  "claim-agent": { points: 10, windowSeconds: 3600 },
  /** Attempts to complete a claim, per person. */
  "claim-user": { points: 10, windowSeconds: 3600 },
  /** Attempts to complete a claim, per address. */
  "claim-address": { points: 30, windowSeconds: 3600 },
  /** New claim codes, per agent. */
  "claim-start": { points: 10, windowSeconds: 3600 },
  /** Sign-in codes sent, per e-mail address. */
  "code-email": { points: 5, windowSeconds: 3600 },
  /** Sign-in codes sent, per network address. */
  "code-address": { points: 20, windowSeconds: 3600 },
  /** Sign-in codes tried, per network address. */
  "code-tries": { points: 30, windowSeconds: 3600 },
  /** Client metadata documents fetched, per host. */
  "fetch-host": { points: 60, windowSeconds: 3600 },
  /** Client metadata documents fetched for requests from one address. */
  "fetch-address": { points: 30, windowSeconds: 3600 },
  /** Wrong tokens and keys, per address. */
  "credential-address": { points: 300, windowSeconds: 60 },
  /** Calls of tools, REST and MCP together, per caller. */
  calls: { points: 600, windowSeconds: 60 },
} as const satisfies Readonly<Record<string, Quota>>;

/** Name of a limit. */
export type QuotaName = keyof typeof quotas;

/** What is left of a quota. */
export interface Remaining {
  readonly quota: QuotaName;
  /** The quota as it is set here. */
  readonly policy: Quota;
  readonly points: number;
  /** Milliseconds until the window ends. */
  readonly resetMs: number;
  /** What was counted was too much; where nothing was counted, one more would be. */
  readonly isExceeded: boolean;
}

/** Counts what callers do. */
export interface Limits {
  /** Counts one. @param key Who or what is counted; an address as `addressKey` gives it. */
  count(quota: QuotaName, key: string): Promise<Remaining>;

  /** Looks without counting. */
  look(quota: QuotaName, key: string): Promise<Remaining>;
}
