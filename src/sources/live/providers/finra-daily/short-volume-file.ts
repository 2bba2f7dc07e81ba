import { ProviderFault } from "../../fault.ts";
import type { Observation, ParsedResponse, RejectedObservation } from "../../provider.ts";
import { quoted } from "../../provider-response.ts";
import { shortVolumeKnownAt } from "../../publication-times.ts";
import { currentTicker } from "../../ticker-changes.ts";

/** Header line of the file. It is checked because FINRA has sent other content with status 200. */
const HEADER = "Date|Symbol|ShortVolume|ShortExemptVolume|TotalVolume|Market";

/** A number of shares, which has had up to six decimals since 2026. */
const SHARES = /^\d{1,15}(\.\d{1,9})?$/;

/** Session and symbols to read from a file. */
interface FileQuery {
  /** ISO date of the requested session. */
  readonly session: string;
  /** Symbols of the universe, by the spelling of their current tickers in the file. */
  readonly symbols: ReadonlyMap<string, string>;
}

/**
 * Reads a CNMS file: a header, one line per symbol, and the number of these lines. The short volume
 * already includes the exempt volume.
 *
 * @throws {ProviderFault} `malformed` for another kind of file, another day, or an incomplete file.
 */
export function readShortVolumeFile(
  text: string,
  wanted: FileQuery,
): Pick<Required<ParsedResponse>, "data" | "rejected"> {
  const { session, symbols } = wanted;
  const day = session.replaceAll("-", "");
  const [about, availableAt] = [Date.parse(session), shortVolumeKnownAt(session)];
  const data: Observation[] = [];
  const rejected: RejectedObservation[] = [];
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

/** The lines between the header and the final line count. */
function wholeFile(text: string): readonly string[] {
  const [header = "", ...lines] = text.replace(/\r?\n$/, "").split(/\r?\n/);
  if (header !== HEADER) throw new ProviderFault("malformed", `the header is ${quoted(header)}`);
  const count = lines.pop() ?? "";
  if (count === String(lines.length)) return lines;
  const found = `${lines.length} lines are followed by ${quoted(count)}`;
  throw new ProviderFault("malformed", `${found}, not by their number: a part is missing`);
}

/** Why volumes are implausible; `undefined` if they are not. */
function faultOf(short: string, total: string): string | undefined {
  const wrong = [short, total].find((cell) => !SHARES.test(cell));
  if (wrong !== undefined) return `${quoted(wrong)} is no number of shares`;
  if (Number(short) <= Number(total)) return undefined;
  return `${short} shares sold short are more than ${total} in all`;
}
