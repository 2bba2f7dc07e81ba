import express, { type Request, type RequestHandler } from "express";
import { z } from "zod";
import { Problem } from "../../lib/problem.ts";
import type { Html, HtmlContent } from "../../markup/html.ts";
import { validateInput } from "../api/parse.ts";
import type { FieldErrors } from "./elements.ts";

/** What every field that a person fills in has. */
interface Question {
  /** Label of the field, or legend of its options. */
  readonly label?: HtmlContent;
  readonly hint?: HtmlContent;
  /**
   * How messages name the field, such as "The message", if those of its schema are predicates such
   * as "must not be empty". Absent if they are sentences.
   */
  readonly subject?: string;
  /** Whether the field is a secret, which no page shows again. */
  readonly isSecret?: boolean;
}

/** A text field of one line. */
export interface Input extends Question {
  readonly control: "input";
  readonly type:
    | "text"
    | "email"
    | "url"
    | "search"
    | "password"
    | "number"
    | "time"
    | "datetime-local";
  /**
   * A value of HTML section 4.10.18.7.1, by which browsers fill the field in; `off` is for what no
   * browser can know.
   */
  readonly autocomplete?: "name" | "email" | "one-time-code" | "off";
  /** The keyboard that a phone shows, if it does not follow from the type. */
  readonly inputMode?: "numeric" | "decimal";
  readonly capitals?: "none" | "characters";
  /** Whether the text is a code or an address, which no browser should correct. */
  readonly isExact?: boolean;
  readonly isRequired?: boolean;
  /** Maximum length in UTF-16 code units. */
  readonly maxLength?: number;
  readonly min?: number | null;
  readonly max?: number | null;
  readonly step?: number;
  readonly placeholder?: string;
  /** CSS class. */
  readonly look?: "code";
  /** Whether typing starts here, on a page without errors. */
  readonly isFirst?: boolean;
}

/** A text field of several lines. */
export interface Lines extends Question {
  readonly control: "lines";
  readonly rows: number;
  readonly isRequired?: boolean;
  readonly isExact?: boolean;
}

/** The values that can be chosen, each with its text. */
export type Options = readonly (readonly [value: string, text: HtmlContent])[];

/** A drop-down list, radio buttons or checkboxes. */
export interface Choice extends Question {
  readonly control: "select" | "radio" | "checkboxes";
  readonly options?: Options;
}

/** What a page shows of a field. */
export type Control = Input | Lines | Choice;

/** A field of a form. Its schema reads and validates what a browser sends for it. */
export type Field = Control & { readonly schema: z.ZodType };

/** The fields of a form by name, in the order in which a page shows them. */
export type Fields = Readonly<Record<string, Field>>;

/** Values of fields: a text, or a list of the checked values. */
export type Values<F extends Fields> = {
  readonly [K in keyof F]?: string | readonly string[] | undefined;
};

/**
 * A form: what it asks for, how it is read, and how it is shown. Its page, the validation of what
 * is sent and the page of a refusal follow from it.
 */
export interface Form<F extends Fields = Fields> {
  /** Prefix of the ids of its fields, on a page with several forms; otherwise empty. */
  readonly id: string;
  readonly fields: F;
  readonly schema: z.ZodType<{ readonly [K in keyof F]: z.output<F[K]["schema"]> }>;
  /** The handlers that read the body of a request with this form. */
  readonly reader: readonly RequestHandler[];
}

/** Creates a form from its fields. */
export function createForm<const F extends Fields>(
  fields: F,
  { maxBytes, maxFields }: { readonly maxBytes?: number; readonly maxFields?: number } = {},
): Form<F> {
  const shape = Object.fromEntries(
    Object.entries(fields).map(([name, { schema }]) => [name, schema]),
  );
  const schema = z.object(shape) as unknown as Form<F>["schema"];
  return { id: "", fields, schema, reader: createFormReader(maxBytes, maxFields) };
}

/** A form among others on a page. */
export const formAt = <F extends Fields>(form: Form<F>, id: string): Form<F> => ({ ...form, id });

/** A form that was sent and refused: what was typed, and what is wrong with it. */
export interface Refused {
  /** Id of the form. */
  readonly form: string;
  readonly values: Values<Fields>;
  readonly errors: FieldErrors;
  /** What a person should know before sending the form again. */
  readonly note?: Html | undefined;
}

