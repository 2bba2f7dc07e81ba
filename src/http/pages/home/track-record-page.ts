import type { RequestHandler } from "express";
import { paths } from "../../../../wellknown/paths.ts";
import type { Site } from "../../../../wellknown/site.ts";
import { isoInstant } from "../../../answers/common.ts";
import { DIRECTION_WORTH } from "../../../answers/meaning.ts";
import { type Exclusion, excessCurve, type RecordVerdict } from "../../../grading/track-record.ts";
import type { TrackRecord } from "../../../log/signal-log.ts";
import type { AssetClass } from "../../../market/instrument.ts";
import type { MarketView } from "../../../market/market-view.ts";
import { linkToMarkdown } from "../../discovery/link-headers.ts";
import { type Fact, facts } from "../elements.ts";
import { type Html, html } from "../html.ts";
import type { PageAnswer } from "../page-answer.ts";
import type { HomeContext } from "./frame.ts";
import { signInNotice } from "./home-page.ts";
import { classNames } from "./marks.ts";
import { dateTime, fixed, percent, whole } from "./number-format.ts";
import { level, line, panel, ticks, timeAxis, timePanel } from "./plot.ts";

type ClassRecord = TrackRecord["records"][number];

/** Shows how the logged signals turned out. */
export function showTrackRecord(home: HomeContext): RequestHandler {
  const { site, context, signalLog, viewerOf, send } = home;
  return async (req, res) => {
    const viewer = await viewerOf(req);
    const isAllowed = viewer.scopes.has("signals:read");
    const record = isAllowed ? await signalLog?.trackRecord() : undefined;
    const body = isAllowed
      ? recordBody(record, { site, market: context.market })
      : signInNotice(paths.trackRecord);
    const page: PageAnswer = {
      status: isAllowed ? 200 : 403,
      heading: "Track record",
      isWide: true,
      place: "record",
      isSignedIn: viewer.isSignedIn,
      body,
    };
    res.set("link", linkToMarkdown(site.baseUrl + paths.trackRecord));
    return send(req, res, page, recordMarkdown(record, site));
  };
}

/** Where the figures of the page come from. */
interface Surroundings {
  readonly site: Site;
  readonly market: MarketView;
}

const INTRO =
  "Every signal is logged when its session closes, and settled when its returns are known, by a rule that was logged before the first of them. WAIT is counted and not graded. Nothing here is joined with the backtest.";

function recordBody(record: TrackRecord | undefined, { site, market }: Surroundings): Html {
  const lead = html`<p class="lead beneath">${INTRO}</p>
${market.source.simulated && html`<p class="note warning"><strong>Simulated.</strong> The prices of this market are made up. The record shows how the figures work, and says nothing about any method.</p>`}`;
  if (record === undefined) {
    return html`${lead}
<div class="empty"><p>${
      site.market === "files"
        ? "There is no record: the time of this market stands still, so nothing is logged."
        : "Nothing yet: no session has closed since the log began."
    }</p></div>`;
  }
  const started = record.records.filter(({ figures }) => figures.from !== null);
  const waiting = record.records.filter(({ figures }) => figures.from === null);
  return html`${lead}
${started.map((one) => classSection(one, record, market))}
${waiting.length > 0 && waitingSection(waiting)}
${rulesSection(record)}
${verifySection(record, site)}
<p class="quiet">${DIRECTION_WORTH}</p>`;
}

const titleOf = ({ figures: { assetClass, horizon } }: ClassRecord): string =>
  `${classNames[assetClass]}, ${horizonOf(assetClass, horizon)}`;

const horizonOf = (assetClass: AssetClass, horizon: number): string =>
  `${horizon} ${assetClass === "crypto" ? "days" : "sessions"}`;

/** Labels of the verdicts of the record. */
export const VERDICTS: Readonly<Record<RecordVerdict, string>> = {
  insufficient_data: "not enough data",
  no_evidence: "no evidence of skill",
  evidence_for: "evidence of skill",
  evidence_against: "evidence against it",
};

function classSection(record: ClassRecord, { terms }: TrackRecord, { dayMs }: MarketView): Html {
  const { figures } = record;
  const { assetClass, horizon } = figures;
  const id = `${assetClass}-${horizon}`;
  return html`<section aria-labelledby="${id}">
<h2 id="${id}">${titleOf(record)}</h2>
${terms.headline[assetClass] === horizon && html`<p>${verdictText(record, terms.verdictDates)}</p>`}
${curve(record, dayMs)}
<div class="card columns">${facts(factsOf(record))}</div>
</section>`;
}

