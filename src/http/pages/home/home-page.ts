import { isPersonWithoutClient } from "../../../alerts/alert.ts";
import type { StoredWatchlist } from "../../../alerts/watchlists/watchlist.ts";
import { marketNotes, SERVICE_SUMMARY, type Site } from "../../../answers/site.ts";
import { paths } from "../../../lib/paths.ts";
import type { MarketMode } from "../../../market/market.ts";
import { type Html, html } from "../../../markup/html.ts";
import { copyButton } from "../copy.ts";
import { descriptionList, type FieldErrors, timeElement, untrustedText } from "../elements.ts";
import type { Control } from "../form.ts";
import { fieldHtml } from "../form-html.ts";
import type { PageAnswer } from "../page-answer.ts";
import { withReturnPath } from "../return-to.ts";
import { type ClientSetup, clientSetups } from "./connect.ts";
import {
  filterHref,
  MARKET_SORTS,
  MAX_SEARCH_LENGTH,
  type MarketFilter,
  type ParsedFilter,
} from "./filter.ts";
import { liveRegion, updateStatusRegion } from "./home-context.ts";
import { comparisonSection } from "./market-compare.ts";
import type { MarketList } from "./market-list.ts";
import { marketTable } from "./market-table.ts";
import { assetClassNames } from "./marks.ts";
import { scoreCaveat } from "./score-caveat.ts";
import type { Viewer } from "./viewer.ts";

/** Data for the home page. */
interface HomeView {
  readonly site: Site;
  readonly viewer: Viewer;
  readonly service: {
    /** Instant up to which data are complete, in milliseconds since the epoch. */
    readonly asOf: number;
    readonly instruments: number;
    readonly source: { readonly name: string };
    /**
     * The reason why the signal log is not signed or not witnessed; `undefined` if it is both
     * signed and witnessed.
     */
    readonly logFault?: string | undefined;
  };
  readonly query: ParsedFilter;
  /** Sectors that the filter offers; empty for viewers without access. */
  readonly sectors: readonly string[];
  /** Watchlists of the viewer. */
  readonly lists: readonly StoredWatchlist[];
  /** `undefined` if the viewer has no access to the market or the filter is invalid. */
  readonly list: MarketList | undefined;
  readonly scriptPath: string;
}

/**
 * The home page: the market first, then how to connect, how to verify, and the state of the
 * service.
 */
export function homePage(view: HomeView): PageAnswer {
  const { site, viewer, query, list, scriptPath } = view;
  const errors = viewer.scopes.has("signals:read") ? query.errors : [];
  const status = errors.length > 0 ? 400 : 200;
  const known = liveRegion("known", html`<p>${knownText(view)}</p>`);
  const standing = liveStanding(view);
  const instruments =
    list &&
    liveRegion(
      "instruments",
      html`${comparisonSection(list.compared, query.filter)}${marketTable(list, query.filter)}`,
    );
  return {
    errors,
    heading: "The market",
    ...(filterHref(query.filter) === "/" && status === 200 && { description: SERVICE_SUMMARY }),
    isWide: true,
    place: "market",
    isSignedIn: viewer.isSignedIn,
    scriptPath,
    liveParts: [known, standing, ...(instruments === undefined ? [] : [instruments])],
    body: html`${known}
${scoreCaveat}
${marketSection(view, instruments)}
${connectSection(site)}
${verifySection(site)}
${serviceSection(site, standing)}
${documentsSection}
${updateStatusRegion({ status }, site.market)}`,
  };
}

/** Labels of the market modes. */
const marketKinds: Readonly<Record<MarketMode, string>> = {
  sandbox: "Simulated",
  files: "Recorded history",
  replay: "Recorded history, played",
  live: "Live",
};

const knownText = ({ site, service: { asOf } }: HomeView): Html =>
  html`${marketKinds[site.market]}, known up to ${timeElement(asOf)}.`;

