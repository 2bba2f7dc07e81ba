import express, { type Request, type RequestHandler } from "express";
import { z } from "zod";
import { isScope, parseScopeNames } from "../../access/scopes.ts";
import { Problem } from "../../lib/problem.ts";
import { type FieldErrors, SCOPES_FIELD_ID } from "./elements.ts";

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
export const createFormReader = (limit: number, fields = MAX_FIELDS): readonly RequestHandler[] => [
  (req, _res, next) => {
    if (req.is(FORM)) return next();
    throw new Problem("unsupported_media_type", {
      detail: `The body must be ${FORM}.`,
      next: "Open the page in a browser, and send the form from there.",
    });
  },
  express.urlencoded({ extended: false, limit, parameterLimit: fields, inflate: false }),
];

/** Reads a form without long texts. */
export const readForm = createFormReader(MAX_FORM_BYTES);

/**
 * Schema of the selected checkboxes that share a name: a list of values, empty if none is selected.
 */
export const CheckboxValues = z
  .union([z.string().transform((one) => [one]), z.array(z.string())])
  .default([]);

/** Schema of selected scopes; unknown names are dropped. */
export const SelectedScopes = CheckboxValues.transform((names) => names.filter(isScope));

/** Schema of the scopes that a page showed, from a hidden field; empty if the field is missing. */
export const OfferedScopes = z
  .string()
  .default("")
  .transform((names) => parseScopeNames(names).filter(isScope));

const NO_SCOPE_SELECTED = "Select at least one permission.";

/** Schema of selected scopes that requires at least one. */
export const RequiredScopes = SelectedScopes.refine((names) => names.length > 0, NO_SCOPE_SELECTED);

/**
 * The error of `RequiredScopes`, for forms where another field decides whether a scope is required.
 */
export const noScopeSelectedErrors: FieldErrors = [
  { id: SCOPES_FIELD_ID, text: NO_SCOPE_SELECTED },
];

/** The values of a validated form, or its errors. */
export type FormResult<S extends z.ZodType> =
  | { readonly data: z.output<S>; readonly errors?: undefined }
  | { readonly data?: undefined; readonly errors: FieldErrors };

/**
 * Validates a form. Each error refers to its field by the field's id, which equals the field's name
 * except for checkboxes.
 */
export function validateForm<S extends z.ZodType>(schema: S, req: Request): FormResult<S> {
  const { success, data, error } = schema.safeParse(req.body);
  if (success) return { data };
  const errors = error.issues.map(({ path, message }) => ({
    id: path[0] === "scope" ? SCOPES_FIELD_ID : String(path[0]),
    text: message,
  }));
  return { errors: [...new Map(errors.map((one) => [one.id, one])).values()] };
}

/** The submitted value of a field, with which the form is shown again. */
export function submittedValue(req: Request, name: string): string | undefined {
  const value: unknown = req.body?.[name];
  return typeof value === "string" ? value : undefined;
}
