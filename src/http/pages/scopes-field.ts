import type { Request } from "express";
import { isScope, parseScopeNames, type Scope, scopeDescriptions } from "../../access/scopes.ts";
import { html } from "../../markup/html.ts";
import { CheckboxValues, type Options, submittedValue } from "./form.ts";

/** Schema of selected scopes; unknown names are dropped. */
const SelectedScopes = CheckboxValues.transform((names) => names.filter(isScope));

/** The message of a form in which no scope is selected and one is required. */
export const NO_SCOPE_SELECTED = "Select at least one permission.";

/** A field with which a person selects scopes. Which ones it offers depends on the request. */
export const scopesField = { control: "checkboxes", schema: SelectedScopes } as const;

/** A field with which a person selects at least one scope. */
export const requiredScopesField = {
  control: "checkboxes",
  schema: SelectedScopes.refine((names) => names.length > 0, NO_SCOPE_SELECTED),
} as const;

/** The options of a field for scopes. */
export const scopeOptions = (names: readonly Scope[]): Options =>
  names.map((name) => [name, html`${scopeDescriptions[name]} <code>${name}</code>`]);

/**
 * The scopes in a hidden field, which the page had shown. A form sends them back because an agent
 * can change its registration while the page is open.
 */
export const sentScopes = (req: Request, name: string): readonly Scope[] =>
  parseScopeNames(submittedValue(req, name) ?? "").filter(isScope);
