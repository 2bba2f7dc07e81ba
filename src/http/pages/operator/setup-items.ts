import type { SignUpMode } from "../../../access/sign-up-mode.ts";
import type { MarketMode } from "../../../market/market.ts";
import { isLoopbackHost } from "../../../outbound/loopback.ts";

/** The facts from which the operator page is built; they contain no secrets. */
export interface SetupFacts {
  readonly baseUrl: string;
  readonly market: {
    readonly mode: MarketMode;
    readonly instruments: number;
    /** Instant up to which market data is known, ISO 8601. */
    readonly asOf: string;
  };
  /** Live providers that lack required settings, each with the names of the missing settings. */
  readonly missingProviders: readonly string[];
  /** Sender address of emails; `undefined` without a mail server. */
  readonly mailFrom: string | undefined;
  readonly signUp: SignUpMode;
  readonly engine: "embedded" | "postgres";
  /** Absolute path of the data folder. */
  readonly folder: string;
  /** Whether the master key comes from its environment variable instead of a file in the folder. */
  readonly isMasterKeySet: boolean;
  readonly hasLog: boolean;
  /** Whether the signal log may be signed. */
  readonly isLogSigned: boolean;
  /** Age of the last backup by `store backup`, in milliseconds; `undefined` if there is none. */
  readonly backupAgeMs: number | undefined;
  readonly hasWitnesses: boolean;
  readonly hasMetrics: boolean;
  readonly proxyHops: number;
  /** Components whose check fails. */
  readonly faults: readonly { readonly name: string; readonly detail: string }[];
}

/** An item of the operator's setup list. */
export interface SetupItem {
  readonly name: string;
  /**
   * `fault`: a component fails; `todo`: required before other people use the service; `advice`:
   * recommended; `done`: complete.
   */
  readonly state: "fault" | "todo" | "advice" | "done";
  /** The current state, in words. */
  readonly is: string;
  /** The next step; absent if there is nothing to do. */
  readonly next?: string;
  /** A command that performs the next step. */
  readonly command?: string;
}

/** All setup items, in the order in which an operator deals with them. */
export const setupItems = (facts: SetupFacts): readonly SetupItem[] => [
  ...facts.faults.map((fault) => faultItem(fault, facts)),
  addressItem(facts),
  marketItem(facts),
  mailItem(facts),
  signUpItem(facts),
  KEYS,
  masterKeyItem(facts),
  backupItem(facts),
  storeItem(facts),
  ...(facts.hasLog ? [witnessItem(facts)] : []),
  metricsItem(facts),
];

/**
 * The next item to deal with: the first fault, else the first required item, else the first
 * recommendation; `undefined` when all items are done.
 */
export const nextSetupItem = (items: readonly SetupItem[]): SetupItem | undefined =>
  (["fault", "todo", "advice"] as const)
    .flatMap((state) => items.filter((item) => item.state === state))
    .at(0);

function faultItem(
  { name, detail }: SetupFacts["faults"][number],
  { isLogSigned }: SetupFacts,
): SetupItem {
  const item = { name: `Component ${name}`, state: "fault", is: detail } as const;
  return name === "log" && !isLogSigned
    ? {
        ...item,
        next: "As after a restore, signing it would be a fork. If no copy of the store has the missing entries, start a new log (docs/operations.md).",
        command: "market-signal admin log new",
      }
    : { ...item, next: "GET /readyz says when it is well again; the log says more." };
}

function addressItem({ baseUrl, proxyHops }: SetupFacts): SetupItem {
  const { protocol, hostname } = new URL(baseUrl);
  const name = "Address";
  if (isLoopbackHost(hostname)) {
    return {
      name,
      state: "todo",
      is: `${baseUrl}: only this machine reaches it.`,
      next: "Put a reverse proxy with a certificate in front (deploy/nginx.conf), set BASE_URL to its public https address and TRUST_PROXY to 1. Agents take the address from it.",
    };
  }
  if (protocol !== "https:") {
    return {
      name,
      state: "todo",
      is: `${baseUrl}: tokens cross the network in the clear.`,
      next: "Set BASE_URL to an https address.",
    };
  }
  if (proxyHops === 0) {
    return {
      name,
      state: "advice",
      is: `${baseUrl}, without a trusted proxy.`,
      next: "If a reverse proxy is in front, set TRUST_PROXY to the number of proxies: limits otherwise count all callers as one.",
    };
  }
  return {
    name,
    state: "done",
    is: `${baseUrl}, behind ${proxyHops} trusted ${proxyHops === 1 ? "proxy" : "proxies"}.`,
  };
}

