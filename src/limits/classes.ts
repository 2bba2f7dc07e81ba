/**
 * Most that a class of actions allows. Every class has all three numbers, so that neither one
 * caller, nor the holder of a network, nor many networks together can use up what it protects. A
 * fifth of the total is reserved for networks that have used nothing (`admission.ts`).
 */
export interface LimitNumbers {
  /** Most for one caller. */
  readonly caller: number;
  /** Most for one network: a /24 of IPv4 or a /48 of IPv6 (`networkOf`). */
  readonly network: number;
  /** Most for all callers together. */
  readonly total: number;
}

/**
 * Fewest networks that can together use up what is not reserved of a total, each of them its own
 * number (`networksToReserve`). Every class needs as many, unless it says why it does not.
 */
export const FEWEST_NETWORKS = 40;

/** What docs/limits.md says of a class, as Markdown. */
interface LimitDescription {
  /** What counts. */
  readonly counts: string;
  /** Who the caller is. */
  readonly by: string;
  /** Why the numbers are as they are. */
  readonly because: string;
}

/** A limit on actions in a window of time. */
export interface RateClass extends LimitNumbers, LimitDescription {
  /** Length of the window in seconds. It begins with the first action that is counted. */
  readonly seconds: number;
  /** The three numbers hold for each target, such as a mailbox, instead of the whole service. */
  readonly per?: "host" | "mailbox or chat";
  /** Why fewer networks than `FEWEST_NETWORKS` can use up what is not reserved. */
  readonly fewNetworks?: string;
  /**
   * What is counted has happened already, so the caller's number counts it also where the network's
   * or the total would refuse it; these two then bound only what is stored of others.
   */
  readonly countsWhatHappened?: true;
}

/** A limit on what is under way, or stored, at the same time. */
export interface HoldingClass extends LimitNumbers, LimitDescription {}

/** The limits on actions in a window of time. */
export const rateClasses = {
  calls: {
    caller: 600,
    network: 12_000,
    total: 600_000,
    seconds: 60,
    counts: "tool calls over REST and MCP",
    by: "application of a person, claimed agent, or API key",
    because: "computing time; the proxy passes as much of a network",
  },
  "calls-unclaimed": {
    caller: 120,
    network: 6_000,
    total: 300_000,
    seconds: 60,
    counts: "tool calls of agents that nobody has claimed",
    by: "agent",
    because: "computing time; registration is free, so the network is what counts",
  },
  visits: {
    caller: 3_000,
    network: 12_000,
    total: 600_000,
    seconds: 60,
    counts: "requests for public resources, with no or a wrong credential, and revocations",
    by: "address",
    because: "computing time",
  },
  registrations: {
    caller: 300,
    network: 1_000,
    total: 100_000,
    seconds: 600,
    counts: "registrations of clients",
    by: "address; the person, where an assertion names one",
    because: "a registration is stored and checked; agents on one host share few addresses",
  },
  changes: {
    caller: 60,
    network: 1_200,
    total: 60_000,
    seconds: 3_600,
    counts:
      "changes of alerts, watchlists, channels, keys, consents and registrations, tests and replays",
    by: "application of a person, agent, or API key; the person on pages",
    because: "each is a durable write, most with a row in the audit log",
  },
  authorizations: {
    caller: 300,
    network: 1_000,
    total: 50_000,
    seconds: 600,
    counts:
      "authorization requests, and sign-ins that an identity provider is asked for, which are stored for ten minutes",
    by: "address",
    because: "memory and disk: 2 kB each, 100 MB in all",
  },
  "token-requests": {
    caller: 60,
    network: 2_000,
    total: 100_000,
    seconds: 60,
    counts: "token requests, and the client assertions that they use",
    by: "client and address together",
    because: "verification of client authentication",
  },
  tokens: {
    caller: 1_000,
    network: 10_000,
    total: 500_000,
    seconds: 3_600,
    counts: "tokens of people, and of agents that they claimed",
    by: "client and person together",
    because: "a token lives for an hour, so this bounds how many are stored: 500 MB in all",
  },
  "tokens-unclaimed": {
    caller: 60,
    network: 2_000,
    total: 100_000,
    seconds: 3_600,
    counts: "tokens of agents that nobody has claimed",
    by: "agent",
    because: "as above",
  },
  guesses: {
    caller: 10,
    network: 100,
    total: 20_000,
    seconds: 900,
    countsWhatHappened: true,
    counts:
      "wrong secrets of clients, wrong claim codes, wrong sign-in codes and wrong codes of channels",
    by: "address, for secrets together with the client; for claims the person, together with the application that acts for them; person for codes of channels",
    because:
      "guessing; a caller over its own number is locked out, for longer each time; the numbers of the network and in total lock nobody out",
  },
  claims: {
    caller: 20,
    network: 1_000,
    total: 50_000,
    seconds: 3_600,
    counts: "new claim codes, and attempts to claim",
    by: "agent; the person, together with the application that acts for them",
    because: "guessing, and a durable write each",
  },
  "code-mails": {
    caller: 20,
    network: 100,
    total: 10_000,
    seconds: 3_600,
    counts: "codes sent to any mailbox or chat",
    by: "address for sign-in, person for channels; apart from these, the mailbox for a browser in which its person signed in before, in the network of their first sign-in; apart from both, the mailbox for a browser with its link, where the network has nothing left; the first code of an hour at either kind of browser counts for the mailbox and in total alone",
    because:
      "the mail server's reputation: three times these numbers, since known browsers and links have them too, and once more the total for first codes, which go only to mailboxes whose holders have read their mail",
  },
  "mailbox-codes": {
    caller: 3,
    network: 3,
    total: 20,
    seconds: 900,
    per: "mailbox or chat",
    fewNetworks:
      "a mailbox that 40 networks could not use up would get 7,000 mails a day; its owner has another way (below)",
    counts:
      "codes of every kind sent to one mailbox, however its address is spelled, or to one chat",
    by: "address for sign-in, person for channels; all browsers in which the person signed in before are one caller apart, and all with the link of the mailbox another",
    because:
      "nobody's mailbox is flooded, and strangers do not lock its owner out of known browsers",
  },
  "document-fetches": {
    caller: 30,
    network: 300,
    total: 20_000,
    seconds: 3_600,
    counts: "fetches of client documents and key sets from anywhere",
    by: "address",
    because:
      "the service must not scan other hosts; the last good answer of an hour serves meanwhile",
  },
  "host-requests": {
    caller: 10,
    network: 100,
    total: 5_000,
    seconds: 3_600,
    per: "host",
    counts: "fetches of client documents from one host, and challenges and codes sent to it",
    by: "address for documents, person for challenges and codes",
    because: "the service must not be used to attack a host",
  },
  submissions: {
    caller: 5,
    network: 20,
    total: 1_000,
    seconds: 3_600,
    counts: "applications and inquiries",
    by: "address",
    because: "a person reads them",
  },
  events: {
    caller: 2_000,
    network: 10_000,
    total: 500_000,
    seconds: 86_400,
    counts: "recorded events of alerts, 3 kB each, and attempts to deliver one again, 1.3 kB each",
    by: "account with all its agents and keys; events and repeated attempts each",
    because: "both are kept for 30 days: 180 MB an account, 0.9 GB a network, 45 GB in all",
  },
  messages: {
    caller: 60,
    network: 120,
    total: 240,
    seconds: 3_600,
    per: "mailbox or chat",
    fewNetworks:
      "only who has proved by a code that the mailbox or chat is theirs can count in it; of guesses, `mailbox-codes` leaves strangers at most 100 in 15 minutes, of which one in 100 million is right",
    counts: "messages about events to one mailbox or chat; what exceeds them comes as a digest",
    by: "person; the network is the one in which they first signed in",
    because: "a mailbox stays readable",
  },
  "audit-rows": {
    caller: 50,
    network: 100,
    total: 5_000,
    seconds: 3_600,
    counts:
      "rows in the audit log for sign-ins and sign-outs, refused token requests, revoked tokens and new lockouts",
    by: "account for sign-ins and sign-outs, which nobody else uses up: the numbers of network and total are not theirs; network for refusals and lockouts, client and person together for revocations",
    because:
      "disk: rows are kept for 400 days, 0.4 GB of an account's sign-ins, 20 GB in all of the rest; what exceeds this happens, unrecorded, and the metrics count how often",
  },
} as const satisfies Readonly<Record<string, RateClass>>;

