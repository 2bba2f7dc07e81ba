import { type Scope, scopes } from "../../auth/scopes.ts";
import { memo } from "../../lib/memo.ts";
import { type Content, type Html, html } from "./html.ts";

/** Most characters of a stranger's text that are shown. */
const MAX_STRANGER_CHARACTERS = 100;

/** Most characters of the name of a host (RFC 1035 section 2.3.4, less what is not shown). */
const MAX_HOST_CHARACTERS = 253;

/** Most characters of an address up to the end of its host. */
const MAX_ORIGIN_CHARACTERS = "https://".length + MAX_HOST_CHARACTERS;

/** Characters that make a text read as something else. */
const DECEPTIVE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Something in a form that must be corrected. */
interface FieldError {
  /** Id of the field in the page. */
  readonly id: string;
  readonly text: string;
}

/** The errors of a form by field. */
export type FieldErrors = readonly FieldError[];

/** A text that a stranger chose: bounded, kept apart from what surrounds it, its tricks visible. */
export function stranger(text: string): Html {
  const characters = harmless(text);
  const isLong = characters.length > MAX_STRANGER_CHARACTERS;
  const shown = characters.slice(0, MAX_STRANGER_CHARACTERS).join("");
  return html`<bdi class="stranger">${shown}${isLong && "…"}</bdi>`;
}

/**
 * A host or a web address that a stranger chose. Whose it is stands at the end of the host, so that this
 * is never cut off: what is longer than any that works loses its middle.
 */
export function strangerSite(text: string): Html {
  const characters = harmless(text);
  if (characters.length <= MAX_ORIGIN_CHARACTERS + MAX_HOST_CHARACTERS) {
    return html`<bdi class="stranger">${characters.join("")}</bdi>`;
  }
  const start = characters.slice(0, MAX_ORIGIN_CHARACTERS).join("");
  const end = characters.slice(-MAX_HOST_CHARACTERS).join("");
  return html`<bdi class="stranger">${start}…${end}</bdi>`;
}

const harmless = (text: string): readonly string[] => [...text.replace(DECEPTIVE, "\uFFFD")];

const notVerified = html`<span class="tag">not verified</span>`;

const noName = html`<span class="quiet">no name given</span>`;

/** What an agent or an application calls itself, and that nobody checked it. */
export function unverifiedName(name: string | undefined): Html {
  return isBlank(name) ? noName : html`calls itself “${stranger(name)}” ${notVerified}`;
}

