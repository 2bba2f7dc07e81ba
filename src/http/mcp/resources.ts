import {
  type AuthInfo,
  type McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { findInstruments } from "../../../tools/find-instruments.ts";
import { getSignal } from "../../../tools/get-signal.ts";
import type { Caller } from "../../access/caller.ts";
import { SymbolInput } from "../../answers/shared-members.ts";
import { Problem } from "../../lib/problem.ts";
import { searchInstruments } from "../../market/symbols.ts";
import { resolveInstrument } from "../../tool/lookup.ts";
import type { ToolContext } from "../../tool/tool.ts";
import { parseInput } from "../api/parse.ts";
import { APP_MEDIA_TYPE, APP_URI } from "./protocol.ts";

/** URI template of an instrument's signal. */
const SIGNAL_URI = "market://signals/{symbol}";

/**
 * Time for which clients may cache a signal, in milliseconds. A signal changes when off-exchange
 * prints or messages about the instrument arrive, and at the latest with the next session;
 * subscribers are notified.
 */
const SIGNAL_TTL_MS = 5_000;

/** URI of the instrument list. */
const INSTRUMENTS_URI = "market://instruments";

/**
 * Time for which clients may cache the instrument list, in milliseconds; the list can change with
 * each session.
 */
const INSTRUMENTS_TTL_MS = 60_000;

/** Maximum number of instruments listed: the maximum page size of `find_instruments`. */
const MAX_LISTED = 500;

const JSON_TYPE = "application/json";

/** Prefix of every signal URI. */
const [SIGNAL_URI_PREFIX = ""] = SIGNAL_URI.split("{");

/** Maximum number of signals in one subscription: the maximum number of symbols of an alert. */
const MAX_SUBSCRIBED = 100;

/** Schema of the part of a message that lists subscribed resources (MCP 2026-07-28,
 *  subscriptions). */
const SubscribeMessage = z.object({
  params: z.object({ notifications: z.object({ resourceSubscriptions: z.array(z.string()) }) }),
});

/**
 * The symbols to which a message subscribes, each with the URIs that the message uses for it.
 *
 * @throws {Problem} `invalid_request` if there are too many URIs, or an instrument does not exist:
 * a subscription to it would never notify.
 */
export function subscribedSymbols(
  message: unknown,
  context: ToolContext,
): ReadonlyMap<string, readonly string[]> {
  const { params } = SubscribeMessage.safeParse(message).data ?? {};
  const uris = [...new Set(params?.notifications.resourceSubscriptions)];
  if (uris.length > MAX_SUBSCRIBED) {
    throw new Problem("invalid_request", {
      detail: `resourceSubscriptions: at most ${MAX_SUBSCRIBED} are allowed.`,
      next: "Subscribe to the others with another request.",
    });
  }
  return Map.groupBy(uris, (uri) => symbolAt(uri, context));
}

/**
 * The symbol of the instrument that a URI identifies.
 *
 * @throws {Problem} `invalid_request` if the URI is malformed or the instrument does not exist.
 */
function symbolAt(uri: string, context: ToolContext): string {
  try {
    const symbol = uri.startsWith(SIGNAL_URI_PREFIX)
      ? decodeSegment(uri.slice(SIGNAL_URI_PREFIX.length))
      : "";
    return resolveInstrument(parseInput(SymbolInput, symbol), context).symbol;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem("invalid_request", {
      detail: `resourceSubscriptions: a URI does not match ${SIGNAL_URI}. ${error.detail}`,
      next: error.next,
    });
  }
}

/** Decodes a URI segment. A malformed segment is returned unchanged and matches no symbol. */
function decodeSegment(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Dependencies of the resources. */
interface ResourceOptions {
  readonly context: ToolContext;
  /** Returns the caller of a request. */
  readonly callerIn: (authInfo: AuthInfo | undefined) => Caller;
  /** Returns the HTML document of the app. */
  readonly appHtml: () => string;
  /** Called with every error that the caller did not cause. */
  readonly onError: (error: unknown) => void;
}

/** Registers the instrument list, the signal of each instrument and the app. */
export function registerResources(server: McpServer, options: ResourceOptions): void {
  registerInstruments(server, options);
  registerSignals(server, options);
  registerApp(server, options);
}

/**
 * Time for which clients may cache the app, in milliseconds; the app changes only with the version
 * of the service.
 */
const APP_TTL_MS = 300_000;

/**
 * Registers the app. It declares no domains, so that hosts deny it network access. It requests a
 * border explicitly, because the defaults of hosts differ.
 */
function registerApp(server: McpServer, { appHtml }: ResourceOptions): void {
  const _meta = { ui: { prefersBorder: true } };
  server.registerResource(
    "app",
    APP_URI,
    {
      title: "Market Signal app",
      description: "Draws a signal and its history in clients that show apps.",
      mimeType: APP_MEDIA_TYPE,
      cacheHint: { ttlMs: APP_TTL_MS, cacheScope: "public" },
      _meta,
    },
    () => ({ contents: [{ uri: APP_URI, mimeType: APP_MEDIA_TYPE, text: appHtml(), _meta }] }),
  );
}

function registerInstruments(server: McpServer, options: ResourceOptions): void {
  server.registerResource(
    "instruments",
    INSTRUMENTS_URI,
    {
      title: "Instruments",
      description: `The instruments that are covered: symbol, name and class. At most ${MAX_LISTED}; find_instruments continues at nextCursor.`,
      mimeType: JSON_TYPE,
      cacheHint: { ttlMs: INSTRUMENTS_TTL_MS, cacheScope: "private" },
    },
    ({ href: uri }) => contentsOf(uri, options, () => instrumentList(options.context)),
  );
}

/** The first page of `find_instruments`, reduced to symbol, name and asset class. */
function instrumentList(context: ToolContext) {
  const query = parseInput(findInstruments.input, { limit: MAX_LISTED });
  const page = findInstruments.run(query, context);
  const items = page.items?.map(({ symbol, name, assetClass }) => ({ symbol, name, assetClass }));
  return { ...page, items };
}

/** Symbols of the instruments whose symbol begins with a text or whose name contains it. */
export const matchingSymbols = (begun: string, { market }: ToolContext): string[] =>
  searchInstruments(market.instruments(), begun).map(({ symbol }) => symbol);

/** Registers the signal of every instrument as a resource, equal to the result of `get_signal`. */
function registerSignals(server: McpServer, options: ResourceOptions): void {
  const { context } = options;
  const template = new ResourceTemplate(SIGNAL_URI, {
    list: undefined,
    complete: { symbol: (begun) => matchingSymbols(begun, context) },
  });
  server.registerResource(
    "signal",
    template,
    {
      title: "Signal",
      description: "The answer of get_signal for one instrument; supports subscriptions.",
      mimeType: JSON_TYPE,
      cacheHint: { ttlMs: SIGNAL_TTL_MS, cacheScope: "private" },
    },
    ({ href: uri }, { symbol: part }, { http }) => {
      const symbol = decodeSegment(String(part));
      const caller = options.callerIn(http?.authInfo);
      const call = { caller, scopes: caller.scopes, idempotencyKey: undefined };
      const read = () => getSignal.run(parseInput(getSignal.input, { symbol }), context, call);
      return contentsOf(uri, options, read);
    },
  );
}

/**
 * Reads a resource.
 *
 * @throws {ResourceNotFoundError} If reading causes a problem, such as an instrument that does not
 * exist.
 */
function contentsOf(uri: string, { onError }: ResourceOptions, read: () => object) {
  try {
    return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(read()) }] };
  } catch (error) {
    if (error instanceof Problem) throw new ResourceNotFoundError(uri, error.message);
    onError(error);
    throw new Error("The resource could not be read.");
  }
}
