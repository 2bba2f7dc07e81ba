import { type Html, type HtmlContent, html } from "../../markup/html.ts";
import type { FieldErrors } from "./elements.ts";
import {
  type Choice,
  type Control,
  type Field,
  type Fields,
  type Form,
  fieldId,
  type Input,
  type Lines,
  type Options,
  type Refused,
  type Values,
} from "./form.ts";

/** Where a form is sent, and what is sent besides the fields that a person fills in. */
interface FormFrame {
  readonly action: string;
  /** CSRF token. */
  readonly formToken: string;
  /** Values of hidden fields. */
  readonly hidden?: Readonly<Record<string, string>>;
}

/** Shows buttons as a form without fields. */
export function buttonForm({ action, formToken, hidden = {} }: FormFrame, inside: Html): Html {
  const values = Object.entries({ form_token: formToken, ...hidden });
  return html`<form method="post" action="${action}">
${inside}
${values.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
</form>`;
}

/** Properties of a field that can depend on the request. */
interface Varied extends Pick<Field, "label" | "hint"> {
  readonly options?: Options;
}

/** How a form is shown. */
interface FormView<F extends Fields> extends FormFrame {
  /** Saved or suggested values of its fields. */
  readonly values?: Values<F>;
  /** What was sent and refused, if it was this form; its values replace those above. */
  readonly refused?: Refused | undefined;
  /** What of a field depends on the request. */
  readonly vary?: { readonly [K in keyof F]?: Varied };
}

/** What a field is shown with: its content by option, such as the fields that depend on one. */
type Under = Readonly<Record<string, HtmlContent>>;

/** Shows one field of a form. */
export type ShowField<F extends Fields> = (name: keyof F & string, under?: Under) => Html;

/**
 * Shows a form.
 *
 * @param inside The buttons, after all fields in their order; or a function that arranges the
 * fields.
 */
export function showForm<F extends Fields>(
  form: Form<F>,
  { values = {}, refused, vary = {}, ...frame }: FormView<F>,
  inside: Html | ((show: ShowField<F>) => Html),
): Html {
  const isRefused = refused?.form === form.id;
  const shown: Values<Fields> = { ...values, ...(isRefused && refused.values) };
  const errors = isRefused ? refused.errors : [];
  const note = isRefused && refused.note;
  const show: ShowField<F> = (name, under = {}) => {
    const field = { ...(form.fields[name] as Field), ...vary[name] } as Field;
    return fieldHtml(field, { id: fieldId(form, name), name, value: shown[name], errors, under });
  };
  const shownInside =
    typeof inside === "function"
      ? inside(show)
      : html`${Object.keys(form.fields).map((name) => show(name))}${inside}`;
  return buttonForm(frame, html`${note}${shownInside}`);
}

/** The state of a field on a page. */
interface FieldState {
  readonly id: string;
  readonly name: string;
  readonly value: string | readonly string[] | undefined;
  readonly errors: FieldErrors;
  readonly under?: Under;
}

/** Shows a field alone. */
export function fieldHtml(field: Control, state: FieldState): Html {
  const { label, hint } = field;
  const { id, errors } = state;
  const error = errorText(errors, id);
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const description = described !== "" && html` aria-describedby="${described}"`;
  const notes = html`${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${error}`;
  if (field.control === "radio" || field.control === "checkboxes") {
    const options = optionsHtml(field, state);
    if (label === undefined) return html`${notes}${options}`;
    return html`<fieldset${description}><legend>${label}</legend>
${notes}
${options}</fieldset>
`;
  }
  const common = html`id="${id}" name="${state.name}"${description}${error && html` aria-invalid="true"`}`;
  return html`<div class="field">
<label for="${id}">${label}</label>
${notes}
${controlHtml(field, common, state)}
</div>
`;
}

function controlHtml(field: Input | Lines | Choice, common: Html, state: FieldState): Html {
  const value = typeof state.value === "string" ? state.value : "";
  switch (field.control) {
    case "input":
      return inputHtml(field, common, { value, hasErrors: state.errors.length > 0 });
    case "lines": {
      const { rows, isRequired, isExact } = field;
      // HTML drops a line break right after the opening tag (HTML section 13.1.2.5).
      return html`<textarea ${common} rows="${rows}"${isRequired && html` required`}${isExact && EXACT}>\n${value}</textarea>`;
    }
    default:
      return html`<select ${common}>${(field.options ?? []).map(
        ([each, text]) =>
          html`<option value="${each}"${each === value && html` selected`}>${text}</option>`,
      )}</select>`;
  }
}

/** Attributes of a field for a code or an address. */
const EXACT = html` spellcheck="false"`;

function inputHtml(
  field: Input,
  common: Html,
  { value, hasErrors }: { readonly value: string; readonly hasErrors: boolean },
): Html {
  const { type, autocomplete, inputMode, capitals, isExact, isRequired, maxLength } = field;
  const { min, max, step, placeholder, look, isFirst } = field;
  const bounds = [
    typeof min === "number" && html` min="${min}"`,
    typeof max === "number" && html` max="${max}"`,
    step !== undefined && html` step="${step}"`,
    maxLength !== undefined && html` maxlength="${maxLength}"`,
  ];
  const help = [
    inputMode !== undefined && html` inputmode="${inputMode}"`,
    autocomplete !== undefined && html` autocomplete="${autocomplete}"`,
    capitals !== undefined && html` autocapitalize="${capitals}"`,
    isExact && EXACT,
    placeholder !== undefined && html` placeholder="${placeholder}"`,
    isRequired && html` required`,
    isFirst && !hasErrors && html` autofocus`,
  ];
  return html`<input ${common}${look && html` class="${look}"`} type="${type}"${value !== "" && html` value="${value}"`}${help}${bounds}>`;
}

/** The error message of a field, or of another part of a page; `undefined` if it has none. */
export function errorText(errors: FieldErrors | undefined, id: string): Html | undefined {
  const error = errors?.find((one) => one.id === id);
  return error && html`<p class="error" id="${id}-error">${error.text}</p>`;
}

/** Radio buttons or checkboxes. */
function optionsHtml({ control, options = [] }: Choice, state: FieldState): readonly Html[] {
  const { id, name, value = [], under = {} } = state;
  const chosen = [value].flat();
  const type = control === "radio" ? "radio" : "checkbox";
  return options.map(([each, label], at) =>
    optionHtml({
      type,
      id: at === 0 ? id : `${id}-${at}`,
      name,
      value: each,
      isChosen: chosen.includes(each),
      label,
      inside: under[each],
    }),
  );
}

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
export const optionHtml = ({ type, id, name, value, isChosen, label, inside }: Option): Html =>
  html`<div class="option"><div class="choice"><input type="${type}" id="${id}" name="${name}" value="${value}"${isChosen && html` checked`}><label for="${id}">${label}</label></div>${
    inside &&
    html`
<div class="under">${inside}</div>`
  }</div>
`;

/** A form for an action that cannot be undone. */
interface DestructiveAction extends FormFrame {
  /** Label of the disclosure element that contains the button. */
  readonly summary: string;
  /** The consequence of the action, in a sentence or two. */
  readonly consequence: string;
  readonly button: string;
}

/**
 * A button inside a disclosure element. Opening the element is the confirmation step, which needs
 * no script.
 */
export function destructiveAction({
  summary,
  consequence,
  button,
  ...where
}: DestructiveAction): Html {
  return html`<details>
<summary class="irreversible">${summary}</summary>
<p>${consequence}</p>
${buttonForm(where, html`<button class="danger">${button}</button>`)}
</details>`;
}