/** The limits on what is under way at the same time, in each process. */
export const concurrencyClasses = {
  streams: {
    caller: 5,
    network: 50,
    total: 2_500,
    counts: "open streams of events and of tables",
    by: "application of a person, agent, or API key",
    because: "memory and sockets: a sixth of the connections of a process",
  },
  exports: {
    caller: 2,
    network: 10,
    total: 500,
    counts: "exports that are under way; two of them at a time compute, networks in turn",
    by: "application of a person, agent, or API key",
    because: "an export computes for seconds",
  },
  fetches: {
    caller: 8,
    network: 8,
    total: 400,
    counts: "fetches of client documents and key sets that are under way",
    by: "address",
    because:
      "a request waits for its fetch; hosts that never answer must not hold all 500 requests that a process works on at a time",
  },
} as const satisfies Readonly<Record<string, HoldingClass>>;

/** The limits on what is stored at the same time. */
export const storageClasses = {
  alerts: {
    caller: 160,
    network: 1_600,
    total: 80_000,
    counts: "alerts (100 of a caller), watchlists (50) and channels (10)",
    by: "account with all its agents and keys; the network is the one in which its person first signed in",
    because:
      "disk and memory: at most 12 kB each, with 100 symbols and a long URL, so 1 GB of both in all; people use them, so none is evicted; accounts share the network's number (below)",
  },
  agents: {
    caller: 250,
    network: 250,
    total: 12_500,
    counts:
      "agents that nobody has claimed, one for each 2,048 characters of metadata; those with a person's grant are counted apart",
    by: "network",
    because: "disk and memory",
  },
  intake: {
    caller: 400,
    network: 400,
    total: 20_000,
    counts: "applications that wait, and their tokens; inquiries",
    by: "network",
    because: "disk: each is kept for up to 400 days",
  },
} as const satisfies Readonly<Record<string, HoldingClass>>;

/** Name of a limit on actions in a window of time. */
export type RateName = keyof typeof rateClasses;

/** Name of any class; `RATE_LIMITS`, metrics and documentation use it. */
type LimitName = RateName | keyof typeof concurrencyClasses | keyof typeof storageClasses;

/** The numbers of every class by name. */
export const limitNumbers: Readonly<Record<LimitName, LimitNumbers>> = {
  ...rateClasses,
  ...concurrencyClasses,
  ...storageClasses,
};

/** Numbers that replace the defaults of limits in a window of time, and of `alerts`. */
export type LimitOverrides = Readonly<Partial<Record<RateName | "alerts", LimitNumbers>>>;
