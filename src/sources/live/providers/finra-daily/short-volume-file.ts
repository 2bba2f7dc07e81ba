import { ProviderFault } from "../../fault.ts";
import type { Observation, ParsedResponse, Rejected } from "../../provider.ts";
import { quoted } from "../../provider-response.ts";
import { shortVolumeKnown } from "../../publication-times.ts";
import { currentTicker } from "../../ticker-changes.ts";

/** First line of the file. It is checked because FINRA has sent other content with status 200. */
const HEADER = "Date|Symbol|ShortVolume|ShortExemptVolume|TotalVolume|Market";

/** Shares, with up to six decimals since 2026. */
const SHARES = /^\d{1,15}(\.\d{1,9})?$/;

/** Session and symbols that a file is read for. */
interface FileQuery {
  /** ISO date of the requested session. */
  readonly session: string;
  /** Symbols of the universe by the file's spelling of today's tickers. */
  readonly symbols: ReadonlyMap<string, string>;
}

/**
 * Reads a CNMS file: a header, a line for each symbol, and the number of these lines. The short
 * volume already holds the exempt one.
 *
 * @throws {ProviderFault} `malformed` for another file, another day, or an incomplete file.
 */
export function readShortVolumeFile(
  text: string,
  wanted: FileQuery,
): Pick<Required<ParsedResponse>, "data" | "rejected"> {
  const { session, symbols } = wanted;
  const day = session.replaceAll("-", "");
  const [about, availableAt] = [Date.parse(session), shortVolumeKnown(session)];
  const data: Observation[] = [];
  const rejected: Rejected[] = [];
  for (const line of wholeFile(text)) {
    const [date, spelled = "", short = "", , total = "", market] = line.split("|");
    if (market === undefined || date !== day) {
      throw new ProviderFault("malformed", `${quoted(line)} is no line of ${session}`);
    }
    const symbol = symbols.get(currentTicker(spelled, session) ?? "");
    if (symbol === undefined) continue;
    const place = { feed: "shortVolumes", symbol, at: about, id: "CNMS" } as const;
    const reason = faultOf(short, total);
    if (reason !== undefined) {
      rejected.push({ ...place, reason });
      continue;
    }
    const shares = { shortShares: Number(short), totalShares: Number(total) };
    data.push({ ...place, record: { session, availableAt, ...shares } });
  }
  return { data, rejected };
}

/** The lines between the first and the last. */
function wholeFile(text: string): readonly string[] {
  const [header = "", ...lines] = text.replace(/\r?\n$/, "").split(/\r?\n/);
  if (header !== HEADER) throw new ProviderFault("malformed", `the header is ${quoted(header)}`);
  const count = lines.pop() ?? "";
  if (count === String(lines.length)) return lines;
  const found = `${lines.length} lines are followed by ${quoted(count)}`;
  throw new ProviderFault("malformed", `${found}, not by their number: a part is missing`);
}

/** Why volumes cannot be true, `undefined` when they can. */
function faultOf(short: string, total: string): string | undefined {
  const wrong = [short, total].find((cell) => !SHARES.test(cell));
  if (wrong !== undefined) return `${quoted(wrong)} is no number of shares`;
  if (Number(short) <= Number(total)) return undefined;
  return `${short} shares sold short are more than ${total} in all`;
}
