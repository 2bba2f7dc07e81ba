import { DAY_MS } from "../../../lib/day.ts";
import { instrumentPath, paths } from "../../../lib/paths.ts";
import { type Html, html } from "../../../markup/html.ts";
import type { FullSignal } from "../../../tool/signal.ts";
import { dateTimeHtml } from "./number-format.ts";

/**
 * URL of the page that proves a signal of an instrument.
 *
 * @param entry Index of the log entry; absent for the newest one.
 */
export const proofPath = (symbol: string, entry?: number): string =>
  `${instrumentPath(symbol)}/proof${entry === undefined ? "" : `?entry=${entry}`}`;

/**
 * Section that explains how to prove that a signal, either the newest one or that of an earlier
 * session, was not altered.
 */
export function proofSection({ symbol, logged }: FullSignal, dayMs: number): Html {
  return html`<section aria-labelledby="proof">
<h2 id="proof">Proof</h2>
<div class="card">
<p>${
    logged === null
      ? "This signal is not in the log yet: it is written when a session closes."
      : html`This signal was written to <a href="${paths.logCheckpoint}">the log</a> when its session closed, ${dateTimeHtml(logged.at)}, and cannot be changed unnoticed. <a href="${proofPath(symbol, logged.index)}">Verify it</a>, as entry ${logged.index}.`
  }</p>
${earlierProofForm(symbol, { dayMs })}
</div>
</section>`;
}

/** Latest day of a date field; without a maximum, browsers accept years of six digits. */
const LAST_DAY = "9999-12-31";

/** A form that leads to the proof of an earlier session. */
export const earlierProofForm = (
  symbol: string,
  { dayMs, entered }: { readonly dayMs: number; readonly entered?: string | null | undefined },
): Html =>
  html`<form class="session" method="get" action="${proofPath(symbol)}"><label for="at">An earlier signal, as it stood on</label> <input id="at" name="at" required type="${dayMs < DAY_MS ? "datetime-local" : "date"}" max="${LAST_DAY}${dayMs < DAY_MS && "T23:59"}"${entered && html` value="${entered}"`}> <button>Verify that signal</button></form>`;
