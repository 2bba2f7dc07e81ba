import { createHash } from "node:crypto";
import { z } from "zod";
import { nextSession, previousSession } from "../../../market/calendar.ts";
import { newYorkDate, newYorkInstant } from "../../../market/new-york.ts";
import { readCursor } from "../cursor.ts";
import { ProviderFault } from "../fault.ts";
import type {
  ParsedResponse,
  PolledProvider,
  PollStep,
  ProviderOptions,
  ProviderSeries,
} from "../provider.ts";
import { type ProviderResponse, quoted } from "../provider-response.ts";
import { slashedSymbol } from "../provider-symbols.ts";
import { addDays, FINAL_ANSWER_CACHE_MS } from "../publication-times.ts";
import { readShortVolumeFile } from "./finra-daily/short-volume-file.ts";

/** First day for which FINRA offers a file, an ISO date. */
const FIRST_DAY = "2020-01-01";

/**
 * Time of the first request for a file, New York time: files have appeared at about 17:20, and
 * FINRA promises them by 18:00.
 */
const LOOK_FROM = "17:30";

/** Pause between two requests for the current day, in milliseconds. */
const LOOK_EVERY_MS = 10 * 60_000;

/** Pause between two requests for a past day, in milliseconds. */
const LOOK_AGAIN_MS = 60 * 60_000;

/**
 * Number of days after a session during which a missing file is still requested although a later
 * file exists.
 */
const PATIENCE_DAYS = 3;

/** Number of consecutive sessions without a file after which the files must have moved. */
const MAX_MISSING = 5;

/** Maximum size of a file in bytes; a day has about 11,000 lines of 40 bytes. */
const MAX_BYTES = 8 * 1024 * 1024;

const FileCursor = z.object({
  /** Hash of the symbols: a new symbol requires reading past files again. */
  universe: z.string(),
  /** Last session that was requested. */
  asked: z.iso.date(),
  /** Whether any file has been found; before the first file, no missing file is requested again. */
  found: z.boolean(),
  /** Sessions up to `asked` whose files were missing and may still appear. */
  missing: z.array(z.iso.date()).max(MAX_MISSING),
});
type FileCursor = z.infer<typeof FileCursor>;

/** FINRA's daily short sale volume: one file per session with all symbols. */
export const finraDaily: PolledProvider = {
  id: "finra-daily",
  name: "FINRA daily short sale volume",
  terms:
    "FINRA Data terms: for your own use, not to be passed on without FINRA's consent. Short volume is not short interest.",
  isForOwnUse: true,
  origin: "https://cdn.finra.org",
  feeds: ["shortVolumes"],
  classes: ["stock", "etf"],
  needs: [],
  kind: "polled",
  // FINRA documents no limit.
  budget: { requests: 2, perMs: 1_000 },
  series: (options) => (options.instruments.length === 0 ? [] : [files(options)]),
};

function files({ instruments, historyFrom }: ProviderOptions): ProviderSeries {
  const symbols = new Map(instruments.map(({ symbol }) => [slashedSymbol(symbol), symbol]));
  const names = [...symbols.keys()].sort().join(" ");
  const universe = createHash("sha256").update(names).digest("hex").slice(0, 16);
  const wantedFrom = newYorkDate(historyFrom);
  const first = wantedFrom > FIRST_DAY ? wantedFrom : FIRST_DAY;
  const start = { universe, asked: previousSession(first), found: false, missing: [] };
  return {
    key: "CNMS",
    next(cursor, now) {
      const last = readCursor(cursor, FileCursor);
      const place = last?.universe === universe ? last : start;
      const front = nextSession(place.asked);
      const [missing] = place.missing;
      const isFrontDue = lookFrom(front) <= now && place.missing.length < MAX_MISSING;
      if (!isFrontDue && missing === undefined) return { waitUntil: lookFrom(front) };
      return ask({ place, session: isFrontDue ? front : (missing as string), symbols }, now);
    },
  };
}

/** A request for the file of one session. */
interface FileQuery {
  readonly place: FileCursor;
  readonly session: string;
  readonly symbols: ReadonlyMap<string, string>;
}

function ask({ place, session, symbols }: FileQuery, now: number): PollStep {
  return {
    request: {
      path: `/equity/regsho/daily/CNMSshvol${session.replaceAll("-", "")}.txt`,
      accepts: [403],
      maxBytes: MAX_BYTES,
      keepMs: newYorkDate(now) > session ? FINAL_ANSWER_CACHE_MS : 0,
    },
    read(answer) {
      if (answer.status === 403) return readAbsent(answer, { place, session });
      const read = readShortVolumeFile(answer.body.toString("utf8"), { session, symbols });
      // Reading continues after the late file, so the files after it are read again.
      const isWanted = (one: string) => one < session && isExpected(one, answer.receivedAt);
      const missing = place.missing.filter(isWanted);
      return {
        ...read,
        cursor: JSON.stringify({ ...place, asked: session, found: true, missing }),
      };
    },
  };
}

/**
 * Reads the response for a missing file.
 *
 * @throws {ProviderFault} `refused` if the response has another cause.
 */
function readAbsent(
  { body, receivedAt }: ProviderResponse,
  { place, session }: Pick<FileQuery, "place" | "session">,
): ParsedResponse {
  const text = body.toString("utf8");
  // The file server reports a missing file in XML; its firewall answers with an HTML page.
  if (/<(!doctype )?html/i.test(text)) {
    throw new ProviderFault("refused", `answered 403: ${quoted(text)}`);
  }
  const turn = (next: Partial<FileCursor>, notBefore: number): ParsedResponse => ({
    data: [],
    cursor: JSON.stringify({ ...place, ...next }),
    notBefore,
  });
  if (session <= place.asked) {
    if (place.missing.length === MAX_MISSING) {
      throw new ProviderFault("refused", `no file for ${MAX_MISSING} sessions from ${session} on`);
    }
    const nextFile = lookFrom(nextSession(place.asked));
    const missing = [...place.missing.slice(1), session];
    return turn({ missing }, Math.min(receivedAt + LOOK_AGAIN_MS, nextFile));
  }
  if (newYorkDate(receivedAt) === session) return turn({}, receivedAt + LOOK_EVERY_MS);
  const isWaitedFor = place.found || isExpected(session, receivedAt);
  const missing = isWaitedFor ? [...place.missing, session] : place.missing;
  return turn({ asked: session, missing }, receivedAt);
}

const lookFrom = (session: string): number => newYorkInstant(session, LOOK_FROM);

/** Whether a file may still appear although a later one exists. */
const isExpected = (session: string, at: number): boolean =>
  newYorkDate(at) <= addDays(session, PATIENCE_DAYS);
