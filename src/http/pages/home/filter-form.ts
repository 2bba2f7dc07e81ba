import { type FieldErrors, field } from "../elements.ts";
import { type Html, html } from "../html.ts";
import { type Asked, addressOf, type Filter, MAX_SEARCH } from "./filter.ts";
import { classNames } from "./marks.ts";

type Option = readonly [value: string, text: string];

const signals: readonly Option[] = [
  ["", "Any signal"],
  ["LONG", "LONG"],
  ["SHORT", "SHORT"],
  ["WAIT", "WAIT"],
];

const orders: readonly Option[] = [
  ["", "By symbol"],
  ["score", "By score"],
];

const classes: readonly Option[] = [["", "All classes"], ...Object.entries(classNames)];

/** The form that chooses among the instruments. */
export function filterForm({ filter, errors, search }: Asked): Html {
  const isChosen = addressOf(filter) !== "/" || errors.length > 0;
  return html`<form class="filters" method="get" action="/#market" role="search" aria-label="Instruments">
${field({
  id: "q",
  label: "Symbol or name",
  value: search,
  errors,
  attributes: html`type="search" maxlength="${MAX_SEARCH}" autocomplete="off" spellcheck="false"`,
})}
${choice("class", "Class", { options: classes, filter, errors })}
${choice("signal", "Signal", { options: signals, filter, errors })}
${choice("sort", "Order", { options: orders, filter, errors })}
<div class="buttons"><button>Show</button>${isChosen && html`<a class="second" href="/#market">Clear</a>`}</div>
</form>`;
}

interface Choice {
  readonly options: readonly Option[];
  readonly filter: Filter;
  readonly errors: FieldErrors;
}

function choice(
  id: "class" | "signal" | "sort",
  label: string,
  { options, filter, errors }: Choice,
): Html {
  const error = errors.find((one) => one.id === id);
  return html`<div class="field">
<label for="${id}">${label}</label>
${error && html`<p class="error" id="${id}-error">${error.text}</p>`}
<select id="${id}" name="${id}"${error && html` aria-describedby="${id}-error" aria-invalid="true"`}>
${options.map(([value, text]) => html`<option value="${value}"${value === (filter[id] ?? "") && html` selected`}>${text}</option>`)}
</select>
</div>`;
}