function liveStanding({ site, service }: HomeView): Html {
  const { asOf, instruments, source, logFault } = service;
  const entries = descriptionList([
    ["Market", html`${marketKinds[site.market]} <code>${site.market}</code>`],
    ["Known up to", timeElement(asOf)],
    ["Instruments", instruments],
    ["Source", source.name],
  ]);
  return liveRegion("standing", html`${entries}${logFault !== undefined && logNotice(logFault)}`);
}

const serviceSection = ({ market }: Site, standing: Html): Html =>
  html`<section aria-labelledby="state" class="standing">
<h2 id="state">This service now</h2>
<p class="quiet">${withCode(marketNotes[market])}</p>
${standing}
</section>`;

const logNotice = (fault: string): Html =>
  html`<p class="note warning">What is decided now cannot be verified until the operator has acted: the log of signals has a fault (${fault}).</p>`;

/** Renders backticks of Markdown as code elements. */
const withCode = (text: string): readonly (string | Html)[] =>
  text.split("`").map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));

function marketSection(
  { viewer, query, lists, sectors }: HomeView,
  instruments: Html | undefined,
): Html {
  return html`<section id="market" class="first" aria-label="The market">
${viewer.scopes.has("signals:read") ? html`${filterForm(query, lists, sectors)}${listLinks(query, lists)}${instruments}` : signInNotice("/")}
</section>`;
}

/**
 * Notice in place of content that a viewer may not see.
 *
 * @param place Path to which the person returns after signing in.
 */
export const signInNotice = (place: string): Html => html`<div class="empty">
<p>Scores and signals of this service are for people who have an account, and for their agents.</p>
<p><a href="${withReturnPath("/sign-in", place)}">Sign in to see them</a></p>
</div>`;

/** Section that explains how to verify what the service claims about its past signals. */
function verifySection({ baseUrl, market }: Site): Html {
  // A market that is fixed at one instant has no log.
  if (market === "files") return html``;
  return html`<section aria-labelledby="verify">
<h2 id="verify">Verify what was said</h2>
<p>Every signal is logged when its session closes, in a log that nobody can rewrite unnoticed, and settled when its returns are known: the <a href="${paths.trackRecord}">track record</a>. Keep a line of it, and you can prove later that nothing was changed, dropped or added:</p>
<div class="address"><code id="verify-command">npx --no-install market-signal verify ${baseUrl} --state seen.json</code>${copyButton("verify-command", "the command")}</div>
<p class="quiet">The line is the <a href="${paths.logCheckpoint}">signed checkpoint</a>. It proves what was said, not that it was right. To check one signal in the browser, open its instrument and go to “Proof”.</p>
</section>`;
}

const agentAccessText = ({ anonymousScopes }: Site): string =>
  anonymousScopes.length > 0
    ? "Agents register themselves and ask by MCP or REST."
    : "Agents ask by MCP or REST for the people who answer for them.";

const documents: readonly (readonly [path: string, title: string, note: string])[] = [
  [paths.reference, "API reference", "every operation, to read and to try"],
  [paths.llms, "llms.txt", "what agents read first"],
  [paths.authMd, "auth.md", "how agents get access, and how people answer for them"],
  [paths.apiCatalog, "API catalog", "all endpoints as a link set"],
  [paths.openapi, "OpenAPI description", "for programs that make clients"],
  [paths.apply, "Early access", "apply for a seat"],
];

const documentsSection = html`<section aria-labelledby="documents">
<h2 id="documents">For agents and those who build them</h2>
<ul class="documents">${documents.map(
  ([path, title, note]) =>
    html`<li><a href="${path}">${title}</a> <span class="quiet">${note}</span></li>`,
)}</ul>
</section>`;

/** Section that explains how to connect agents and other clients. */
function connectSection(site: Site): Html {
  const { baseUrl, name } = site;
  return html`<section aria-labelledby="connect" class="connect">
<h2 id="connect">Connect your agent</h2>
<p>${name} gives AI agents, and people, a score from 0 to 100 for each instrument, the signal LONG, SHORT or WAIT that follows from it, and the four factors behind both. ${agentAccessText(site)} Answers say what was known and when; with <code>detail=full</code> also from which sources. The <a href="${paths.reference}">API reference</a> has every operation.</p>
<p>Most clients need this address alone: they register themselves and send you to the sign-in page.</p>
<div class="address"><code id="address">${baseUrl}${paths.mcp}</code>${copyButton("address", "the address")}</div>
<div class="clients">${clientSetups(site).map(clientPart)}</div>
</section>`;
}

