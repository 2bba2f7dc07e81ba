/** How often something may be done. */
export interface Quota {
  readonly points: number;
  /** Length of the window in seconds. */
  readonly windowSeconds: number;
}

/** Every limit with its default (reliability section 4). The name is what `RATE_LIMITS` and the
 *  `RateLimit` header field call it. */
export const quotas = {
  /** Registrations of clients, per address: agents of one host share few. */
  register: { points: 300, windowSeconds: 600 },
  /** Registrations of clients, per site (/24 of IPv4, /48 of IPv6). */
  "register-site": { points: 1000, windowSeconds: 600 },
  /** Registrations of clients, per provider (/32 of IPv6). */
  "register-provider": { points: 6000, windowSeconds: 600 },
  /** Reads of registrations, per client and address. */
  "manage-read": { points: 300, windowSeconds: 3600 },
  /** Updates and removals of registrations, per client and address. */
  manage: { points: 30, windowSeconds: 3600 },
  /** Authorization requests that are kept while a person is asked, for ten minutes, per address. */
  authorize: { points: 300, windowSeconds: 600 },
  /** The same, per site. */
  "authorize-site": { points: 1000, windowSeconds: 600 },
  /** The same, per provider. */
  "authorize-provider": { points: 3000, windowSeconds: 600 },
  /** The same, all together, of which a site or provider has at most a tenth, and less the more is used (`countInNetworks`). */
  "authorize-all": { points: 10_000, windowSeconds: 600 },
  /** Token requests, per client and address, and tokens given, per client. */
  token: { points: 60, windowSeconds: 60 },
  /** Tokens given to agents that nobody has claimed, per address. Tokens live for an hour, so that these
   *  quotas bound the ones that are live. */
  "token-unclaimed": { points: 600, windowSeconds: 3600 },
  /** The same, per site. */
  "token-unclaimed-site": { points: 2000, windowSeconds: 3600 },
  /** The same, per provider. */
  "token-unclaimed-provider": { points: 10_000, windowSeconds: 3600 },
  /** The same, per agent. */
  "token-unclaimed-client": { points: 60, windowSeconds: 3600 },
  /** Tokens given to any other client, and for a person, per client and person. */
  "token-client": { points: 1000, windowSeconds: 3600 },
  /** Tokens given for a person and to the agents that they answer for, per person: no single client
   *  uses it up. */
  "token-account": { points: 5000, windowSeconds: 3600 },
  /** Refused token requests that are recorded in the audit, per network (/32 of IPv6, /24 of IPv4). */
  "token-refused": { points: 100, windowSeconds: 3600 },
  /** Revocations, per address. */
  revoke: { points: 300, windowSeconds: 60 },
  /** Wrong secrets, per client. */
  "secret-client": { points: 10, windowSeconds: 900 },
  /** Wrong proofs of clients, of whatever kind, per address. The lock of who goes on grows. */
  "secret-address": { points: 10, windowSeconds: 900 },
  /** Wrong claim and sign-in codes, per address. The lock of who goes on grows. */
  "wrong-code": { points: 20, windowSeconds: 3600 },
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
  /** Sign-in codes sent, per e-mail address and network address together. */
  "code-email": { points: 5, windowSeconds: 3600 },
  /** Sign-in codes sent, per e-mail address and network (/32 of IPv6, /24 of IPv4) together: nobody
   *  uses up alone what reaches one mailbox. */
  "code-email-network": { points: 15, windowSeconds: 3600 },
  /** Sign-in codes sent, per e-mail address, whoever asks: what reaches one mailbox. */
  "code-email-all": { points: 60, windowSeconds: 3600 },
  /** Sign-in codes sent to the person who signed in last at a browser, per browser: no other limit of
   *  sign-in counts there. */
  "code-browser": { points: 10, windowSeconds: 3600 },
  /** Sign-in codes sent, per network address. */
  "code-address": { points: 20, windowSeconds: 3600 },
  /** Sign-in codes tried, per network address. */
  "code-tries": { points: 30, windowSeconds: 3600 },
  /** API keys made and revoked, per account. */
  "key-change": { points: 20, windowSeconds: 3600 },
  /** Documents and key sets of clients that could not be fetched, per host and address. */
  "fetch-host": { points: 10, windowSeconds: 3600 },
  /** Documents and key sets of clients fetched, per host and site (/48, or /24 of IPv4) that asks. */
  "fetch-host-site": { points: 100, windowSeconds: 3600 },
  /** The same, per host and provider (/32 of IPv6) that asks. */
  "fetch-host-provider": { points: 1000, windowSeconds: 3600 },
  /** The same, per host, whoever asks. */
  "fetch-host-all": { points: 10_000, windowSeconds: 3600 },
  /** Documents and key sets of clients fetched for requests from one address. */
  "fetch-address": { points: 30, windowSeconds: 3600 },
  /** Wrong tokens and keys, per address. */
  "credential-address": { points: 300, windowSeconds: 60 },
  /** Calls of tools, REST and MCP together, per caller. */
  calls: { points: 600, windowSeconds: 60 },
  /** The same, per agent that nobody answers for (architecture section 7). */
  "calls-anonymous": { points: 120, windowSeconds: 60 },
  /** Requests for anything that needs no credential, per address. */
  visits: { points: 3000, windowSeconds: 60 },
  /** Alerts made, changed and removed, and events asked for again, per caller. */
  "alert-change": { points: 60, windowSeconds: 3600 },
  /** Events that alerts record, per account with all its agents and keys: of some 3 kB each. Further
   *  ones of the day are not recorded. */
  "alert-events": { points: 20_000, windowSeconds: 86_400 },
  /** Test events, per alert. */
  "alert-test": { points: 10, windowSeconds: 3600 },
  /** Challenges sent to the host of a webhook, per person, or caller that no person answers for. */
  "challenge-host": { points: 10, windowSeconds: 3600 },
  /** The same, per host, whoever has webhooks there; of this each person or caller has a share, of one at
   *  least, that shrinks as it is used (`countForAll`). */
  "challenge-host-all": { points: 1000, windowSeconds: 3600 },
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
