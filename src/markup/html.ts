class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** Markup that is safe to send; only `html` can create it. */
export type Html = Markup;

/**
 * Values that a template can contain. Arrays are joined; `undefined`, `null` and `false` are
 * omitted.
 */
export type HtmlContent =
  | string
  | number
  | Html
  | false
  | null
  | undefined
  | readonly HtmlContent[];

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Builds HTML. Every inserted value is escaped for text and quoted attributes, unless it was built
 * by `html`. Do not insert values where text is code: in a script, a style, a tag or attribute
 * name, or an unquoted attribute.
 */
export function html(template: TemplateStringsArray, ...contents: readonly HtmlContent[]): Html {
  return new Markup(String.raw({ raw: template }, ...contents.map(markupOf)));
}

function markupOf(content: HtmlContent): string {
  if (content === undefined || content === null || content === false) return "";
  if (content instanceof Markup) return content.toString();
  if (Array.isArray(content)) return content.map(markupOf).join("");
  return String(content).replace(/[&<>"']/g, (character) => entities[character] as string);
}
