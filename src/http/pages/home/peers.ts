import { instrumentPath } from "../../../../wellknown/paths.ts";
import type { Instrument } from "../../../market/instrument.ts";
import { countKnown } from "../../../market/point-in-time.ts";
import type { Snapshot } from "../../../score/snapshot.ts";
import type { ToolContext } from "../../../tool.ts";
import { untrustedText } from "../elements.ts";
import { type Html, html } from "../html.ts";
import { addressOf } from "./filter.ts";
import { classNames, coverageText, signalMark, sparkline } from "./marks.ts";
import { signedPercent } from "./number-format.ts";

/** Maximum number of instruments in the section. */
const MAX_PEERS = 10;

/** Number of sessions in a sparkline. */
export const SPARK_SESSIONS = 60;

/** An instrument in the list of peers. */
interface Peer {
  readonly snapshot: Snapshot;
  /** Simple return of the newest session; `null` without one. */
  readonly change: number | null;
  /** Smoothed scores, oldest first. */
  readonly scores: readonly number[];
}

/** The peers of an instrument: those of its sector, or of its class where it has none. */
export interface Peers {
  readonly group: string;
  /** Rank of the instrument by score, from 1, and how many there are. */
  readonly rank: number;
  readonly count: number;
  /** The neighbors by score. */
  readonly previous: string | undefined;
  readonly next: string | undefined;
  /** The peers nearest in score, including the instrument; highest first. */
  readonly shown: readonly Peer[];
}

/** The name of the group that an instrument is compared with. */
export const groupOf = ({ sector, assetClass }: Instrument): string =>
  sector ?? classNames[assetClass];

/** Simple return of an instrument over its newest sessions, with dividends; `null` if it has fewer. */
export function changeOf(
  symbol: string,
  { market }: Pick<ToolContext, "market">,
  sessions = 1,
): number | null {
  const { bars } = market.records(symbol);
  const known = countKnown(bars, market.knownUntil());
  // The first bar has no return.
  if (known <= sessions) return null;
  const returns = bars.slice(known - sessions, known).map(({ logReturn }) => logReturn ?? 0);
  return Math.expm1(returns.reduce((sum, one) => sum + one, 0));
}

/** Reads the peers of a listed instrument. */
export function viewPeers(symbol: string, context: ToolContext): Peers {
  const { snapshots } = context;
  const { instrument } = snapshots.newest(symbol);
  const group = groupOf(instrument);
  const all = snapshots
    .allNewest()
    .filter((one) => groupOf(one.instrument) === group)
    .toSorted((a, b) => b.score - a.score);
  const place = all.findIndex((one) => one.instrument.symbol === symbol);
  const first = Math.max(0, Math.min(place - MAX_PEERS / 2, all.length - MAX_PEERS));
  return {
    group,
    rank: place + 1,
    count: all.length,
    previous: all[place - 1]?.instrument.symbol,
    next: all[place + 1]?.instrument.symbol,
    shown: all.slice(first, first + MAX_PEERS).map((snapshot) => {
      const peer = snapshot.instrument.symbol;
      const past = snapshots.history(peer, 0, snapshot.at).slice(-SPARK_SESSIONS);
      return {
        snapshot,
        change: changeOf(peer, context),
        scores: past.map(({ signal }) => signal.smoothed),
      };
    }),
  };
}

/** Links back to the market and the group, and on to the neighbors by score. */
export function trail({ group, rank, count, previous, next }: Peers): Html {
  const link = (symbol: string | undefined, rel: "prev" | "next", arrow: string) =>
    symbol !== undefined &&
    html` <a rel="${rel}" href="${instrumentPath(symbol)}">${rel === "prev" && `${arrow} `}${symbol}${rel === "next" && ` ${arrow}`}</a>`;
  return html`<nav class="trail" aria-label="Around this instrument">
<p><a href="/#market">Market</a> › <a href="${groupAddress(group)}">${group}</a></p>
<p>${link(previous, "prev", "‹")} ${rank} of ${count} by score${link(next, "next", "›")}</p>
</nav>`;
}

/** URL of the market page, filtered to the instruments of a group. */
export const groupAddress = (group: string): string => `${addressOf({ sector: group })}#market`;

/** The peers as cards, with a line of their smoothed scores. */
export const peersSection = ({ group, shown }: Peers, symbol: string): Html | false =>
  shown.length > 1 &&
  html`<section aria-labelledby="peers">
<div class="section-head"><h2 id="peers">Beside its peers</h2><p class="quiet">${group}, by score; the line is the smoothed score over ${SPARK_SESSIONS} sessions, from 0 to 100.</p></div>
<ul class="peers">${shown.map((peer) => peerCard(peer, symbol))}</ul>
</section>`;

function peerCard({ snapshot, change, scores }: Peer, current: string): Html {
  const { instrument, signal, score, missingFactors } = snapshot;
  const { symbol, name } = instrument;
  return html`<li><a class="card peer" href="${instrumentPath(symbol)}"${symbol === current && html` aria-current="page"`}>
<span class="peer-head"><strong>${symbol}</strong>${signalMark(signal.direction, snapshot.coverage)}</span>
<span class="name">${untrustedText(name)}</span>
${sparkline(scores, { low: 0, high: 100 }, "l-score")}
<span class="peer-head"><span><strong>${score.toFixed(0)}</strong> <span class="quiet">${coverageText(instrument.assetClass, missingFactors)}</span></span><span>${signedPercent(change)}</span></span>
</a></li>
`;
}