/** The values of a form that was sent, or its refusal. */
type Sent<F extends Fields> =
  | { readonly data: z.output<Form<F>["schema"]>; readonly refused?: undefined }
  | { readonly data?: undefined; readonly refused: Refused };

/** Reads a form that was sent. */
export function readForm<F extends Fields>(form: Form<F>, req: Request): Sent<F> {
  const { data, error } = validateInput(form.schema, req.body ?? {});
  if (error === undefined) return { data };
  return { refused: { ...sentValues(form, req), errors: issueErrors(form, error.issues) } };
}

/**
 * Refuses a form for reasons other than its schema.
 *
 * @param texts Messages by the name of the field.
 */
export const refuseForm = <F extends Fields>(
  form: Form<F>,
  req: Request,
  texts: Readonly<Partial<Record<keyof F & string, string>>>,
  note?: Html,
): Refused => {
  const errors = Object.entries(texts).map(([name, text]) => ({
    id: fieldId(form, name),
    text: String(text),
  }));
  return refuseWith(form, req, errors, note);
};

/** Refuses a form with errors of its fields or of other parts of its page. */
export const refuseWith = <F extends Fields>(
  form: Form<F>,
  req: Request,
  errors: FieldErrors,
  note?: Html,
): Refused => ({ ...sentValues(form, req), errors, note });

/** What was typed into the fields of a form, without what a page never shows again. */
function sentValues<F extends Fields>(
  { id, fields }: Form<F>,
  { body }: Request,
): Pick<Refused, "form" | "values"> {
  const values: Record<string, string | readonly string[]> = {};
  for (const [name, { control, isSecret }] of Object.entries(fields)) {
    const sent: unknown = body?.[name];
    if (isSecret) continue;
    if (control === "checkboxes") values[name] = CheckboxValues.catch([]).parse(sent);
    else if (typeof sent === "string") values[name] = sent;
  }
  return { form: id, values };
}

/** The errors of invalid members, each for the field of its name, at most one per field. */
export function issueErrors(form: Form, issues: readonly z.core.$ZodIssue[]): FieldErrors {
  const errors = issues.map(({ path: [name], message }) => ({
    id: fieldId(form, String(name)),
    text: sentence(form.fields[String(name)], message),
  }));
  return [...new Map(errors.map((error) => [error.id, error])).values()];
}

/** A message of a schema as a sentence about its field. */
function sentence(field: Field | undefined, message: string): string {
  if (field?.subject === undefined) return message;
  const text = message.replace(/\.$/, "");
  return /^[a-z]/.test(text) ? `${field.subject} ${text}.` : `${field.subject}: ${text}.`;
}

/** HTML id of a field; the first option of several has it, so that messages can link to it. */
export const fieldId = ({ id }: Pick<Form, "id">, name: string): string =>
  id === "" ? name : `${id}-${name}`;

/** Maximum size of a form without long texts, in bytes. */
const MAX_FORM_BYTES = 8 * 1024;

/** Maximum number of fields in a form; most forms of this site have fewer than half as many. */
const MAX_FIELDS = 20;

const FORM = "application/x-www-form-urlencoded";

/**
 * Creates the handlers that read the fields of a form; each value is a string or a list of strings.
 *
 * @param limit Maximum size, in bytes.
 * @param fields Maximum number of fields.
 */
const createFormReader = (
  limit = MAX_FORM_BYTES,
  fields = MAX_FIELDS,
): readonly RequestHandler[] => [
  (req, _res, next) => {
    if (req.is(FORM)) return next();
    throw new Problem("unsupported_media_type", {
      detail: `The body must be ${FORM}.`,
      next: "Open the page in a browser, and send the form from there.",
    });
  },
  express.urlencoded({ extended: false, limit, parameterLimit: fields, inflate: false }),
];

/** Reads a form that has only hidden fields and buttons. */
export const formReader = createFormReader();

/**
 * Schema of the selected checkboxes that share a name: a list of values, empty if none is selected.
 */
export const CheckboxValues = z
  .union([z.string().transform((one) => [one]), z.array(z.string())])
  .default([]);

/** The submitted value of a hidden field or a button; `undefined` unless it was sent once. */
export function submittedValue(req: Request, name: string): string | undefined {
  const value: unknown = req.body?.[name];
  return typeof value === "string" ? value : undefined;
}
