import { z } from "zod";
import { newYorkDate, newYorkInstant } from "../../../market/new-york.ts";
import { readCursor } from "../cursor.ts";
import { ProviderFault } from "../fault.ts";
import type {
  ParsedResponse,
  PolledProvider,
  ProviderRequest,
  ProviderSeries,
} from "../provider.ts";
import { type ProviderResponse, parseJsonBody } from "../provider-response.ts";
import { addDays } from "../publication-times.ts";
import { checkSecAccess } from "./edgar/access.ts";
import { CompanyFacts, filingsOf } from "./edgar/facts.ts";
import { reportedFiguresOf } from "./edgar/reported-figures.ts";
import { readCik, tickersRequest } from "./edgar/tickers.ts";

/**
 * Maximum size of a response in bytes; the responses for the oldest and largest companies have 10
 * MB.
 */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Number of minutes after midnight over which the daily requests are spread, so that they end
 * before the next session.
 */
const ASKED_OVER_MINUTES = 360;

/**
 * Number of days after which the company of a ticker is looked up again, since tickers are reused.
 */
const NAMED_FOR_DAYS = 30;

/**
 * Number of days before the history from which filings are also requested, because yearly figures
 * are sums of four quarters.
 */
const EARLIER_DAYS = 400;

/**
 * Maximum number of days by which a filing may be dated ahead: evening filings carry the date of
 * the next business day.
 */
const MAX_DAYS_AHEAD = 7;

/** Maximum length of a stored validator (`ETag`, `Last-Modified`), in characters. */
const MAX_VALIDATOR = 200;

const CompanyCursor = z.object({
  /** Central Index Key (CIK) of the company; `null` if the SEC does not list the ticker. */
  cik: z.int().positive().nullable(),
  /** New York date on which the ticker was looked up. */
  named: z.iso.date(),
  /** New York date on which figures were last requested. */
  asked: z.iso.date().optional(),
  /** Validators of the last response with figures, for conditional requests. */
  etag: z.string().optional(),
  modified: z.string().optional(),
});
type CompanyCursor = z.infer<typeof CompanyCursor>;

/** Figures of quarterly and annual reports to the SEC, one series per stock. */
export const edgar: PolledProvider = {
  id: "edgar",
  name: "SEC EDGAR",
  terms: "Public domain: filings with the U.S. Securities and Exchange Commission.",
  isForOwnUse: false,
  origin: "https://data.sec.gov",
  feeds: ["fundamentals"],
  classes: ["stock"],
  // The SEC requires the name and email of the caller, for example `Ada Example ada@example.org`.
  needs: ["SEC_USER_AGENT"],
  kind: "polled",
  // The SEC allows ten requests a second, over all machines of a caller.
  budget: { requests: 8, perMs: 1_000 },
  series({ instruments, historyFrom, settings: { SEC_USER_AGENT = "" } }) {
    const from = addDays(newYorkDate(historyFrom), -EARLIER_DAYS);
    return instruments.map(({ symbol }) => company({ symbol, from, agent: SEC_USER_AGENT }));
  },
};

/** Symbol, start and user agent of the requests for a company. */
interface FilingQuery {
  readonly symbol: string;
  /** ISO date of the first filing to read. */
  readonly from: string;
  readonly agent: string;
}

function company(wanted: FilingQuery): ProviderSeries {
  const headers = { "user-agent": wanted.agent };
  return {
    key: wanted.symbol,
    next(cursor, now) {
      const place = readCursor(cursor, CompanyCursor);
      const dueAt = place === undefined ? now : whenDue(place);
      if (now < dueAt) return { waitUntil: dueAt };
      const { cik = null, named = "" } = place ?? {};
      if (place === undefined || cik === null || !isNamed(named, now)) {
        return {
          request: tickersRequest(headers),
          read: (answer) => readTicker(answer, wanted.symbol, place),
        };
      }
      const known = { ...place, cik };
      return {
        request: factsRequest(known, headers),
        read: (answer) => readFacts(answer, known, wanted),
      };
    },
  };
}

/**
 * When the next request is due, Unix milliseconds. The first request after a ticker lookup is due
 * immediately; later requests are due at the company's own minute of the day.
 */
function whenDue({ cik, named, asked }: CompanyCursor): number {
  if (cik === null) return newYorkInstant(addDays(named, 1), "00:00");
  if (asked === undefined) return 0;
  return newYorkInstant(addDays(asked, 1), "00:00") + (cik % ASKED_OVER_MINUTES) * 60_000;
}

const isNamed = (named: string, now: number): boolean =>
  newYorkDate(now) < addDays(named, NAMED_FOR_DAYS);

function readTicker(
  answer: ProviderResponse,
  symbol: string,
  before: CompanyCursor | undefined,
): ParsedResponse {
  const cik = readCik(answer, symbol);
  const kept = cik === before?.cik ? before : {};
  const place = { ...kept, cik, named: newYorkDate(answer.receivedAt) };
  const cursor = JSON.stringify(place satisfies CompanyCursor);
  return { data: [], cursor, ...(cik === null && { unknown: [symbol] }) };
}

/** A cursor whose CIK is known. */
type KnownCompany = CompanyCursor & { readonly cik: number };

const factsRequest = (
  { cik, etag, modified }: KnownCompany,
  headers: Readonly<Record<string, string>>,
): ProviderRequest => ({
  path: `/api/xbrl/companyfacts/CIK${String(cik).padStart(10, "0")}.json`,
  headers: {
    ...headers,
    ...(etag !== undefined && { "if-none-match": etag }),
    ...(modified !== undefined && { "if-modified-since": modified }),
  },
  accepts: [304, 403, 404],
  maxBytes: MAX_BYTES,
});

function readFacts(
  answer: ProviderResponse,
  place: KnownCompany,
  wanted: FilingQuery,
): ParsedResponse {
  checkSecAccess(answer);
  const asked = newYorkDate(answer.receivedAt);
  // 304: nothing has changed. 404: no figures, for example because the company has not reported
  // yet.
  if (answer.status !== 200) return { data: [], cursor: JSON.stringify({ ...place, asked }) };
  const facts = parseJsonBody(answer, CompanyFacts);
  const { cik, named } = place;
  if (facts.cik !== cik) {
    throw new ProviderFault("malformed", `company ${facts.cik} came for ${cik}`);
  }
  const [etag, modified] = [validator(answer, "etag"), validator(answer, "last-modified")];
  const cursor = JSON.stringify({ cik, named, asked, etag, modified } satisfies CompanyCursor);
  const latest = addDays(asked, MAX_DAYS_AHEAD);
  const filings = filingsOf(facts).filter(({ filed }) => filed <= latest);
  return { ...reportedFiguresOf(filings, wanted), cursor };
}

function validator(answer: ProviderResponse, name: string): string | undefined {
  const value = answer.header(name);
  return value !== undefined && value.length <= MAX_VALIDATOR ? value : undefined;
}
