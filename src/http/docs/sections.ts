import type { DescribedOperation } from "./described.ts";

/** A section of the API reference. */
export interface ReferenceSection {
  /** HTML id, the target of links to the section. */
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly has: (operation: Pick<DescribedOperation, "path" | "tag">) => boolean;
}

const under =
  (...folders: readonly string[]): ReferenceSection["has"] =>
  ({ path }) =>
    folders.some((folder) => path === folder || path.startsWith(`${folder}/`));

const tagged =
  (...tags: readonly string[]): ReferenceSection["has"] =>
  ({ tag }) =>
    tags.includes(tag);

const isVerification = under("/api/signals/verify", "/api/track-record");

/** The sections in reading order; each operation belongs to exactly one section. */
const sections: readonly ReferenceSection[] = [
  {
    id: "access",
    title: "Get access",
    about:
      "An agent registers itself and gets a token; a person claims it for what only a person may allow.",
    has: tagged("Access"),
  },
  {
    id: "signals",
    title: "Signals",
    about: "Scores with their signal: one instrument, its history, or a list.",
    has: (operation) =>
      under("/api/signals", "/api/instruments")(operation) && !isVerification(operation),
  },
  {
    id: "factors",
    title: "Factors",
    about: "The evidence behind a score, and the method, with which anyone can compute it again.",
    has: under("/api/factors", "/api/method"),
  },
  {
    id: "off-exchange",
    title: "Off-exchange",
    about: "Trades away from the exchanges: prints, blocks, days and their summary.",
    has: under("/api/darkpool"),
  },
  {
    id: "verify",
    title: "Verify",
    about:
      "What was logged, its proof, and how it turned out. `market-signal verify` does all of it at once.",
    has: (operation) => isVerification(operation) || tagged("Log")(operation),
  },
  {
    id: "alerts",
    title: "Alerts",
    about: "Subscriptions to events, which are sent to a webhook, polled, or streamed.",
    has: under("/api/alerts", "/.well-known/webhook-keys.json"),
  },
  {
    id: "watchlists",
    title: "Watchlists",
    about: "Named lists of symbols, for `get_signal` and for alerts, which follow them.",
    has: under("/api/watchlists"),
  },
  {
    id: "export",
    title: "Export",
    about: "All sessions of an asset class as a table, for research.",
    has: under("/api/export"),
  },
  {
    id: "clients",
    title: "MCP and OpenBB",
    about: "The same tools for agents over the Model Context Protocol, and for desks.",
    has: (operation) => tagged("MCP")(operation) || under("/api/openbb")(operation),
  },
  {
    id: "service",
    title: "Service",
    about: "Health of the service, applications for access, and questions.",
    has: tagged("Service", "Applications"),
  },
  {
    id: "documents",
    title: "Well-known documents",
    about: "By which clients that do not know the service yet find everything else.",
    has: tagged("Discovery"),
  },
];

/**
 * Groups the operations by section.
 *
 * @throws {Error} If an operation belongs to no section, or to several.
 */
export function groupBySection(
  operations: readonly DescribedOperation[],
): readonly (readonly [ReferenceSection, readonly DescribedOperation[]])[] {
  for (const operation of operations) {
    const { length } = sections.filter((section) => section.has(operation));
    if (length !== 1) throw new Error(`${operation.id} is in ${length} sections of the reference.`);
  }
  return sections.map((section) => [section, operations.filter(section.has)]);
}
