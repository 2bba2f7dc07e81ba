import type { FieldErrors } from "./elements.ts";

/** What the fields of the intake are called, by their names. */
const subjects: Readonly<Record<string, string>> = {
  name: "The name",
  email: "The e-mail address",
  focus: "The focus",
  message: "The message",
};

/** The errors of the interface, which say what a member must be, as sentences for people. */
export const inSentences = (errors: FieldErrors): FieldErrors =>
  errors.map(({ id, text }) => ({ id, text: `${subjects[id]} ${text}.` }));