function clientPart({ name, intro, code }: ClientSetup, index: number): Html {
  const id = `client-${index}`;
  return html`<details name="client">
<summary>${name}</summary>
<p>${intro}</p>
<div class="code-block"><pre><code id="${id}">${code}</code></pre>${copyButton(id, `the configuration of ${name}`)}</div>
</details>
`;
}

type Option = readonly [value: string, text: string];

const signals: readonly Option[] = [
  ["", "Any"],
  ["LONG", "LONG"],
  ["SHORT", "SHORT"],
  ["WAIT", "WAIT"],
];

const orders: readonly Option[] = Object.entries(MARKET_SORTS).map(([value, text]) => [
  value === "symbol" ? "" : value,
  text,
]);

const coverages: readonly Option[] = [
  ["", "Any"],
  ["full", "Full"],
];

const classes: readonly Option[] = [["", "All"], ...Object.entries(assetClassNames)];

/** The fields of the filter form other than the search text, which a narrow screen folds away. */
const refiningFields = ["class", "sector", "signal", "coverage", "sort", "list"] as const;

const searchField: Control = {
  control: "input",
  label: "Symbol, name or sector",
  type: "search",
  autocomplete: "off",
  isExact: true,
  maxLength: MAX_SEARCH_LENGTH,
};

/** The filter form of the instrument list. */
function filterForm(
  { filter, errors, search }: ParsedFilter,
  lists: readonly StoredWatchlist[],
  sectors: readonly string[],
): Html {
  const isRefined = errors.length > 0 || refiningFields.some((name) => filter[name] !== undefined);
  return html`<form class="filters" method="get" action="/#market" role="search" aria-label="Instruments">
${fieldHtml(searchField, { id: "q", name: "q", value: search, errors })}
<details class="refine"${isRefined && html` open`}><summary>Filter and order</summary>
${choice("class", "Class", { options: classes, filter, errors })}
${choice("sector", "Sector", { options: [["", "All"], ...sectors.map((one): Option => [one, one])], filter, errors })}
${choice("signal", "Signal", { options: signals, filter, errors })}
${choice("coverage", "Coverage", { options: coverages, filter, errors })}
${choice("sort", "Order", { options: orders, filter, errors })}
${lists.length > 0 && choice("list", "Watchlist", { options: [["", "No list"], ...lists.map(optionOf)], filter, errors })}
</details>
<div class="buttons"><button>Show</button><a class="second" href="/#market">Clear</a></div>
</form>`;
}

const optionOf = ({ key, value }: StoredWatchlist): Option => [key, value.name];

/** Links to actions on the selected watchlist. */
function listLinks({ filter }: ParsedFilter, lists: readonly StoredWatchlist[]): Html | false {
  const list = lists.find(({ key }) => key === filter.list);
  if (list === undefined) return false;
  const { name, owner } = list.value;
  return html`<p>The watchlist “${untrustedText(name)}”. ${isPersonWithoutClient(owner) && html`<a href="/account/alerts/new?watchlist=${encodeURIComponent(name)}">Make an alert of it</a>, `}<a href="/account#watchlists">change it</a></p>`;
}

interface Choice {
  readonly options: readonly Option[];
  readonly filter: MarketFilter;
  readonly errors: FieldErrors;
}

function choice(
  id: (typeof refiningFields)[number],
  label: string,
  { options, filter, errors }: Choice,
): Html {
  const error = errors.find((one) => one.id === id);
  return html`<div class="field">
<label for="${id}">${label}</label>
${error && html`<p class="error" id="${id}-error">${error.text}</p>`}
<select id="${id}" name="${id}"${error && html` aria-describedby="${id}-error" aria-invalid="true"`}>
${options.map(([value, text]) => html`<option value="${value}"${value === (filter[id] ?? "") && html` selected`}>${text}</option>`)}
</select>
</div>`;
}
