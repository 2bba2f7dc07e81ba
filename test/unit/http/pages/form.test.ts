import type { Request } from "express";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  CheckboxValues,
  createForm,
  formAt,
  readForm,
  refuseForm,
} from "../../../../src/http/pages/form.ts";
import { showForm } from "../../../../src/http/pages/form-html.ts";
import { html } from "../../../../src/markup/html.ts";

const form = createForm({
  code: {
    control: "input",
    label: "Code",
    hint: "Eight.",
    subject: "The code",
    type: "text",
    inputMode: "numeric",
    autocomplete: "one-time-code",
    isRequired: true,
    isFirst: true,
    maxLength: 8,
    schema: z.string().trim().min(2),
  },
  token: {
    control: "input",
    label: "Token",
    type: "password",
    isSecret: true,
    schema: z.string().catch(""),
  },
  note: { control: "lines", label: "Note", rows: 3, schema: z.string().catch("") },
  kind: {
    control: "radio",
    label: "Kind",
    subject: "The kind",
    options: [
      ["a", "A"],
      ["b", "B"],
    ],
    schema: z.enum(["a", "b"]),
  },
  scope: {
    control: "checkboxes",
    label: "Access",
    options: [
      ["read", "Read"],
      ["write", html`<b>Write</b>`],
    ],
    schema: CheckboxValues.refine((names) => names.length > 0, "Select at least one."),
  },
});

const sent = (body: Readonly<Record<string, unknown>>) => ({ body }) as Request;
const where = { action: "/x", formToken: "t" };
const buttons = html`<button>Go</button>`;
const good = { code: " 12 ", token: "s", note: "n", kind: "b", scope: "read" };

describe("a form that was sent", () => {
  it("is read by the schemas of its fields, and only by them", () => {
    expect(readForm(form, sent({ ...good, more: "x" })).data).toEqual({
      ...good,
      code: "12",
      scope: ["read"],
    });
  });

  it("is refused with what was typed, except for secrets", () => {
    const { refused } = readForm(form, sent({ ...good, code: "1", scope: ["read", "write"] }));
    expect(refused).toEqual({
      form: "",
      values: { code: "1", note: "n", kind: "b", scope: ["read", "write"] },
      errors: [{ id: "code", text: "The code must have at least 2 characters." }],
    });
    const shown = String(showForm(form, { ...where, refused }, buttons));
    expect(shown).not.toContain('value="s"');
  });

  it("is refused when a field is missing or was sent twice, with one message per field", () => {
    const { refused } = readForm(form, sent({ kind: ["a", "b"] }));
    expect(refused?.errors).toEqual([
      { id: "code", text: "The code is missing." },
      { id: "kind", text: "The kind must be one of a, b." },
      { id: "scope", text: "Select at least one." },
    ]);
    expect(readForm(form, sent(undefined as never)).refused?.errors).toHaveLength(3);
  });

  it("is refused alone among others of its page", () => {
    const mine = formAt(form, "mine");
    const refused = refuseForm(mine, sent({ code: "7" }), { code: "Wrong." });
    expect(refused.errors).toEqual([{ id: "mine-code", text: "Wrong." }]);
    const shown = String(showForm(mine, { ...where, refused }, buttons));
    expect(shown).toContain('<input id="mine-code" name="code" aria-describedby="mine-code-hint');
    const other = String(showForm(formAt(form, "other"), { ...where, refused }, buttons));
    expect(other).not.toMatch(/value="7"|Wrong|aria-invalid/);
  });
});

describe("a form on a page", () => {
  it("contains the CSRF token and the hidden fields", () => {
    const shown = String(showForm(form, { ...where, hidden: { version: '"' } }, buttons));
    expect(shown).toContain('<form method="post" action="/x">');
    expect(shown).toContain('<input type="hidden" name="form_token" value="t">');
    expect(shown).toContain('<input type="hidden" name="version" value="&quot;">');
  });

  it("labels each field, describes it by its hint and its error, and tells phones and browsers what it is", () => {
    const refused = refuseForm(form, sent({}), { code: "Wrong.", kind: "Choose." });
    const shown = String(showForm(form, { ...where, refused }, buttons));
    expect(shown).toContain('<label for="code">Code</label>');
    expect(shown).toContain('<p class="hint" id="code-hint">Eight.</p>');
    expect(shown).toContain('<p class="error" id="code-error">Wrong.</p>');
    expect(shown).toContain(
      '<input id="code" name="code" aria-describedby="code-hint code-error" aria-invalid="true" type="text" inputmode="numeric" autocomplete="one-time-code" required maxlength="8">',
    );
    expect(shown).toContain('<fieldset aria-describedby="kind-error"><legend>Kind</legend>');
    expect(shown).toContain('<input type="radio" id="kind" name="kind" value="a">');
  });

  it("refers to no hints and errors that do not exist, and starts in its first field", () => {
    const shown = String(showForm(form, where, buttons));
    expect(shown).toContain('<textarea id="note" name="note" rows="3">\n</textarea>');
    expect(shown).not.toContain("error");
    expect(shown).not.toContain("aria-invalid");
    expect(shown).toMatch(/ required autofocus maxlength="8">/);
  });

  it("escapes the values of its fields, and selects what was chosen", () => {
    const values = { code: '"><script>', note: "</textarea>", kind: "b", scope: ["write"] };
    const shown = String(showForm(form, { ...where, values }, buttons));
    expect(shown).toContain('value="&quot;&gt;&lt;script&gt;"');
    expect(shown).toContain("\n&lt;/textarea&gt;</textarea>");
    expect(shown).toContain('id="kind-1" name="kind" value="b" checked>');
    expect(shown).toContain(
      'id="scope-1" name="scope" value="write" checked><label for="scope-1"><b>Write</b></label>',
    );
  });

  it("arranges its fields as a page says, with what depends on an option under it", () => {
    const shown = String(
      showForm(form, { ...where, vary: { code: { label: "The digits" } } }, (show) => {
        return html`${show("kind", { b: show("code") })}!`;
      }),
    );
    expect(shown).toMatch(/value="b">.*\n<div class="under"><div class="field">\n.*The digits/);
    expect(shown).not.toContain("Note");
  });
});
