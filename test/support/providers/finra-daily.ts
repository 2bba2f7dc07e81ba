import { isTradingDay } from "../../../src/market/calendar.ts";
import { newYorkInstant } from "../../../src/market/new-york.ts";
import { drawnNumber } from "./drawn.ts";
import type { Serve, ServedAnswer } from "./drive.ts";

/** Data of the simulated FINRA files. */
export interface ShortVolumeWorld {
  /** Symbols in FINRA's spelling, such as `BRK/B` or `ABRpD`. */
  readonly symbols: readonly string[];
  /**
   * Sessions (ISO dates) whose file is late, with the instant of its publication, Unix
   * milliseconds.
   */
  readonly late?: ReadonlyMap<string, number>;
}

const HEADER = "Date|Symbol|ShortVolume|ShortExemptVolume|TotalVolume|Market";

/** First session whose file is available, ISO date. */
const FLOOR = "2020-01-02";

/** First session whose volumes have decimals, ISO date. */
const DECIMALS_FROM = "2026-01-02";

/** Time of publication on the day of the session, New York time. */
const PUBLISHED_AT = "17:19";

/** FINRA's CDN with the consolidated daily short volume files. */
export function serveFinraDaily({ symbols, late = new Map() }: ShortVolumeWorld): Serve {
  return ({ method, url }, now) => {
    const name = /^\/equity\/regsho\/daily\/CNMSshvol(\d{4})(\d\d)(\d\d)\.txt$/.exec(url.pathname);
    if (method !== "GET" || name === null) return DENIED;
    const session = name.slice(1).join("-");
    if (session < FLOOR || !isTradingDay(session)) return DENIED;
    if (now < (late.get(session) ?? newYorkInstant(session, PUBLISHED_AT))) return DENIED;
    return { status: 200, headers: { "content-type": "text/plain" }, body: file(session, symbols) };
  };
}

/** The file store's answer for a missing file: 403, because callers may not list files. */
const DENIED: ServedAnswer = {
  status: 403,
  headers: { "content-type": "application/xml" },
  body: '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>',
};

function file(session: string, symbols: readonly string[]): string {
  const day = session.replaceAll("-", "");
  const lines = symbols.map((symbol) => {
    const { short, exempt, total } = shortVolumes(symbol, session);
    return [day, symbol, short, exempt, total, "B,Q,N"].join("|");
  });
  return [HEADER, ...lines, lines.length, ""].join("\r\n");
}

/** Short, short exempt and total volume of a symbol in a session, in shares. */
export function shortVolumes(symbol: string, session: string) {
  const digits = session < DECIMALS_FROM ? 0 : 6;
  const total = 10_000 + 5_000_000 * drawnNumber("total", symbol, session);
  const short = total * (0.2 + 0.5 * drawnNumber("short", symbol, session));
  const rounded = (shares: number) => Number(shares.toFixed(digits));
  return { short: rounded(short), exempt: rounded(short / 300), total: rounded(total) };
}
