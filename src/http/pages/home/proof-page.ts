import type { RequestHandler } from "express";
import { z } from "zod";
import { isoInstant } from "../../../answers/shared-members.ts";
import { roundedSignal } from "../../../answers/signal-point.ts";
import type { Site } from "../../../answers/site.ts";
import type { ServedClaim } from "../../../grading/log-record.ts";
import { instrumentPath, paths } from "../../../lib/paths.ts";
import { type ProvenEntry, proofFileText } from "../../../log/log-reader.ts";
import type { Instrument } from "../../../market/instrument.ts";
import { type Html, type HtmlContent, html } from "../../../markup/html.ts";
import { notCoveredReason } from "../../../tool/lookup.ts";
import type { ToolContext, ToolSignalLog } from "../../../tool/tool.ts";
import { withoutLongSignatures } from "../../../tree/signed-note.ts";
import { queryOf } from "../../request-context.ts";
import { copyButton } from "../copy.ts";
import { descriptionList, type FieldErrors } from "../elements.ts";
import type { PageAnswer } from "../page-answer.ts";
import { claimSentence, claimVerdictText } from "./claim-section.ts";
import type { HomeContext } from "./home-context.ts";
import { findInstrument, signInRequiredPage, unknownInstrumentPage } from "./instrument-lookup.ts";
import { signalMark } from "./marks.ts";
import { dateTimeHtml, fixedDecimalsHtml, percentHtml } from "./number-format.ts";
import { earlierProofForm, proofPath } from "./proof-section.ts";
import { proofScriptHref } from "./script-route.ts";
import type { Viewer } from "./viewer.ts";

/** Schema of a signal entry in the log (`signalLeaf`). */
const SignalEntry = z.object({
  kind: z.literal("signal"),
  symbol: z.string(),
  close: z.string(),
  status: z.string(),
  signal: z.enum(["LONG", "SHORT", "WAIT"]),
  score: z.number().nullable(),
  scoreRaw: z.number().nullable(),
  scoreSmoothed: z.number().nullable(),
  confidence: z.number(),
  coverage: z.number(),
});
type SignalEntry = z.output<typeof SignalEntry>;

/** Matches the index of a log entry in a URL. */
const ENTRY = /^\d{1,15}$/;

/**
 * Patterns of a day and, in a market with shorter sessions, of a minute (with or without seconds),
 * as a form sends them.
 */
const DAY = /^\d{4}-\d\d-\d\d$/;
const MINUTE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/;

/**
 * Shows the proof of a signal. `?entry=` selects a log entry; `?at=` redirects to the last entry
 * logged by that time.
 */
export function showProofPage(home: HomeContext): RequestHandler {
  const { context, viewerOf, send, site } = home;
  return async (req, res) => {
    const viewer = await viewerOf(req);
    const requested = String(req.params.symbol);
    if (!viewer.scopes.has("signals:read"))
      return send(req, res, signInRequiredPage(requested, viewer));
    const found = findInstrument(requested, context);
    if (found.kind !== "found") {
      const unknown = { symbol: requested, why: notCoveredReason(context.market) };
      return send(req, res, unknownInstrumentPage(unknown, found.candidates, viewer));
    }
    const frame: ProofFrame = { instrument: found.instrument, context, viewer, site };
    const { signalLog: log } = context;
    if (log === undefined) {
      const why = "There is no log: the time of this market stands still.";
      return send(req, res, noProofPage(frame, why));
    }
    const query = queryOf(req);
    const entry = query.get("entry");
    if (entry !== null) return send(req, res, await pageOfEntry(frame, entry, log));
    const next = await placeOf(frame, query.get("at"), log);
    return typeof next === "string" ? res.redirect(next) : send(req, res, next);
  };
}

/**
 * The page of a log entry, if the entry is a signal of the instrument; otherwise a page that says
 * so.
 */
async function pageOfEntry(
  frame: ProofFrame,
  entry: string,
  log: ToolSignalLog,
): Promise<PageAnswer> {
  const proven = await provenIn(log, entry);
  const said = proven && signalIn(proven, frame.instrument);
  if (proven === undefined || said === undefined) {
    return noProofPage(frame, `The log has no signal of ${frame.instrument.symbol} at this entry.`);
  }
  const { assetClass } = frame.instrument;
  const record = await log.trackRecord();
  const claim = record?.claims.find(({ terms }) => terms.assetClass === assetClass);
  return proofPage(frame, { proven, said, log, claim });
}

/** URL of the last signal logged by a point in time, or a page that states why there is none. */
async function placeOf(
  frame: ProofFrame,
  text: string | null,
  log: ToolSignalLog,
): Promise<string | PageAnswer> {
  const { instrument, context } = frame;
  const at = instantOf(text, context.market.knownUntil());
  if (at === undefined) return noProofPage(frame, "", { errors: [WRONG_DAY] });
  const index = await entryAt(instrument, at, log);
  return index === undefined
    ? noProofPage(frame, await beganText(instrument, at, log), { entered: text })
    : proofPath(instrument.symbol, index);
}

