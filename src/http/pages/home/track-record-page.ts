import type { RequestHandler } from "express";
import { isoInstant } from "../../../answers/shared-members.ts";
import type { Site } from "../../../answers/site.ts";
import type { ServedTrackRecord, TrackRecord } from "../../../grading/log-record.ts";
import { paths } from "../../../lib/paths.ts";
import type { AssetClass } from "../../../market/instrument.ts";
import type { MarketView } from "../../../market/market-view.ts";
import { type Html, html } from "../../../markup/html.ts";
import { linkToMarkdown } from "../../discovery/link-headers.ts";
import { copyButton } from "../copy.ts";
import type { PageAnswer } from "../page-answer.ts";
import { claimSection, claimSentence, claimVerdictText } from "./claim-section.ts";
import type { HomeContext } from "./home-context.ts";
import { signInNotice } from "./home-page.ts";
import { assetClassNames } from "./marks.ts";
import { dateTimeHtml, percentHtml } from "./number-format.ts";
import { backtestSection } from "./score-caveat.ts";
import { marketScriptHref } from "./script-route.ts";
import {
  dayHtml,
  horizonText,
  trackRecordSection,
  trackRecordTitle,
} from "./track-record-section.ts";

/** Shows the track record: how the logged signals turned out. */
export function showTrackRecordPage(home: HomeContext): RequestHandler {
  const { site, context, signalLog, viewerOf, send } = home;
  return async (req, res) => {
    const viewer = await viewerOf(req);
    const isAllowed = viewer.scopes.has("signals:read");
    const record = isAllowed ? await signalLog?.trackRecord() : undefined;
    const body = isAllowed
      ? recordBody(record, { site, market: context.market })
      : html`${signInNotice(paths.trackRecord)}${backtestSection}`;
    const page: PageAnswer = {
      status: isAllowed ? 200 : 403,
      heading: "Track record",
      isWide: true,
      place: "record",
      isSignedIn: viewer.isSignedIn,
      scriptPath: marketScriptHref,
      body,
    };
    res.set("link", linkToMarkdown(site.baseUrl + paths.trackRecord));
    return send(req, res, page, recordMarkdown(record, site));
  };
}

const INTRO =
  "Every signal is logged when its session closes, and settled when its returns are known, by a rule that was logged before the first of them. WAIT is counted and not graded. Nothing here is joined with the backtest.";

function recordBody(
  record: TrackRecord | undefined,
  { site, market }: { readonly site: Site; readonly market: MarketView },
): Html {
  const lead = html`<p class="lead beneath">${INTRO}</p>
${market.source.simulated && html`<p class="note warning"><strong>Simulated.</strong> The prices of this market are made up. The record shows how the figures work, and says nothing about any method.</p>`}`;
  if (record === undefined) {
    return html`${lead}
<div class="empty"><p>${
      site.market === "files"
        ? "There is no record: this market is fixed at one instant, so nothing is logged."
        : "Nothing yet: no session has closed since the log began."
    }</p></div>
${backtestSection}`;
  }
  const isHeadline = ({ figures: { assetClass, horizon } }: ServedTrackRecord) =>
    Number(record.terms.headline[assetClass] === horizon);
  const started = record.records
    .filter(({ figures }) => figures.from !== null)
    .toSorted((a, b) => isHeadline(b) - isHeadline(a));
  const waiting = record.records.filter(({ figures }) => figures.from === null);
  return html`${lead}
<p class="beneath">Was one signal altered? <a href="/">Choose its instrument</a> and go to “Proof”: the browser checks the signal of any past session.</p>
${record.claims.map(claimSection)}
${started.map((one) => trackRecordSection(one, record.terms, market.dayMs))}
${waiting.length > 0 && waitingSection(waiting, record, market.knownUntil())}
${backtestSection}
${rulesSection(record)}
${verifySection(record, site)}`;
}

/**
 * Section that lists the track records that have no figures yet, each with the earliest date at
 * which it can have figures.
 *
 * @param now Milliseconds since the epoch.
 */
