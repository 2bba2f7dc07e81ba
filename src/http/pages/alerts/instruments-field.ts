import { z } from "zod";
import { Problem } from "../../../lib/problem.ts";
import type { Instrument } from "../../../market/instrument.ts";
import {
  isSymbol,
  isWeakMatch,
  matchInstruments,
  searchInstruments,
} from "../../../market/symbols.ts";
import { type Html, html } from "../../../markup/html.ts";
import { MAX_SYMBOLS } from "../../../tool/alert-input.ts";
import { resolveInstrument } from "../../../tool/lookup.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import { type FieldErrors, untrustedText } from "../elements.ts";
import { CheckboxValues } from "../form.ts";
import { optionHtml, type ShowField } from "../form-html.ts";

/** The fields with which a person names instruments. */
export const instrumentFields = {
  symbols: {
    control: "input",
    label: "Symbols or names",
    hint: `Up to ${MAX_SYMBOLS}, with commas or spaces between. A name will do if it fits one instrument.`,
    subject: "The instruments",
    type: "text",
    autocomplete: "off",
    isExact: true,
    capitals: "characters",
    schema: z.string().catch(""),
  },
  /** Symbols that were selected from the suggestions for a name. */
  symbol: { control: "checkboxes", schema: CheckboxValues.catch([]) },
} as const;

/** An entered name that is not a symbol, and the instruments that match it. */
export interface InstrumentSuggestion {
  readonly text: string;
  readonly found: readonly Instrument[];
}

/** Maximum number of instruments suggested for a name. */
const MAX_FOUND = 8;

/** Maximum number of entered names that are explained: by suggestions, and by errors. */
const MAX_NAMES = 5;

/**
 * The instruments of an entry: the symbols, also of names that only one instrument has, and the
 * matching instruments for each other name. If there are too many for an alert, none is looked up,
 * because each name is compared with those of all instruments.
 */
export function matchInstrumentNames(
  { symbols, symbol }: { readonly symbols: string; readonly symbol: readonly string[] },
  context: ToolContext,
) {
  const all = context.market.instruments();
  const isKnown = (text: string) => isSymbol(all, text);
  const parts = symbols
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .flatMap((part) => {
      const words = part.split(/\s+/);
      return !isKnown(part) && words.some(isKnown) ? words : [part];
    });
  if (isTooMany(parts)) return { symbols: [...parts, ...symbol], suggestions: [] };
  // A name that only one instrument has is meant; within other words it may be another's.
  const namedBy = (text: string): string => {
    if (isKnown(text)) return text;
    const [one, ...others] = matchInstruments(all, text).filter(({ match }) => !isWeakMatch(match));
    return one !== undefined && others.length === 0 ? one.instrument.symbol : text;
  };
  const meant = parts.map(namedBy);
  const suggestions: readonly InstrumentSuggestion[] = meant
    .filter((part) => !isKnown(part))
    .slice(0, MAX_NAMES)
    .map((text) => ({ text, found: searchInstruments(all, text).slice(0, MAX_FOUND) }));
  // Once a suggestion for a name is chosen, the name itself is no longer looked up.
  const names = symbol.length > 0 ? meant.filter(isKnown) : meant;
  return { symbols: [...names, ...symbol], suggestions: symbol.length > 0 ? [] : suggestions };
}

/**
 * Form errors for the first names that are not symbols, in the wording of the tools; none if there
 * are too many for an alert, which the schema of the tool refuses.
 */
export function symbolErrors(symbols: readonly string[], context: ToolContext): FieldErrors {
  const texts: string[] = [];
  for (const symbol of isTooMany(symbols) ? [] : symbols) {
    if (texts.length === MAX_NAMES) break;
    try {
      resolveInstrument(symbol, context);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      texts.push(error.detail);
    }
  }
  return texts.length === 0 ? [] : [{ id: "symbols", text: texts.join(" ") }];
}

const isTooMany = (names: readonly string[]): boolean => names.length > MAX_SYMBOLS;

/** Shows the field for symbols or names, with suggestions for each name that is not a symbol. */
export const showInstruments = (
  show: ShowField<typeof instrumentFields>,
  suggestions: readonly InstrumentSuggestion[],
): Html => html`${show("symbols")}${suggestions.map(suggestionHtml)}`;

const suggestionHtml = ({ text, found }: InstrumentSuggestion, nth: number): Html =>
  html`<fieldset class="suggestions"><legend>${
    found.length > 0 ? "Choose what you mean by" : "Nothing fits"
  } “${untrustedText(text)}”</legend>
${found.map(({ symbol, name }, index) =>
  optionHtml({
    type: "checkbox",
    id: `symbol-${nth}-${index}`,
    name: "symbol",
    value: symbol,
    isChosen: false,
    label: html`<code>${symbol}</code> ${untrustedText(name)}`,
  }),
)}</fieldset>
`;
