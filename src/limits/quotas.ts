import type { Limits as ClassLimits } from "./limits.ts";

/** Number of points allowed per window. */
export interface Quota {
  readonly points: number;
  /** Length of the window in seconds. */
  readonly windowSeconds: number;
}

/** Every rate limit with its default. `RATE_LIMITS` and the `RateLimit` header use these names. */
export const quotas = {
  /**
   * Registrations of clients, per address. The limit is high because the agents on one host share
   * few addresses.
   */
  register: { points: 300, windowSeconds: 600 },
  /** Registrations of clients, per site (/24 of IPv4, /48 of IPv6). */
  "register-site": { points: 1000, windowSeconds: 600 },
  /** Registrations of clients, per provider (/32 of IPv6). */
  "register-provider": { points: 6000, windowSeconds: 600 },
  /** Registrations of agents with identity assertions, per person. */
  "register-account": { points: 300, windowSeconds: 3600 },
  /** Reads of registrations, per client and address. */
  "manage-read": { points: 300, windowSeconds: 3600 },
  /**
   * Updates and deletions of registrations, per client and address; updates also count per client.
   */
  manage: { points: 30, windowSeconds: 3600 },
  /**
   * Updates of registrations, per person with all their agents; split among clients like
   * `alert-events`.
   */
  "manage-account": { points: 300, windowSeconds: 3600 },
  /** Pending authorization requests, which are stored for ten minutes, per address. */
  authorize: { points: 300, windowSeconds: 600 },
  /** Pending authorization requests, per site (/24 of IPv4, /48 of IPv6). */
  "authorize-site": { points: 1000, windowSeconds: 600 },
  /** Pending authorization requests, per provider (/32 of IPv6). */
  "authorize-provider": { points: 3000, windowSeconds: 600 },
  /**
   * Pending authorization requests, in total. A site or provider can use at most a tenth, and less
   * as the quota fills (`countInNetworks`).
   */
  "authorize-all": { points: 10_000, windowSeconds: 600 },
  /** Consents, per person. Each is recorded in the audit log, even if it changes nothing. */
  consent: { points: 60, windowSeconds: 3600 },
  /** Token requests, per client and address; issued tokens also count per client. */
  token: { points: 60, windowSeconds: 60 },
  /**
   * Tokens issued to unclaimed agents, per address. Tokens live for an hour, so these quotas bound
   * the number of live tokens.
   */
  "token-unclaimed": { points: 600, windowSeconds: 3600 },
  /** Tokens issued to unclaimed agents, per site (/24 of IPv4, /48 of IPv6). */
  "token-unclaimed-site": { points: 2000, windowSeconds: 3600 },
  /** Tokens issued to unclaimed agents, per provider (/32 of IPv6). */
  "token-unclaimed-provider": { points: 10_000, windowSeconds: 3600 },
  /** Tokens issued to unclaimed agents, per agent. */
  "token-unclaimed-client": { points: 60, windowSeconds: 3600 },
  /** Tokens issued to clients other than unclaimed agents, per client and person. */
  "token-client": { points: 1000, windowSeconds: 3600 },
  /**
   * Tokens issued for a person, including tokens of the person's agents, per person; split so that
   * no single client uses up the quota.
   */
  "token-account": { points: 5000, windowSeconds: 3600 },
  /** Valid client assertions (RFC 7523), per address. Each is stored until it expires, even if no
   *  token is issued for it. */
  "client-assertion": { points: 10_000, windowSeconds: 3600 },
  /** Valid client assertions, per site (/24 of IPv4, /48 of IPv6). */
  "client-assertion-site": { points: 20_000, windowSeconds: 3600 },
  /** Valid client assertions, per provider (/32 of IPv6). */
  "client-assertion-provider": { points: 50_000, windowSeconds: 3600 },
  /** Rejected token requests recorded in the audit log, per network (/32 of IPv6, /24 of IPv4). */
  "token-refused": { points: 100, windowSeconds: 3600 },
  /**
   * Revocations of access tokens recorded in the audit log, per person. Further revocations are not
   * recorded. Split among clients like `alert-events`.
   */
  "token-revoked": { points: 500, windowSeconds: 3600 },
  /** Audited revocations of access tokens, per client and person. */
  "token-revoked-client": { points: 100, windowSeconds: 3600 },
  /** Revocation requests, per address. */
  revoke: { points: 300, windowSeconds: 60 },
  /** Requests with a wrong client secret, per client. */
  "secret-client": { points: 10, windowSeconds: 900 },
  /**
   * Failed client authentication of any kind, per client and address. Repeated lockouts get longer
   * (`withLockouts`).
   */
  "secret-address": { points: 10, windowSeconds: 900 },
  /** Wrong claim and sign-in codes, per address. Repeated lockouts get longer (`withLockouts`). */
  "wrong-code": { points: 20, windowSeconds: 3600 },
  /** Addresses with a newly stored lockout, per network (/32 of IPv6, /24 of IPv4). */
  lockouts: { points: 1000, windowSeconds: 86_400 },
  /** Applications for access, per address. */
  apply: { points: 5, windowSeconds: 3600 },
  /** Applications for access, per site (/24 of IPv4, /48 of IPv6). */
  "apply-site": { points: 20, windowSeconds: 3600 },
  /** Applications for access, per provider (/32 of IPv6). */
  "apply-provider": { points: 100, windowSeconds: 3600 },
  /** Applications for access in a day, per address. */
  "apply-day": { points: 20, windowSeconds: 86_400 },
  /** Applications for access in a day, per site (/24 of IPv4, /48 of IPv6). */
  "apply-day-site": { points: 50, windowSeconds: 86_400 },
  /** Applications for access in a day, per provider (/32 of IPv6). */
  "apply-day-provider": { points: 200, windowSeconds: 86_400 },
  /** Inquiries, per address. */
  contact: { points: 5, windowSeconds: 3600 },
  /** Inquiries, per site (/24 of IPv4, /48 of IPv6). */
  "contact-site": { points: 20, windowSeconds: 3600 },
  /** Inquiries, per provider (/32 of IPv6). */
  "contact-provider": { points: 100, windowSeconds: 3600 },
  /** Attempts to complete a claim, per agent. */
  "claim-agent": { points: 10, windowSeconds: 3600 },
  /** Attempts to complete a claim, per person; over the API, per application and person. */
  "claim-user": { points: 10, windowSeconds: 3600 },
  /** Attempts to complete a claim by all applications of a person, per person. */
  "claim-account": { points: 60, windowSeconds: 3600 },
  /**
   * Attempts to complete a claim, per address. If an agent completes its own claim, its attempts
   * count against `claim-start-address` and the quotas of its wider networks instead.
   */
  "claim-address": { points: 30, windowSeconds: 3600 },
  /** New claim codes, per agent. */
  "claim-start": { points: 10, windowSeconds: 3600 },
  /** New claim codes, per address. */
  "claim-start-address": { points: 600, windowSeconds: 3600 },
  /** New claim codes, per site (/24 of IPv4, /48 of IPv6). */
  "claim-start-site": { points: 2000, windowSeconds: 3600 },
  /** New claim codes, per provider (/32 of IPv6). */
  "claim-start-provider": { points: 10_000, windowSeconds: 3600 },
  /** Sign-in codes sent, per email address and network address together. */
  "code-email": { points: 5, windowSeconds: 3600 },
  /** Sign-in codes sent, per email address and network (/32 of IPv6, /24 of IPv4), so that no
   *  single network uses up the quota of a mailbox. */
  "code-email-network": { points: 15, windowSeconds: 3600 },
  /** Sign-in codes sent to one email address, in total. */
  "code-email-all": { points: 60, windowSeconds: 3600 },
  /**
   * Sign-in codes that a person requests at a browser where they were the last to sign in, per
   * email address; no other limit on sign-in codes applies to these codes.
   */
  "code-browser": { points: 10, windowSeconds: 3600 },
  /** Sign-in codes sent, per network address. */
  "code-address": { points: 20, windowSeconds: 3600 },
  /** Sign-in codes sent, per site (/24 of IPv4, /48 of IPv6). */
  "code-address-site": { points: 100, windowSeconds: 3600 },
  /** Sign-in codes sent, per provider (/32 of IPv6). */
  "code-address-provider": { points: 500, windowSeconds: 3600 },
  /** Sign-in codes sent, in total, split among networks like `authorize-all`. */
  "code-address-all": { points: 10_000, windowSeconds: 3600 },
  /** Attempts to enter a sign-in code, per network address. */
  "code-tries": { points: 30, windowSeconds: 3600 },
  /** API keys created or revoked, per account. */
  "key-change": { points: 20, windowSeconds: 3600 },
  /** Failed fetches of client documents and key sets, per host and requesting address. */
  "fetch-host": { points: 10, windowSeconds: 3600 },
  /**
   * Fetches of client documents and key sets, per host and requesting site (/48 of IPv6, /24 of
   * IPv4).
   */
  "fetch-host-site": { points: 100, windowSeconds: 3600 },
  /** Fetches of client documents and key sets, per host and requesting provider (/32 of IPv6). */
  "fetch-host-provider": { points: 1000, windowSeconds: 3600 },
  /** Fetches of client documents and key sets, per host in total. */
  "fetch-host-all": { points: 10_000, windowSeconds: 3600 },
  /** Fetches of client documents and key sets, per requesting address. */
  "fetch-address": { points: 30, windowSeconds: 3600 },
  /** Exports, per caller as in `calls`; an export takes up to several seconds of computing time. */
  exports: { points: 60, windowSeconds: 60 },
  /** Alert changes and event replays, per caller. */
  "alert-change": { points: 60, windowSeconds: 3600 },
  /** Alert changes and event replays, per account with all its agents and keys. */
  "alert-change-account": { points: 600, windowSeconds: 3600 },
  /**
   * Recorded alert events (about 3 kB each), per account with all its agents and keys. Further
   * events of the day are not recorded. The share of a client shrinks as the quota fills
   * (`countForClientAndAccount`).
   */
  "alert-events": { points: 20_000, windowSeconds: 86_400 },
  /** Recorded alert events, per application of a person, agent or API key. */
  "alert-events-client": { points: 10_000, windowSeconds: 86_400 },
  /**
   * Recorded delivery attempts (about 1.3 kB each) after the first attempt of each event, per
   * account with all its agents and keys. Further attempts wait for the next window. Split among
   * clients like `alert-events`.
   */
  "alert-repeats": { points: 20_000, windowSeconds: 86_400 },
  /**
   * Recorded delivery attempts after the first attempt of each event, per application of a person,
   * agent or API key.
   */
  "alert-repeats-client": { points: 10_000, windowSeconds: 86_400 },
  /** Test events, per alert. */
  "alert-test": { points: 10, windowSeconds: 3600 },
  /** Challenges sent to a webhook host, per person, or per caller without an owner. */
  "challenge-host": { points: 10, windowSeconds: 3600 },
  /**
   * Challenges sent to a webhook host, per application of a person, agent or API key; split like
   * `alert-events`.
   */
  "challenge-host-client": { points: 5, windowSeconds: 3600 },
  /**
   * Challenges sent to a webhook host, in total. Each person or caller can use a share of at least
   * one point, which shrinks as the quota fills (`countInSharedQuota`).
   */
  "challenge-host-all": { points: 1000, windowSeconds: 3600 },
  /** Changes and tests of channels, per person. */
  "channel-change": { points: 60, windowSeconds: 3600 },
  /** Confirmation codes sent to new channels, per person. */
  "channel-code": { points: 10, windowSeconds: 3600 },
  /** Confirmation codes sent to new channels, per person and target. */
  "channel-code-target": { points: 5, windowSeconds: 3600 },
  /**
   * Confirmation codes sent to new channels, per target in total, split like `challenge-host-all`.
   * The window is a day, because a target may belong to someone who does not want codes: with 60
   * codes and 5 attempts each, the chance of a correct guess is 3 in 10,000.
   */
  "channel-code-target-all": { points: 60, windowSeconds: 86_400 },
  /**
   * Messages sent to a mailbox or chat, per person and target; a message counts once, regardless of
   * retries. Further events wait for the next window and are then combined into a digest.
   */
  "channel-messages": { points: 60, windowSeconds: 3600 },
} as const satisfies Readonly<Record<string, Quota>>;

/** Name of a quota. */
export type QuotaName = keyof typeof quotas;

/** The state of a quota for one key. */
export interface QuotaState {
  readonly quota: QuotaName;
  /** The configured quota. */
  readonly policy: Quota;
  readonly points: number;
  /** Milliseconds until the window ends. */
  readonly resetMs: number;
  /**
   * Whether the last count exceeded the quota; after `peek`, whether the next count would exceed
   * it.
   */
  readonly isExceeded: boolean;
}

/** Counts actions against quotas. */
export interface Limits extends ClassLimits {
  /**
   * Counts one action.
   *
   * @param key Identifies the party that the action is counted for; an address must come from
   * `ipAddressKey`.
   */
  count(quota: QuotaName, key: string): Promise<QuotaState>;

  /** Reads the state of a quota without counting. */
  peek(quota: QuotaName, key: string): Promise<QuotaState>;
}