const waitingSection = (
  waiting: readonly ServedTrackRecord[],
  { beganAt, terms: { rules } }: TrackRecord,
  now: number,
): Html => html`<section aria-labelledby="waiting">
<h2 id="waiting">Nothing yet</h2>
<div class="empty"><p>The log began on ${dateTimeHtml(isoInstant(beganAt))}. A signal counts when its returns are known, and a verdict needs ${rules.minPeriods} periods that do not overlap. The first figures:</p>
<ul class="plain">${waiting.map((one) => html`<li>${trackRecordTitle(one)}: ${one.expectedAt > now ? html`not before ${dateTimeHtml(isoInstant(one.expectedAt))}` : "with one of the next sessions"}</li>`)}</ul></div>
</section>`;

const rulesSection = ({
  beganAt,
  terms: { headline, rules, verdictDates },
}: TrackRecord): Html => html`<section aria-labelledby="rules">
<h2 id="rules">The rule</h2>
<ul class="plain">
<li>A return is the log return, with dividends and splits, from the close after the statement over the horizon, less the mean of all instruments of the session. SHORT counts negatively.</li>
<li>A statement counts only if a signed checkpoint covered it before that close.</li>
<li>Intervals are of 95 % (block bootstrap, blocks as long as the horizon). Returns of neighbouring sessions overlap, so there are fewer independent periods than sessions.</li>
<li>Verdicts are given for ${Object.entries(headline).map(([assetClass, horizon], at) => `${at > 0 ? ", " : ""}${assetClassNames[assetClass as AssetClass].toLowerCase()} over ${horizonText(assetClass as AssetClass, horizon)}`)}, on days that were fixed when the log began (${dayHtml(beganAt)}): ${verdictDates.map((at, place) => html`${place > 0 && ", "}${dayHtml(at)}`)}. They share a chance of error of ${percentHtml(0)(rules.significance)}, and need ${rules.minPeriods} periods that do not overlap.</li>
</ul>
</section>`;

const verifySection = (
  { origin }: TrackRecord,
  { baseUrl }: Site,
): Html => html`<section aria-labelledby="verify">
<h2 id="verify">Check it without us</h2>
<ol class="card plain steps">
<li>Keep <a href="${paths.logCheckpoint}">the checkpoint</a> of the log <code>${origin}</code>. It is signed after every session, and every statement and outcome is an entry under it.</li>
<li>Check all of it, and that it only grew since you last looked:
<div class="address"><code id="verify-command">npx --no-install market-signal verify ${baseUrl} --state seen.json</code>${copyButton("verify-command", "the command that checks the log")}</div></li>
<li>Keep a copy, and grade it with your own prices:
<div class="address"><code id="download-command">npx --no-install market-signal log download ${baseUrl} ./log</code>${copyButton("download-command", "the command that downloads the log")}</div>
<div class="address"><code id="prices-command">npx --no-install market-signal verify ./log --prices ./prices</code>${copyButton("prices-command", "the command that grades it")}</div></li>
</ol>
<p class="quiet">As data: <a href="/api/track-record">/api/track-record</a>, with a token. The log proves what was said and when it stood there, not that it was right.</p>
</section>`;

function recordMarkdown(record: TrackRecord | undefined, { baseUrl }: Site): string {
  const lines = (record?.records ?? []).map((one) => {
    const { runs, meanExcess, ic } = one.figures;
    return runs === 0
      ? `- ${trackRecordTitle(one)}: nothing before ${isoInstant(one.expectedAt)}`
      : `- ${trackRecordTitle(one)}: ${runs} sessions, mean excess return ${meanExcess?.value ?? "not known"}, rank correlation ${ic?.value ?? "not known"}`;
  });
  const claims = (record?.claims ?? []).map(
    (claim) => `- Claim: ${claimSentence(claim)} So far: ${claimVerdictText(claim)}.`,
  );
  return `# Track record

${INTRO}

${[...claims, ...lines].join("\n")}

All figures with their intervals: \`get_track_record\`, or GET ${baseUrl}/api/track-record with a token (${baseUrl}${paths.authMd}).
`;
}
