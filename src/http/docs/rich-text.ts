import { type Html, type HtmlContent, html } from "../../markup/html.ts";

/**
 * Renders the Markdown of the OpenAPI description as HTML: paragraphs, second-level headings,
 * lists, code and links. Everything else appears verbatim.
 */
export function richText(markdown: string): Html {
  return html`${markdown.split(/\n{2,}/).map(block)}`;
}

const ITEM = /^(?:-|\d+\.) /;

function block(text: string): Html {
  if (text.startsWith("## ")) return html`<h3>${text.slice(3)}</h3>`;
  const lines = text.split("\n");
  if (!lines.every((line) => ITEM.test(line))) return html`<p>${richLine(text)}</p>`;
  const items = lines.map((line) => html`<li>${richLine(line.replace(ITEM, ""))}</li>`);
  return text.startsWith("- ") ? html`<ul>${items}</ul>` : html`<ol>${items}</ol>`;
}

/** Matches inline code or a link; only http(s) URLs and paths of this site become links. */
const PART = /`([^`]+)`|\[([^\]]+)\]\(((?:https?:\/\/|\/)[^)\s]+)\)/g;

/** Renders one line of Markdown: code and links. */
export function richLine(text: string): Html {
  const parts: HtmlContent[] = [];
  let end = 0;
  for (const match of text.matchAll(PART)) {
    const [whole, code, label, address] = match;
    parts.push(text.slice(end, match.index));
    parts.push(
      code === undefined ? html`<a href="${address}">${label}</a>` : html`<code>${code}</code>`,
    );
    end = match.index + whole.length;
  }
  return html`${parts}${text.slice(end)}`;
}
