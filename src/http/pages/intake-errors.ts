import type { FieldErrors } from "./elements.ts";

/** Labels of the intake fields, by field name. */
const subjects: Readonly<Record<string, string>> = {
  name: "The name",
  email: "The email address",
  focus: "The focus",
  message: "The message",
};

/** Converts the API's validation messages to sentences for people. */
export const errorSentences = (errors: FieldErrors): FieldErrors =>
  errors.map(({ id, text }) => ({ id, text: `${subjects[id]} ${text}.` }));
