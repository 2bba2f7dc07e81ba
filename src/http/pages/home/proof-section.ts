import { instrumentPath, paths } from "../../../../wellknown/paths.ts";
import type { FullSignal } from "../../../answers/signal.ts";
import { type Html, html } from "../html.ts";
import { dateTime } from "./number-format.ts";

/** URL of the page that proves what was said about an instrument. @param entry Index in the log. */
export const proofPath = (symbol: string, entry?: number): string =>
  `${instrumentPath(symbol)}/proof${entry === undefined ? "" : `?entry=${entry}`}`;

const DAY_MS = 86_400_000;

/** How to prove that a signal was not altered: the newest one, and that of any earlier session. */
export function proofSection({ symbol, logged }: FullSignal, dayMs: number): Html {
  return html`<section aria-labelledby="proof">
<h2 id="proof">Proof</h2>
<div class="card">
<p>${
    logged === null
      ? "This signal is not in the log yet: it is written when a session closes."
      : html`This signal was written to <a href="${paths.logCheckpoint}">the log</a> when its session closed, ${dateTime(logged.at)}, and cannot be changed unnoticed. <a href="${proofPath(symbol, logged.index)}">Verify it</a>, as entry ${logged.index}.`
  }</p>
${sessionForm(symbol, { dayMs })}
</div>
</section>`;
}

/** Without a last day, browsers take years of six digits. */
const LAST_DAY = "9999-12-31";

/** What the form for an earlier session shows. */
interface SessionChoice {
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
  /** What was entered before. */
  readonly entered?: string | null | undefined;
}

/** A form that leads to the proof of an earlier session. */
export const sessionForm = (symbol: string, { dayMs, entered }: SessionChoice): Html =>
  html`<form class="session" method="get" action="${proofPath(symbol)}"><label for="at">An earlier signal, as it stood on</label> <input id="at" name="at" required type="${dayMs < DAY_MS ? "datetime-local" : "date"}" max="${LAST_DAY}${dayMs < DAY_MS && "T23:59"}"${entered && html` value="${entered}"`}> <button>Verify that signal</button></form>`;