/** Sends the proof of a signal as a `.tlog-proof` file. */
export function sendProofFile({ context, viewerOf }: HomeContext): RequestHandler {
  return async (req, res) => {
    const { scopes } = await viewerOf(req);
    const symbol = String(req.params.symbol);
    const found = scopes.has("signals:read") ? findInstrument(symbol, context) : undefined;
    const entry = queryOf(req).get("entry") ?? "";
    const proven = context.signalLog && (await provenIn(context.signalLog, entry));
    if (found?.kind !== "found" || !proven || !signalIn(proven, found.instrument)) {
      return res.redirect(proofPath(symbol));
    }
    res.set({ "cache-control": "private, no-cache", vary: "Cookie" }).type("text/plain");
    res.attachment(`${found.instrument.symbol}-${entry}.tlog-proof`).send(proofFileText(proven));
  };
}

/**
 * Finds a log entry with its proof.
 *
 * @param entry Index of the entry as text from a URL.
 * @returns `undefined` if there is no such entry.
 */
const provenIn = async (
  { reader }: ToolSignalLog,
  entry: string,
): Promise<ProvenEntry | undefined> =>
  ENTRY.test(entry) ? reader.prove(Number(entry)) : undefined;

/** The instrument whose proof is shown, and the viewer. */
interface ProofFrame {
  readonly instrument: Instrument;
  readonly context: ToolContext;
  readonly viewer: Viewer;
  readonly site: Site;
}

const WRONG_DAY: FieldErrors[number] = { id: "at", text: "Choose a day from the calendar." };

/**
 * Parses a day or minute and returns its end, in milliseconds since the epoch; `newest` for an
 * empty or missing text, `undefined` for any other text.
 */