/** The same as the title of a card. */
export function unverifiedTitle(kind: string, name: string | undefined): Html {
  return isBlank(name) ? html`${kind} without a name` : html`“${stranger(name)}” ${notVerified}`;
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

/** A point in time. @param ms Milliseconds since the epoch. */
export function moment(ms: number): Html {
  const text = instant().format(ms).replace(" at ", ", ");
  return html`<time datetime="${new Date(ms).toISOString()}">${text} UTC</time>`;
}

/**
 * When something was last used, which is noted by the hour.
 *
 * @param at Beginning of that hour.
 * @param madeAt Nothing is used before: in the first hour this is nearer.
 */
export function lastUse(at: number | undefined, madeAt: number): Html {
  if (at === undefined) return html`<span class="quiet">never</span>`;
  return html`about ${moment(Math.max(at, madeAt))}`;
}

/** A fact: its name and what it is. */
export type Fact = readonly [name: string, value: Content];

/** A list of facts, without those that are not there. */
export function facts(entries: readonly (Fact | false)[]): Html {
  const there = entries.filter((entry) => entry !== false);
  return html`<dl>${there.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Scopes with what each one allows. */
export function scopeList(names: readonly Scope[]): Html {
  if (names.length === 0) return html`<p class="quiet">Nothing.</p>`;
  return html`<ul class="scopes">${names.map(
    (name) => html`<li>${scopes[name]} <code>${name}</code></li>`,
  )}</ul>`;
}

/** The names of scopes, where there is no room for words. */
export function scopeNames(names: readonly string[]): Html {
  return html`<ul class="chips">${names.map((name) => html`<li><code>${name}</code></li>`)}</ul>`;
}

/** Boxes to choose scopes by. */
export interface ScopeChoice {
  readonly legend: string;
  readonly offered: readonly Scope[];
  readonly chosen: ReadonlySet<string>;
  readonly errors?: FieldErrors;
}

/** Id of the first box of `scopeChoice`, for errors. */
export const SCOPES_ID = "scope-0";

/** A group of boxes named `scope`. */
export function scopeChoice({ legend, offered, chosen, errors = [] }: ScopeChoice): Html {
  const error = errorOf(errors, SCOPES_ID);
  return html`<fieldset${error && html` aria-describedby="${SCOPES_ID}-error"`}>
<legend>${legend}</legend>
${errorText(errors, SCOPES_ID)}
${offered.map(
  (name, index) => html`<div class="choice">
<input type="checkbox" id="scope-${index}" name="scope" value="${name}"${chosen.has(name) && html` checked`}>
<label for="scope-${index}">${scopes[name]} <code>${name}</code></label>
</div>`,
)}
</fieldset>`;
}

/** A field of a form; its name is its id. */
export interface Field {
  readonly id: string;
  readonly label: string;
  readonly hint?: Content;
  readonly value?: string | undefined;
  /** Attributes of its own kind, such as `autocomplete`. */
  readonly attributes: Html;
  readonly errors?: FieldErrors;
}

/** A line of input. */
export function field(of: Field): Html {
  const { value, attributes } = of;
  const own = html`${value && html` value="${value}"`} ${attributes}`;
  return labelled(of, (common) => html`<input ${common}${own}>`);
}

/** Several lines of input. A line break right after the tag is none of the text (HTML section
 *  13.1.2.5). */
export function textArea(of: Field): Html {
  const { value, attributes } = of;
  return labelled(of, (common) => html`<textarea ${common} ${attributes}>\n${value}</textarea>`);
}

/** Puts a field under its label, so that its hint and its error are read with it. */
function labelled({ id, label, hint, errors = [] }: Field, control: (common: Html) => Html): Html {
  const hasError = errorOf(errors, id) !== undefined;
  const described = [hint && `${id}-hint`, hasError && `${id}-error`].filter(Boolean).join(" ");
  const common = html`id="${id}" name="${id}"${described !== "" && html` aria-describedby="${described}"`}${hasError && html` aria-invalid="true"`}`;
  return html`<div class="field">
<label for="${id}">${label}</label>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${errorText(errors, id)}
${control(common)}
</div>`;
}

const errorOf = (errors: FieldErrors, id: string): FieldError | undefined =>
  errors.find((error) => error.id === id);

function errorText(errors: FieldErrors, id: string): Html | undefined {
  const error = errorOf(errors, id);
  return error && html`<p class="error" id="${id}-error">${error.text}</p>`;
}

/** What is wrong with a form, before the form, with links to the fields. */
export function errorSummary(errors: FieldErrors): Html | undefined {
  if (errors.length === 0) return undefined;
  return html`<div class="note wrong" role="alert" tabindex="-1" autofocus>
<h2>Please correct this</h2>
<ul>${errors.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)}</ul>
</div>`;
}

/** A form whose sender can be told from another site. */
export interface Form {
  readonly action: string;
  readonly formToken: string;
  /** Values that the person does not see. */
  readonly hidden?: Readonly<Record<string, string>>;
}

/** A form around its fields and buttons. */
export function form({ action, formToken, hidden = {} }: Form, inside: Html): Html {
  const values = Object.entries({ form_token: formToken, ...hidden });
  return html`<form method="post" action="${action}">
${inside}
${values.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
</form>`;
}

/** A step that cannot be undone. */
export interface Ending extends Form {
  /** What the person wants to do. */
  readonly summary: string;
  /** What it leads to, in a sentence or two. */
  readonly consequence: string;
  readonly button: string;
}

/** A button that first has to be brought to light, since without a script nothing asks again. */
export function ending({ summary, consequence, button, ...where }: Ending): Html {
  return html`<details>
<summary>${summary}</summary>
<p>${consequence}</p>
${form(where, html`<button class="danger">${button}</button>`)}
</details>`;
}
