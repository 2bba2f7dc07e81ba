import { instrumentPath } from "../../../lib/paths.ts";
import type { Instrument } from "../../../market/instrument.ts";
import { countKnownRecords } from "../../../market/point-in-time.ts";
import { type Html, html } from "../../../markup/html.ts";
import type { Snapshot } from "../../../score/snapshot.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import { untrustedText } from "../elements.ts";
import { filterHref } from "./filter.ts";
import { assetClassNames, coverageText, signalMark, sparkline } from "./marks.ts";
import { signedPercentHtml } from "./number-format.ts";

/** Maximum number of instruments in the section. */
const MAX_PEERS = 10;

/** Number of sessions in a sparkline. */
export const SPARKLINE_SESSIONS = 60;

/** An instrument in the list of peers. */
interface Peer {
  readonly snapshot: Snapshot;
  /** Simple return of the newest session; `null` if it is not known. */
  readonly change: number | null;
  /** Smoothed scores, oldest first. */
  readonly scores: readonly number[];
}

/**
 * The peers of an instrument: the instruments of its sector or, if it has no sector, of its asset
 * class.
 */
export interface PeersView {
  readonly group: string;
  /** Rank of the instrument by score, from 1; `count` is the number of peers. */
  readonly rank: number;
  readonly count: number;
  /** Symbols of the peers ranked directly above and below the instrument. */
  readonly previous: string | undefined;
  readonly next: string | undefined;
  /** The peers with the nearest scores, including the instrument itself, highest score first. */
  readonly shown: readonly Peer[];
}

/** The name of the group with which an instrument is compared. */
export const peerGroupOf = ({ sector, assetClass }: Instrument): string =>
  sector ?? assetClassNames[assetClass];

/**
 * Simple return of an instrument over its newest sessions, including dividends; `null` if it has
 * too few sessions.
 */
export function simpleReturn(
  symbol: string,
  { market }: Pick<ToolContext, "market">,
  sessions = 1,
): number | null {
  const { bars } = market.records(symbol);
  const known = countKnownRecords(bars, market.knownUntil());
  // The first bar has no return.
  if (known <= sessions) return null;
  const returns = bars.slice(known - sessions, known).map(({ logReturn }) => logReturn ?? 0);
  return Math.expm1(returns.reduce((sum, one) => sum + one, 0));
}

/** Reads the peers of a listed instrument. */
export function viewPeers(symbol: string, context: ToolContext): PeersView {
  const { snapshots } = context;
  const { instrument } = snapshots.newest(symbol);
  const group = peerGroupOf(instrument);
  const all = snapshots
    .allNewest()
    .filter((one) => peerGroupOf(one.instrument) === group)
    .toSorted((a, b) => (b.score ?? -1) - (a.score ?? -1));
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
      const past = snapshots.history(peer, 0, snapshot.at).slice(-SPARKLINE_SESSIONS);
      return {
        snapshot,
        change: simpleReturn(peer, context),
        scores: past.flatMap(({ signal }) => signal.smoothed ?? []),
      };
    }),
  };
}

/** Links to the market, the group of peers, and the peers directly above and below by score. */
export function breadcrumbTrail({ group, rank, count, previous, next }: PeersView): Html {
  const link = (symbol: string | undefined, rel: "prev" | "next", arrow: string) =>
    symbol !== undefined &&
    html` <a rel="${rel}" href="${instrumentPath(symbol)}">${rel === "prev" && `${arrow} `}${symbol}${rel === "next" && ` ${arrow}`}</a>`;
  return html`<nav class="trail" aria-label="Around this instrument">
<p><a href="/#market">Market</a> › <a href="${peerGroupHref(group)}">${group}</a></p>
<p>${link(previous, "prev", "‹")} ${rank} of ${count} by score${link(next, "next", "›")}</p>
</nav>`;
}

/** URL of the market page, filtered to the instruments of a group. */
const peerGroupHref = (group: string): string => `${filterHref({ sector: group })}#market`;

/** Section with the peers as cards, each with a sparkline of its smoothed scores. */
export const peersSection = ({ group, shown }: PeersView, symbol: string): Html | false =>
  shown.length > 1 &&
  html`<section aria-labelledby="peers">
<div class="section-head"><h2 id="peers">Beside its peers</h2><p class="quiet">${group}, by score; the line is the smoothed score over ${SPARKLINE_SESSIONS} sessions, from 0 to 100.</p></div>
<ul class="peers">${shown.map((peer) => peerCard(peer, symbol))}</ul>
</section>`;

function peerCard({ snapshot, change, scores }: Peer, current: string): Html {
  const { instrument, signal, score, coverage, missingFactors } = snapshot;
  const { symbol, name } = instrument;
  return html`<li><a class="card peer" href="${instrumentPath(symbol)}"${symbol === current && html` aria-current="page"`}>
<span class="peer-head"><strong>${symbol}</strong>${signalMark(signal.direction, { ...instrument, coverage })}</span>
<span class="name">${untrustedText(name)}</span>
${sparkline(scores, { low: 0, high: 100 }, "l-score")}
<span class="peer-head"><span><strong>${score === null ? "–" : score.toFixed(0)}</strong> <span class="quiet">${coverageText(instrument.assetClass, missingFactors)}</span></span><span>${signedPercentHtml(change)}</span></span>
</a></li>
`;
}
