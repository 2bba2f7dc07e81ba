import {
  type McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { findInstruments } from "../../../tools/find-instruments.ts";
import { getSignal } from "../../../tools/get-signal.ts";
import { Identity, SymbolInput } from "../../answers/common.ts";
import { resolve } from "../../answers/lookup.ts";
import { searchInstruments } from "../../market/symbols.ts";
import { Problem } from "../../problem.ts";
import type { ToolContext } from "../../tool.ts";
import { parse } from "../api/parse.ts";

/** Where the signal of an instrument is read. */
const SIGNAL_URI = "market://signals/{symbol}";

/** How long a reader may keep a signal: it changes with prints and messages, at the latest with the
 *  session, and whoever listens is told. */
const SIGNAL_TTL_MS = 5_000;

/** Where the instruments are listed. */
const INSTRUMENTS_URI = "market://instruments";

/** How long a reader may keep the list: instruments come and go with sessions. */
const INSTRUMENTS_TTL_MS = 60_000;

/** Instruments that are listed at most; as many as a page of `find_instruments` can have. */
const MAX_LISTED = 500;

const JSON_TYPE = "application/json";

/** What an address of a signal begins with. */
const [SIGNALS = ""] = SIGNAL_URI.split("{");

/** Signals that one caller can listen to with one request; as many as an alert can name. */
const MAX_LISTENED_TO = 100;

/** What of a message says which resources are listened to (MCP 2026-07-28, subscriptions). */
const Listening = z.object({
  params: z.object({ notifications: z.object({ resourceSubscriptions: z.array(z.string()) }) }),
});

/**
 * The symbols whose signals a message wants to hear of, each with the addresses that it has there.
 *
 * @throws {Problem} `invalid_request` when there are too many, or one that there is not: who waits
 *   for that would wait for ever.
 */
export function signalsListenedTo(
  message: unknown,
  context: ToolContext,
): ReadonlyMap<string, readonly string[]> {
  const { params } = Listening.safeParse(message).data ?? {};
  const uris = [...new Set(params?.notifications.resourceSubscriptions)];
  if (uris.length > MAX_LISTENED_TO) {
    throw new Problem("invalid_request", {
      detail: `resourceSubscriptions: ${MAX_LISTENED_TO} at most.`,
      next: "Listen to the others with another request.",
    });
  }
  return Map.groupBy(uris, (uri) => symbolAt(uri, context));
}

/** The symbol of the instrument that an address names. @throws {Problem} `invalid_request`. */
function symbolAt(uri: string, context: ToolContext): string {
  try {
    const symbol = uri.startsWith(SIGNALS) ? decoded(uri.slice(SIGNALS.length)) : "";
    return resolve(parse(SymbolInput, symbol), context).symbol;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem("invalid_request", {
      detail: `resourceSubscriptions: one is no ${SIGNAL_URI}. ${error.detail}`,
      next: error.next,
    });
  }
}

/** A part of an address as a text; one that is none stays as it is, and names nothing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** What resources are read with. */
interface ResourceOptions {
  readonly context: ToolContext;
  /** Told about every failure that is not the caller's. */
  readonly onError: (error: unknown) => void;
}

/** Offers what there is, and the signal of each. */
export function registerResources(server: McpServer, options: ResourceOptions): void {
  registerInstruments(server, options);
  registerSignals(server, options);
}

function registerInstruments(server: McpServer, options: ResourceOptions): void {
  server.registerResource(
    "instruments",
    INSTRUMENTS_URI,
    {
      title: "Instruments",
      description: `The instruments that are covered: symbol, name, class and exchange. At most ${MAX_LISTED}; find_instruments goes on at nextCursor.`,
      mimeType: JSON_TYPE,
      cacheHint: { ttlMs: INSTRUMENTS_TTL_MS, cacheScope: "private" },
    },
    ({ href: uri }) => contentsOf(uri, options, () => instrumentList(options.context)),
  );
}

/** The first page of `find_instruments`, of each instrument only who it is. */
function instrumentList(context: ToolContext) {
  const query = parse(findInstruments.input, { limit: MAX_LISTED });
  const page = findInstruments.run(query, context);
  return { ...page, items: page.items.map((item) => Identity.parse(item)) };
}

/** The symbols that may be meant by a beginning of a symbol or a part of a name. */
export const symbolsLike = (begun: string, { market }: ToolContext): string[] =>
  searchInstruments(market.instruments(), begun).map(({ symbol }) => symbol);

/** Offers the signal of every instrument as a resource, the answer of `get_signal`. */
function registerSignals(server: McpServer, options: ResourceOptions): void {
  const { context } = options;
  const template = new ResourceTemplate(SIGNAL_URI, {
    list: undefined,
    complete: { symbol: (begun) => symbolsLike(begun, context) },
  });
  server.registerResource(
    "signal",
    template,
    {
      title: "Signal",
      description: "The answer of get_signal for one instrument; can be listened to.",
      mimeType: JSON_TYPE,
      cacheHint: { ttlMs: SIGNAL_TTL_MS, cacheScope: "private" },
    },
    ({ href: uri }, { symbol: part }) => {
      const symbol = decoded(String(part));
      const read = () => getSignal.run(parse(getSignal.input, { symbol }), context);
      return contentsOf(uri, options, read);
    },
  );
}

/** What a resource is read as. @throws {ResourceNotFoundError} When there is no such instrument. */
function contentsOf(uri: string, { onError }: ResourceOptions, read: () => object) {
  try {
    return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(read()) }] };
  } catch (error) {
    if (error instanceof Problem) throw new ResourceNotFoundError(uri, error.message);
    onError(error);
    throw new Error("The resource could not be read.");
  }
}