function instantOf(text: string | null, newest: number): number | undefined {
  if (text === null || text === "") return newest;
  const end = DAY.test(text) ? "T23:59:59.999Z" : `${text.length < 19 ? ":59" : ""}.999Z`;
  const at = DAY.test(text) || MINUTE.test(text) ? Date.parse(text + end) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/**
 * Index of the log entry with an instrument's signal for the newest session that closed by a point
 * in time.
 */
async function entryAt(
  { assetClass, symbol }: Instrument,
  at: number,
  { reader }: ToolSignalLog,
): Promise<number | undefined> {
  const run = await reader.runAt(assetClass, at);
  const position = run?.symbols.indexOf(symbol) ?? -1;
  return run === undefined || position < 0 ? undefined : run.index + 1 + position;
}

/**
 * Text that says that nothing was logged by a point in time, and where the log of the instrument
 * begins.
 */
async function beganText(
  { assetClass, symbol }: Instrument,
  at: number,
  { reader }: ToolSignalLog,
): Promise<Html> {
  const first = await reader.firstRun(assetClass);
  const position = first?.symbols.indexOf(symbol) ?? -1;
  return html`Nothing was logged by ${dateTimeHtml(isoInstant(at))}.${first && html` The log began with the session of ${dateTimeHtml(isoInstant(first.close))}.`}${
    first !== undefined &&
    position >= 0 &&
    html` <a href="${proofPath(symbol, first.index + 1 + position)}">Verify its oldest signal of ${symbol}</a>.`
  }`;
}

function signalIn({ entry }: ProvenEntry, { symbol }: Instrument): SignalEntry | undefined {
  const { data } = SignalEntry.safeParse(JSON.parse(entry));
  return data?.symbol === symbol ? data : undefined;
}

function noProofPage(
  { instrument, context, viewer }: ProofFrame,
  why: HtmlContent,
  {
    errors = [],
    entered,
  }: { readonly errors?: FieldErrors; readonly entered?: string | null } = {},
): PageAnswer {
  const { symbol } = instrument;
  return {
    status: errors.length > 0 ? 400 : 404,
    errors,
    heading: `No proof for ${symbol}`,
    place: "market",
    isSignedIn: viewer.isSignedIn,
    body: html`<p class="lead">${why}</p>
${context.signalLog && earlierProofForm(symbol, { dayMs: context.market.dayMs, entered })}
<p><a href="${instrumentPath(symbol)}">Back to ${symbol}</a></p>`,
  };
}

/** A signal with its proof. */
interface ProvenSignal {
  readonly proven: ProvenEntry;
  readonly said: SignalEntry;
  readonly log: ToolSignalLog;
  /** The newest claim about signals of the class; `undefined` if there is none. */
  readonly claim: ServedClaim | undefined;
}

function proofPage(frame: ProofFrame, { proven, said, log, claim }: ProvenSignal): PageAnswer {
  const { instrument, viewer, context, site } = frame;
  const { symbol } = instrument;
  const { index, entry, proof, checkpoint } = proven;
  const note = withoutLongSignatures(checkpoint.note);
  const file = `${instrumentPath(symbol)}/proof.tlog-proof?entry=${index}`;
  const [key] = log.shortVerifiersOf(checkpoint.origin);
  return {
    heading: `Proof: ${symbol}`,
    isWide: true,
    place: "market",
    isSignedIn: viewer.isSignedIn,
    scriptPath: proofScriptHref,
    body: html`<p class="lead beneath">What was said when the session of ${dateTimeHtml(said.close)} closed. <a href="${instrumentPath(symbol)}">Back to ${symbol}</a></p>
<section aria-labelledby="said" class="card columns">
<h2 id="said">What the log says</h2>
${descriptionList([
  ["Signal", signalMark(said.signal, { ...instrument, coverage: said.coverage })],
  [
    "Score",
    html`${fixedDecimalsHtml(2)(said.scoreRaw)} <span class="quiet">smoothed ${fixedDecimalsHtml(2)(said.scoreSmoothed)}</span>`,
  ],
  ["Confidence", percentHtml(0)(said.confidence)],
  ["Coverage", percentHtml(0)(said.coverage)],
  ["Entry", html`${index} <span class="quiet">of ${checkpoint.size}</span>`],
  ["This service today", todayText(said, instrument, context)],
  ...(claim === undefined
    ? []
    : [
        [
          "What is claimed",
          html`${claimSentence(claim)} <a href="${paths.trackRecord}">So far</a>: ${claimVerdictText(claim)}.`,
        ] as const,
      ]),
])}
</section>
<section aria-labelledby="checks">
<h2 id="checks">Was it altered?</h2>
<p class="note" id="verdict" role="status">The steps below need a script, or your own machine: see “Check it without us”.</p>
<ol class="card checks">
${checkItem("check-entry", "These words are in the log, under its root.")}
${checkItem("check-signature", "The log signed that root.")}
${checkItem("check-memory", "The log has everything that this browser saw of it before.")}
</ol>
<p class="quiet">The proof shows what was said, and that it was not changed since; not that it was right. The script that checks it comes from this service too: if you do not trust it, use the command.</p>
</section>
<section aria-labelledby="without-us">
<h2 id="without-us">Check it without us</h2>
<p>1. <a href="${file}" download>Download the proof</a>. 2. Check it on your own machine, offline, where this program is installed, as in a checkout of it:</p>
<div class="address"><code id="verify-file">npx --no-install market-signal verify ./${symbol}-${index}.tlog-proof --key "${key}"</code>${copyButton("verify-file", "the command")}</div>
<p>The key is the one that signs today; keep it, and a later proof cannot come from another log. The whole log, and that it only grows:</p>
<div class="address"><code id="verify-log">npx --no-install market-signal verify ${site.baseUrl} --state seen.json</code>${copyButton("verify-log", "the command for the log")}</div>
<p class="quiet">Both name each check as proved, not proved or failed. They end with exit code 1 if anything failed, and with 2 if nothing did but something cannot be proved: at a first look that nothing was taken back since an earlier one, and without witnesses that others saw the same log.</p>
</section>
<section aria-labelledby="proof">
<h2 id="proof">The proof itself</h2>
<p>Entry <code id="entry-index">${index}</code>, the words that were logged (canonical JSON, RFC 8785):</p>
<div class="code-block"><pre><code id="entry">${entry}</code></pre></div>
<details class="more"><summary>The path of ${proof.length} hashes, the checkpoint and its keys</summary>
<p>Path from SHA-256(0x00 entry) to the root (RFC 6962):</p>
<ol id="path">${proof.map((hash) => html`<li><code>${Buffer.from(hash).toString("base64")}</code></li>`)}</ol>
<p><a href="${paths.logCheckpoint}">Checkpoint</a> (C2SP signed-note), and the <a href="${paths.logKeys}">keys</a> that sign it:</p>
<div class="code-block"><pre><code id="checkpoint">${note}</code></pre></div>
<ul id="log-keys">${log.shortVerifiersOf(checkpoint.origin).map((key) => html`<li><code>${key}</code></li>`)}</ul>
</details>
</section>
<section aria-labelledby="other"><h2 id="other">Another session</h2>${earlierProofForm(symbol, { dayMs: context.market.dayMs })}</section>`,
  };
}

/** List item for one step of the check; the script fills in its result. */
const checkItem = (id: string, text: string): Html =>
  html`<li id="${id}"><strong>not checked</strong> <span>${text}</span></li>`;

/** Text that says whether the service still returns the figures that it logged. */
function todayText(said: SignalEntry, { symbol }: Instrument, { snapshots }: ToolContext): Html {
  const snapshot = snapshots.lastAt(symbol, Date.parse(said.close));
  if (snapshot === undefined || isoInstant(snapshot.at) !== said.close) {
    return html`<span class="quiet">no longer keeps that session</span>`;
  }
  const { signal, scoreRaw, scoreSmoothed } = roundedSignal(snapshot);
  const isSame =
    signal === said.signal && scoreRaw === said.scoreRaw && scoreSmoothed === said.scoreSmoothed;
  return isSame
    ? html`answers the same <span class="quiet">for that session</span>`
    : html`<strong>answers otherwise</strong> <span class="quiet">${signal}, score ${fixedDecimalsHtml(2)(scoreRaw)}</span>`;
}