function verdictText({ verdicts }: ClassRecord, dates: readonly number[]): Html {
  const last = verdicts.at(-1);
  const next = dates[verdicts.length];
  return html`${
    last === undefined
      ? "There is no verdict yet"
      : html`Verdict of ${dayOf(last.at)}: <strong>${VERDICTS[last.verdict]}</strong>`
  }${next !== undefined && html`; the next is given on ${dayOf(next)}`}.`;
}

/** The date of an instant. */
const dayOf = (at: number): Html => dateTime(isoInstant(at).slice(0, "2026-11-22".length));

const estimate = (
  { value, low, high }: { readonly value: number; readonly low: number; readonly high: number },
  format: (value: number) => Html,
): Html => html`${format(value)} <span class="quiet">${format(low)} to ${format(high)}</span>`;

const NOT_YET = html`<span class="quiet">too few sessions</span>`;

function factsOf({ figures }: ClassRecord): readonly (Fact | false)[] {
  const { calls, meanExcess, twins, hitRate, ic, ranges, fallSkill, excluded } = figures;
  const left = Object.entries(excluded).filter(([, count]) => count > 0);
  return [
    [
      "Graded",
      html`${whole(figures.runs)} ${figures.runs === 1 ? "session" : "sessions"} <span class="quiet">${dateTime(instantOf(figures.from))} to ${dateTime(instantOf(figures.to))}; as much as ${fixed(1)(figures.periods)} that do not overlap</span>`,
    ],
    [
      "Signals",
      html`${whole(calls.long)} LONG, ${whole(calls.short)} SHORT, ${whole(calls.wait)} WAIT`,
    ],
    [
      "Mean excess return of LONG and SHORT",
      meanExcess === null ? NOT_YET : estimate(meanExcess, percent(2)),
    ],
    [
      "The same signals shuffled",
      twins.shuffled === null
        ? NOT_YET
        : html`${percent(2)(twins.shuffled.low)} to ${percent(2)(twins.shuffled.high)} <span class="quiet">in 95 % of cases</span>`,
    ],
    [
      "Mean return",
      html`${percent(2)(figures.meanReturn)} <span class="quiet">LONG on everything: </span>${percent(2)(twins.alwaysLong)}`,
    ],
    ["Right on their side", percent(1)(hitRate)],
    [
      "Rank correlation of score and return",
      ic === null
        ? NOT_YET
        : html`${estimate(ic, fixed(3))} <span class="quiet">t ${fixed(1)(ic.t)}</span>`,
    ],
    ranges.length > 0 && [
      "Returns within the ranges",
      html`${ranges.map(({ probability, coverage }, at) => html`${at > 0 && ", "}${percent(1)(coverage)} of ${percent(0)(probability)}`)}`,
    ],
    fallSkill !== null && ["Skill of the chance of a fall", fixed(3)(fallSkill)],
    (left.length > 0 || figures.lateRuns > 0) && [
      "Left out",
      html`${left.map(([reason, count]) => html`${whole(count)} ${EXCLUDED[reason as Exclusion]}; `)}${figures.lateRuns > 0 && html`${whole(figures.lateRuns)} sessions that were logged after their returns had begun`}`,
    ],
  ];
}

const EXCLUDED: Readonly<Record<Exclusion, string>> = {
  failed: "without a result",
  unscored: "without a factor",
  untraded: "without a price in the session",
  unsettled: "without a price afterwards",
  copies: "of coins that copy another or are pegged",
};

const instantOf = (at: number | null): string | null => (at === null ? null : isoInstant(at));

