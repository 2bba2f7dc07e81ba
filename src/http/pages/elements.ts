import { type Scope, scopeDescriptions } from "../../access/scopes.ts";
import { memo } from "../../lib/memo.ts";
import { type Html, type HtmlContent, html } from "../../markup/html.ts";

/** Maximum length of untrusted text on a page, in characters. */
const MAX_UNTRUSTED_CHARACTERS = 100;

/**
 * Maximum length of a host name, in characters (RFC 1035 section 2.3.4, without its length octets).
 */
const MAX_HOST_CHARACTERS = 253;

/** Maximum length of a URL up to the end of its host, in characters. */
const MAX_ORIGIN_CHARACTERS = "https://".length + MAX_HOST_CHARACTERS;

/** Control and bidirectional characters, which can disguise text. */
export const DECEPTIVE_CHARACTERS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** The validation errors of a form, one per field, each with the id of its field in the page. */
export type FieldErrors = readonly { readonly id: string; readonly text: string }[];

/**
 * Renders untrusted text: truncated, isolated from the surrounding text, with deceptive characters
 * made visible.
 */
export function untrustedText(text: string): Html {
  const characters = withoutDeception(text);
  const isLong = characters.length > MAX_UNTRUSTED_CHARACTERS;
  const shown = characters.slice(0, MAX_UNTRUSTED_CHARACTERS).join("");
  return html`<bdi class="untrusted">${shown}${isLong && "…"}</bdi>`;
}

/** Renders a host or URL chosen by a third party. The registrable domain is at the end of the host,
 *  so an overlong host is shortened in the middle. */
export function untrustedHost(text: string): Html {
  const characters = withoutDeception(text);
  if (characters.length <= MAX_ORIGIN_CHARACTERS + MAX_HOST_CHARACTERS) {
    return html`<bdi class="untrusted">${characters.join("")}</bdi>`;
  }
  const start = characters.slice(0, MAX_ORIGIN_CHARACTERS).join("");
  const end = characters.slice(-MAX_HOST_CHARACTERS).join("");
  return html`<bdi class="untrusted">${start}…${end}</bdi>`;
}

const withoutDeception = (text: string): readonly string[] => [
  ...text.replace(DECEPTIVE_CHARACTERS, "\uFFFD"),
];

const notVerified = html`<span class="tag">not verified</span>`;

const noName = html`<span class="quiet">no name given</span>`;

/** The name that an agent or application gave itself, marked as unverified. */
export function unverifiedName(name: string | undefined): Html {
  return isBlank(name) ? noName : html`calls itself “${untrustedText(name)}” ${notVerified}`;
}

/** The name that an agent or application gave itself, as the title of a card. */
export function unverifiedTitle(kind: string, name: string | undefined): Html {
  return isBlank(name)
    ? html`${kind} without a name`
    : html`“${untrustedText(name)}” ${notVerified}`;
}

function isBlank(name: string | undefined): name is undefined {
  return name === undefined || name.trim() === "";
}

const instant = memo(
  () =>
    new Intl.DateTimeFormat("en-GB", {
      day: "numeric",
      month: "long",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      timeZone: "UTC",
    }),
);

/**
 * A point in time as a `time` element.
 *
 * @param ms Milliseconds since the epoch.
 */
export function timeElement(ms: number): Html {
  const text = instant().format(ms).replace(" at ", ", ");
  return html`<time datetime="${new Date(ms).toISOString()}">${text} UTC</time>`;
}

/**
 * Text that says when something was last used.
 *
 * @param at Start of the hour of the last use, in milliseconds since the epoch.
 * @param madeAt Creation time, in milliseconds since the epoch. It is shown instead of `at` if it
 * is later: creation and last use were then in the same hour.
 */
export function lastUseText(at: number | undefined, madeAt: number): Html {
  if (at === undefined) return html`<span class="quiet">never</span>`;
  return html`about ${timeElement(Math.max(at, madeAt))}`;
}

/** A name and a value in a description list. */
export type FactEntry = readonly [name: string, value: HtmlContent];

/** A description list; `false` entries are omitted. */
export function descriptionList(entries: readonly (FactEntry | false)[]): Html {
  const there = entries.filter((entry) => entry !== false);
  return html`<dl>${there.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Scopes as a list, each with a description. */
export function scopeList(names: readonly Scope[]): Html {
  if (names.length === 0) return html`<p class="quiet">Nothing.</p>`;
  return html`<ul class="scopes">${names.map(
    (name) => html`<li>${scopeDescriptions[name]} <code>${name}</code></li>`,
  )}</ul>`;
}

/** Scopes as a list, without descriptions. */
export function scopeLabels(names: readonly string[]): Html {
  return html`<ul class="chips">${names.map((name) => html`<li><code>${name}</code></li>`)}</ul>`;
}

/** Summary of a form's errors, shown before the form, with links to the fields. */
export function errorSummary(errors: FieldErrors): Html | undefined {
  if (errors.length === 0) return undefined;
  return html`<div class="note wrong" role="alert" tabindex="-1" autofocus>
<h2>Please correct this</h2>
<ul>${errors.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)}</ul>
</div>`;
}
