class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** Markup that is safe to send. Only `html` makes it. */
export type Html = Markup;

/** What may stand in a template. Lists are joined; `undefined`, `null` and `false` are nothing. */
export type Content = string | number | Html | false | null | undefined | readonly Content[];

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Writes HTML. Everything that is put in is text and comes out as text, between tags as well as in
 * an attribute in quotes; only what another `html` made is markup. Nothing may be put where text is
 * code: into a script, a style, the name of a tag or an attribute, or an attribute without quotes.
 */
export function html(template: TemplateStringsArray, ...contents: readonly Content[]): Html {
  return new Markup(String.raw({ raw: template }, ...contents.map(markupOf)));
}

function markupOf(content: Content): string {
  if (content === undefined || content === null || content === false) return "";
  if (content instanceof Markup) return content.toString();
  if (Array.isArray(content)) return content.map(markupOf).join("");
  return String(content).replace(/[&<>"']/g, (character) => entities[character] as string);
}