/** The mean excess return, summed over the sessions, with the band of shuffled signals. */
function curve(record: ClassRecord, dayMs: number): Html {
  const { figures, runs } = record;
  const points = excessCurve(runs, figures.horizon);
  const last = points.at(-1);
  if (last === undefined || points.length < 2) {
    return html`<div class="empty"><p>Too few sessions are settled to draw a line.</p></div>`;
  }
  const shown = (value: number) => `${(100 * value).toFixed(2)} %`;
  const bounds = points.flatMap(({ chance, sum }) => [chance, -chance, sum]);
  const axis = { low: 1.1 * Math.min(...bounds), high: 1.1 * Math.max(...bounds) };
  const time = timeAxis(
    points.map(({ close }) => close),
    { dayMs },
  );
  const curve = (name: string, values: readonly number[]) =>
    html`<path class="${name}" d="${line(values, axis)}"/>`;
  const marks = ticks(axis);
  return html`<figure class="card chart" role="img" aria-label="Excess return of LONG and SHORT summed over ${points.length} sessions: ${shown(last.sum)}; shuffled signals lie within ${shown(last.chance)} on either side in 95 % of cases">
${panel({
  name: "p-price",
  time,
  axis,
  shapes: html`${marks.map((value) => level(value, axis, value === 0 ? "zero" : "grid"))}${[
    1, -1,
  ].map((sign) =>
    curve(
      "l-raw",
      points.map(({ chance }) => sign * chance),
    ),
  )}${curve(
    "l-score",
    points.map(({ sum }) => sum),
  )}`,
  labels: marks.map((value) => ({ value, text: `${(100 * value).toFixed(1)} %` })),
})}${timePanel(time)}
</figure>
<ul class="legend"><li class="smoothed">LONG and SHORT, beyond the mean of all</li><li class="daily">shuffled signals, 95 %; LONG on everything is 0</li></ul>`;
}

const waitingSection = (
  waiting: readonly ClassRecord[],
): Html => html`<section aria-labelledby="waiting">
<h2 id="waiting">Nothing yet</h2>
<ul>${waiting.map((one) => html`<li>${titleOf(one)}: not before ${dateTime(isoInstant(one.expectedAt))}</li>`)}</ul>
</section>`;

const rulesSection = ({
  beganAt,
  terms: { headline, rules, verdictDates },
}: TrackRecord): Html => html`<section aria-labelledby="rules">
<h2 id="rules">The rule</h2>
<ul>
<li>A return is the log return, with dividends and splits, from the close after the statement over the horizon, less the mean of all instruments of the session. SHORT counts negatively.</li>
<li>A statement counts only if a signed checkpoint covered it before that close.</li>
<li>Intervals are of 95 % (block bootstrap, blocks as long as the horizon). Returns of neighbouring sessions overlap, so there are fewer independent periods than sessions.</li>
<li>Verdicts are given for ${Object.entries(headline).map(([assetClass, horizon], at) => `${at > 0 ? ", " : ""}${classNames[assetClass as AssetClass].toLowerCase()} over ${horizonOf(assetClass as AssetClass, horizon)}`)}, on days that were fixed when the log began (${dayOf(beganAt)}): ${verdictDates.map((at, place) => html`${place > 0 && ", "}${dayOf(at)}`)}. They share a chance of error of ${percent(0)(rules.significance)}, and need ${rules.minPeriods} periods that do not overlap.</li>
</ul>
</section>`;

const verifySection = (
  { origin }: TrackRecord,
  { baseUrl }: Site,
): Html => html`<section aria-labelledby="verify">
<h2 id="verify">Check it without us</h2>
<p>Every statement and every outcome is an entry of the log <code>${origin}</code>. <a href="${paths.logCheckpoint}">Its checkpoint</a> is signed after every session.</p>
<div class="code-block"><pre><code>npx market-signal verify ${baseUrl} --state seen.json
npx market-signal log download ${baseUrl} ./log</code></pre></div>
<p class="quiet">As data: <a href="/api/track-record">/api/track-record</a>, with a token. The log proves what was said and when it stood there, not that it was right.</p>
</section>`;

function recordMarkdown(record: TrackRecord | undefined, { baseUrl }: Site): string {
  const lines = (record?.records ?? []).map((one) => {
    const { runs, meanExcess, ic } = one.figures;
    return runs === 0
      ? `- ${titleOf(one)}: nothing before ${isoInstant(one.expectedAt)}`
      : `- ${titleOf(one)}: ${runs} sessions, mean excess return ${meanExcess?.value ?? "not known"}, rank correlation ${ic?.value ?? "not known"}`;
  });
  return `# Track record

${INTRO}

${lines.join("\n")}

All figures with their intervals: \`get_track_record\`, or GET ${baseUrl}/api/track-record with a token (${baseUrl}${paths.authMd}).
`;
}
