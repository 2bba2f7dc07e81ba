import { paths } from "../../lib/paths.ts";
import { type Html, html } from "../../markup/html.ts";
import { errorSummary, type FieldErrors } from "./elements.ts";
import { ACCOUNT_PATH } from "./return-to.ts";

/** The content of a page, without the header and navigation that all pages share. */
export interface Page {
  /** The topic of the page in a few words, shown as its only `h1`. */
  readonly heading: string;
  /** The content after the heading. */
  readonly body: Html;
  /**
   * Errors of a form. They are listed before the content, and the title starts with "Error" for
   * screen readers.
   */
  readonly errors?: FieldErrors | undefined;
  /** Whether a person is signed in; `undefined` if the page is the same for everyone. */
  readonly isSignedIn?: boolean | undefined;
  /** The navigation entry to which the page belongs; absent if there is none. */
  readonly place?: keyof typeof PLACES;
  /** URL to which the page redirects automatically. */
  readonly redirectTo?: string;
  /** Description for search engines; a page without one is not indexed. */
  readonly description?: string;
  /** Whether the page has wide tables. */
  readonly isWide?: boolean;
  /** Additional elements of the HTML head. */
  readonly head?: Html;
  /** Path of the page's script. */
  readonly scriptPath?: string;
}

/** The entries of the navigation, each with its URL and label. */
const PLACES = {
  market: ["/", "Market"],
  record: [paths.trackRecord, "Track record"],
  connect: ["/#connect", "Connect"],
  reference: [paths.reference, "API"],
  account: [ACCOUNT_PATH, "Your account"],
} as const;

/** Settings that all pages share. */
export interface PageFrame {
  /** Name of the service. */
  readonly name: string;
  /** Path of the style sheet. */
  readonly stylePath: string;
}

/** Icon of the site: three rising bars in the accent color of the style sheet. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='%230b6e69'%3E%3Crect x='1' y='9' width='3.5' height='6' rx='1'/%3E%3Crect x='6.25' y='5' width='3.5' height='10' rx='1'/%3E%3Crect x='11.5' y='1' width='3.5' height='14' rx='1'/%3E%3C/svg%3E";

/** Renders a page as a complete HTML document. */
export function layout(page: Page, { name, stylePath }: PageFrame): Html {
  const { heading, body, errors = [], redirectTo, description, isWide, scriptPath } = page;
  const refresh = html`<meta http-equiv="refresh" content="0; url=${redirectTo}">`;
  const about = html`<meta name="description" content="${description}">`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${errors.length > 0 && "Error: "}${heading} – ${name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${description === undefined ? html`<meta name="robots" content="noindex">` : about}
${redirectTo !== undefined && refresh}
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${stylePath}">
${page.head}${scriptPath && html`<script defer src="${scriptPath}"></script>`}
</head>
<body${isWide && html` class="wide"`}>
<header class="top">
<p class="brand"><a href="/">${name}</a></p>
${navigation(page)}
</header>
<main>
<h1>${heading}</h1>
${errorSummary(errors)}${body}
</main>
<footer><p>All times are in UTC. <a href="${paths.contactPage}">Contact</a></p></footer>
</body>
</html>
`;
}

/** Label of the account, which leads people who are not signed in to the sign-in page. */
const accountLabel = (isSignedIn: boolean | undefined): string => {
  if (isSignedIn === undefined) return "Account";
  return isSignedIn ? PLACES.account[1] : "Sign in";
};

/** The navigation. It has the same entries on every page. */
const navigation = ({ place, isSignedIn }: Page): Html =>
  html`<nav aria-label="Pages">${Object.entries(PLACES).map(
    ([name, [href, text]]) =>
      html`<a href="${href}"${name === place && html` aria-current="page"`}>${name === "account" ? accountLabel(isSignedIn) : text}</a>
`,
  )}</nav>`;