function marketItem({ market, missingProviders }: SetupFacts): SetupItem {
  const name = "Market";
  const what = `${market.instruments} instruments, as of ${market.asOf}`;
  if (market.instruments === 0) {
    return {
      name,
      state: "todo",
      is: "No instrument is covered yet.",
      next: "Wait for the first data, or see what the providers say.",
      command: "market-signal doctor",
    };
  }
  if (market.mode === "live") {
    const isComplete = missingProviders.length === 0;
    return {
      name,
      state: isComplete ? "done" : "advice",
      is: `Live: ${what}.${isComplete ? "" : ` Not configured: ${missingProviders.join("; ")}.`}`,
      ...(!isComplete && {
        next: "Each provider adds evidence; docs/live-providers.md has their terms.",
        command: "market-signal doctor",
      }),
    };
  }
  if (market.mode === "sandbox") {
    return {
      name,
      state: "advice",
      is: `Simulated: ${what}. Every answer says so.`,
      next: "For real data set MARKET=live, with a free Alpaca key for stocks (docs/live-providers.md).",
    };
  }
  return { name, state: "done", is: `Recorded history: ${what}.` };
}

function mailItem({ mailFrom }: SetupFacts): SetupItem {
  const name = "Email";
  if (mailFrom !== undefined) return { name, state: "done", is: `Sent from ${mailFrom}.` };
  return {
    name,
    state: "todo",
    is: "No mail server: sign-in codes wait for you, who pass them on.",
    next: "Set SMTP_URL and MAIL_FROM. Until then read the codes with this command.",
    command: "market-signal admin mail",
  };
}

function signUpItem({ signUp, market }: SetupFacts): SetupItem {
  const name = "Sign-up";
  if (signUp === "open") {
    const isMeant = market.mode === "sandbox";
    return {
      name,
      state: isMeant ? "done" : "advice",
      is: "Everybody with an email address can make an account.",
      ...(!isMeant && { next: "SIGN_UP=applications lets you decide on each." }),
    };
  }
  return signUp === "closed"
    ? { name, state: "done", is: "Closed: nobody can make an account." }
    : {
        name,
        state: "done",
        is: "By application, on which you decide.",
        command: "market-signal admin applications list",
      };
}

const KEYS: SetupItem = {
  name: "Keys",
  state: "done",
  is: "Signing keys are made at the first start. People make API keys on their account page; for a service you do.",
  command: 'market-signal admin key create --name "Desk" --scopes "signals:read"',
};

function masterKeyItem({ isMasterKeySet, folder }: SetupFacts): SetupItem {
  const name = "Master key";
  return isMasterKeySet
    ? { name, state: "done", is: "From the setting MASTER_KEY." }
    : {
        name,
        state: "todo",
        is: `In the file master.key of ${folder}. Backups do not contain it, and are of no use without it.`,
        next: "Keep a copy of that file apart from the backups, or move it to MASTER_KEY in your store of secrets.",
      };
}

/** Maximum age of a recent backup, in milliseconds: a night was missed when it is older. */
const RECENT_BACKUP_MS = 36 * 3_600_000;

const backupItem = ({ engine, backupAgeMs: ageMs }: SetupFacts): SetupItem => ({
  name: "Backups",
  state: ageMs !== undefined && ageMs <= RECENT_BACKUP_MS ? "done" : "advice",
  is:
    ageMs === undefined
      ? "None was made by market-signal store backup; the service does not see others."
      : `The last is ${Math.round(ageMs / 3_600_000)} hours old.`,
  next: `Make one each night (deploy/market-signal-backup.timer) and try one out each month with market-signal store drill.${engine === "postgres" ? " A backup of PostgreSQL itself serves as well." : ""}`,
  command: "market-signal store backup <file>",
});

const storeItem = ({ engine, folder }: SetupFacts): SetupItem => ({
  name: "Store",
  state: "done",
  is:
    engine === "postgres"
      ? "PostgreSQL, for any number of processes."
      : `SQLite in ${folder}, for one process.`,
});

function witnessItem({ hasWitnesses }: SetupFacts): SetupItem {
  const name = "Witnesses";
  return hasWitnesses
    ? { name, state: "done", is: "Others cosign the log of signals." }
    : {
        name,
        state: "advice",
        is: "Only this service signs its log, so it could show different logs to different people.",
        next: "Ask someone else to run market-signal witness, and set WITNESSES (docs/verification.md).",
      };
}

function metricsItem({ hasMetrics }: SetupFacts): SetupItem {
  const name = "Metrics";
  return hasMetrics
    ? { name, state: "done", is: "Served for Prometheus." }
    : {
        name,
        state: "advice",
        is: "None are kept.",
        next: "Set METRICS_PORT; deploy/ has alerts for Prometheus and a dashboard for Grafana.",
      };
}
