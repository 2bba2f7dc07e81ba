import { type Html, type HtmlContent, html } from "../../../markup/html.ts";
import { type FieldErrors, field, untrustedText } from "../elements.ts";
import type { InstrumentNameFields, InstrumentSuggestion } from "./alert-entry.ts";

/** A radio button or checkbox, with content that belongs to it. */
interface Option {
  readonly type: "radio" | "checkbox";
  readonly id: string;
  readonly name: string;
  readonly value: string;
  readonly isChosen: boolean;
  readonly label: HtmlContent;
  readonly inside?: HtmlContent;
}

/** Renders an option. The style sheet hides its content while the option is not selected. */
export const choiceOption = ({ type, id, name, value, isChosen, label, inside }: Option): Html =>
  html`<div class="option"><div class="choice"><input type="${type}" id="${id}" name="${name}" value="${value}"${isChosen && html` checked`}><label for="${id}">${label}</label></div>${
    inside &&
    html`
<div class="under">${inside}</div>`
  }</div>
`;

/** A field for symbols or names of instruments, with suggestions for names. */
export const instrumentsField = ({
  entry,
  errors,
  suggestions,
}: {
  readonly entry: InstrumentNameFields;
  readonly errors: FieldErrors;
  readonly suggestions: readonly InstrumentSuggestion[];
}): Html =>
  html`${field({
    id: "symbols",
    label: "Symbols or names",
    hint: "Up to 100, with commas or spaces between. A name will do if it fits one instrument.",
    value: entry.symbols,
    errors,
    attributes: html`type="text" autocomplete="off" spellcheck="false" autocapitalize="characters"`,
  })}${suggestionsPart(suggestions)}`;

/** Suggested instruments for each name that is not a symbol. */
const suggestionsPart = (suggestions: readonly InstrumentSuggestion[]): readonly Html[] =>
  suggestions.map(
    ({ text, found }, nth) => html`<fieldset class="suggestions"><legend>${
      found.length > 0 ? "Choose what you mean by" : "Nothing fits"
    } “${untrustedText(text)}”</legend>
${found.map(({ symbol, name }, index) =>
  choiceOption({
    type: "checkbox",
    id: `symbol-${nth}-${index}`,
    name: "symbol",
    value: symbol,
    isChosen: false,
    label: html`<code>${symbol}</code> ${untrustedText(name)}`,
  }),
)}</fieldset>
`,
  );
