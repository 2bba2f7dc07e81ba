import { type Html, html } from "./html.ts";

/** A page without what all pages share. */
export interface Page {
  /** What the page is about, in a few words; its only `h1`. */
  readonly heading: string;
  /** What follows the heading. */
  readonly body: Html;
  /** A form was not as it must be: screen readers hear of it first. */
  readonly hasErrors?: boolean;
  /** Whether the link to the account is there. */
  readonly isSignedIn?: boolean;
  /** Address that the browser goes on to by itself. */
  readonly goesOnTo?: string;
  /** What search engines say of the page, in a sentence or two; without it they are to pass it over. */
  readonly description?: string;
  /** Links at the top, in place of the one to the account. */
  readonly links?: readonly PageLink[];
  /** Whether there are tables that need room. */
  readonly isWide?: boolean;
  /** Path of a script of ours. */
  readonly scriptPath?: string;
}

/** A link to another page of the site. */
export interface PageLink {
  readonly href: string;
  readonly text: string;
}

/** What is the same on every page. */
export interface Frame {
  /** Name of the service. */
  readonly name: string;
  /** Path of the style sheet. */
  readonly stylePath: string;
}

/** Three bars that rise, in the accent colour of the style. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='%230b6e69'%3E%3Crect x='1' y='9' width='3.5' height='6' rx='1'/%3E%3Crect x='6.25' y='5' width='3.5' height='10' rx='1'/%3E%3Crect x='11.5' y='1' width='3.5' height='14' rx='1'/%3E%3C/svg%3E";

/** The whole document. */
export function layout(page: Page, { name, stylePath }: Frame): Html {
  const { heading, body, hasErrors = false, goesOnTo, description, isWide, scriptPath } = page;
  const refresh = html`<meta http-equiv="refresh" content="0; url=${goesOnTo}">`;
  const about = html`<meta name="description" content="${description}">`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${hasErrors && "Error: "}${heading} – ${name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${description === undefined ? html`<meta name="robots" content="noindex">` : about}
${goesOnTo !== undefined && refresh}
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${stylePath}">
${scriptPath && html`<script defer src="${scriptPath}"></script>`}
</head>
<body${isWide && html` class="wide"`}>
<header class="top">
<p class="brand"><a href="/">${name}</a></p>
${navigation(page)}
</header>
<main>
<h1>${heading}</h1>
${body}
</main>
<footer><p>All times are in UTC.</p></footer>
</body>
</html>
`;
}

const account: PageLink = { href: "/account", text: "Your account" };

function navigation({
  isSignedIn = false,
  links = isSignedIn ? [account] : [],
}: Page): Html | false {
  const shown = links.map(({ href, text }) => html`<a href="${href}">${text}</a>\n`);
  return links.length > 0 && html`<nav aria-label="Pages">${shown}</nav>`;
}
