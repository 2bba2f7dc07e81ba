import { type Request, type RequestHandler, type Response, Router } from "express";
import { llmsTxt } from "../../../../wellknown/llms.ts";
import { fencedBlock } from "../../../../wellknown/markdown.ts";
import type { StoredWatchlist } from "../../../alerts/watchlists/watchlist.ts";
import type { Site } from "../../../answers/site.ts";
import { strongEtag } from "../../../lib/etag.ts";
import { paths } from "../../../lib/paths.ts";
import type { SignalLog } from "../../../log/signal-log.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import { serveGetOnly } from "../../allowed-methods.ts";
import { MARKDOWN_MEDIA_TYPE, prefersMarkdown } from "../../markdown.ts";
import { queryOf } from "../../request-context.ts";
import { MEDIA_TYPES, type Representation, sendRepresentation } from "../../send-response.ts";
import { createErrorPageHandler, type ErrorPageOptions } from "../error.ts";
import { layout } from "../layout.ts";
import {
  CONTENT_SECURITY_POLICY,
  createPageSender,
  PAGE_HEADERS,
  pageStatusOf,
} from "../page-answer.ts";
import { ACCOUNT_PATH } from "../return-to.ts";
import { styleHref } from "../style-route.ts";
import { type ClientSetup, clientSetups } from "./connect.ts";
import { type ParsedFilter, parseFilter } from "./filter.ts";
import type { HomeContext, MarketPage } from "./home-context.ts";
import { homePage } from "./home-page.ts";
import { showHistoryCsv, showInstrument } from "./instrument-route.ts";
import { createListMarket, sectorsOf } from "./market-list.ts";
import { sendProofFile, showProofPage } from "./proof-page.ts";
import { homeScriptRoutes, marketScriptHref } from "./script-route.ts";
import { createSharedPages } from "./shared-pages.ts";
import { showTrackRecordPage } from "./track-record-page.ts";
import { createFindViewer, type Viewer, type ViewerOptions } from "./viewer.ts";
/** Dependencies of the market pages. */
export interface HomeOptions
  extends Omit<ViewerOptions, "anonymousScopes">,
    Pick<ErrorPageOptions, "now" | "onError"> {
  readonly site: Site;
  readonly context: ToolContext;
  /** The signal log of the market; `undefined` if the market has none. */
  readonly signalLog: Pick<SignalLog, "fault" | "trackRecord"> | undefined;
}

/** Request header with which the script requests only the live parts of a page. */
const LIVE_PARTS = "X-Live-Parts";

/**
 * Headers that all market pages share, both Markdown and HTML. The pages depend on the viewer, so
 * shared caches must not store them, and browsers must revalidate them.
 */
const MARKDOWN_HEADERS = {
  "cache-control": "private, no-cache",
  vary: `Accept, Cookie, ${LIVE_PARTS}`,
};

/**
 * Headers of HTML pages. They allow only the script of the page, and let it fetch only from this
 * site.
 */
const HEADERS = {
  ...PAGE_HEADERS,
  ...MARKDOWN_HEADERS,
  "content-security-policy": `${CONTENT_SECURITY_POLICY}; script-src 'self'; connect-src 'self'`,
};

/**
 * What is sent of a page: all of it, the parts that the script updates, or its Markdown version.
 */
type Form = "page" | "parts" | "markdown";

const formOf = (req: Request): Form => {
  if (prefersMarkdown(req)) return "markdown";
  return req.get(LIVE_PARTS) === undefined ? "page" : "parts";
};

/** The body of a response with its media type. */
type Body = Pick<Representation, "type"> & { readonly body: string };

const headersOf = ({ type }: Pick<Representation, "type">) =>
  type === MARKDOWN_MEDIA_TYPE ? MARKDOWN_HEADERS : HEADERS;

/** Creates the routes of the home page and the instrument pages; agents get Markdown. */
export function homeRouter(options: HomeOptions): Router {
  const { site, context, signalLog, now, onError } = options;
  const frame = { name: site.name, stylePath: styleHref };
  const render = (form: Form, { page, markdown }: MarketPage): Body => {
    if (form === "markdown" && markdown !== undefined) {
      return { type: MARKDOWN_MEDIA_TYPE, body: markdown() };
    }
    const answer = page();
    const parts = form === "parts" ? answer.liveParts : undefined;
    return { type: MEDIA_TYPES.html, body: parts?.join("") ?? layout(answer, frame).toString() };
  };
  const shared = createSharedPages(context, signalLog);
  const surroundings: HomeContext = {
    site,
    context,
    signalLog,
    viewerOf: createFindViewer({ ...options, anonymousScopes: site.anonymousScopes }),
    shared,
    send(req, res, page, markdown) {
      res.status(pageStatusOf(page));
      const views = {
        page: () => page,
        ...(markdown !== undefined && { markdown: () => markdown }),
      };
      const body = render(formOf(req), views);
      return sendWithEtag(req, res.set(headersOf(body)), body);
    },
    async sendView(req, res, { viewer, question }, make) {
      const form = formOf(req);
      const body = () => render(form, make());
      if (viewer.isSignedIn) {
        const own = body();
        return sendWithEtag(req, res.set(headersOf(own)), own);
      }
      const representation = await shared.of(`${form} ${question}`, body);
      return sendRepresentation(req, res.set(headersOf(representation)), representation);
    },
  };
  const router = Router();
  serveGetOnly(router, "/", showHome(surroundings));
  serveGetOnly(router, "/market/:symbol", showInstrument(surroundings));
  serveGetOnly(router, "/market/:symbol/history.csv", showHistoryCsv(surroundings));
  serveGetOnly(router, "/market/:symbol/proof", showProofPage(surroundings));
  serveGetOnly(router, "/market/:symbol/proof.tlog-proof", sendProofFile(surroundings));
  serveGetOnly(router, paths.trackRecord, showTrackRecordPage(surroundings));
  for (const route of homeScriptRoutes) router.use(route());
  router.use(createErrorPageHandler({ show: createPageSender(frame), now, onError }));
  return router;
}

function showHome(surroundings: HomeContext): RequestHandler {
  const { site, context, signalLog, viewerOf, send, sendView } = surroundings;
  const { market } = context;
  const listMarket = createListMarket(context);
  const markdown = { type: MARKDOWN_MEDIA_TYPE, body: homeMarkdown(site) };
  return async (req, res) => {
    if (prefersMarkdown(req)) {
      res.set({ "cache-control": "public, max-age=300", vary: "Accept" });
      return sendWithEtag(req, res, markdown);
    }
    const viewer = await viewerOf(req);
    const lists = await listsOf(viewer, context);
    const query = withKnownList(parseFilter(queryOf(req)), lists);
    const isShown = viewer.scopes.has("signals:read") && query.errors.length === 0;
    const sectors = viewer.scopes.has("signals:read") ? sectorsOf(market.instruments()) : [];
    const chosen = lists.find(({ key }) => key === query.filter.list);
    const page = () =>
      homePage({
        site,
        viewer,
        service: {
          asOf: market.knownUntil(),
          instruments: market.instruments().length,
          source: market.source,
          logFault: signalLog?.fault,
        },
        query,
        sectors,
        lists,
        list: isShown ? listMarket(query.filter, viewer.scopes, chosen?.value.symbols) : undefined,
        scriptPath: marketScriptHref,
      });
    if (query.errors.length > 0) return send(req, res, page());
    const question = `home ${JSON.stringify([query.filter, query.search])}`;
    return sendView(req, res, { viewer, question }, () => ({ page }));
  };
}

/** The watchlists of a signed-in person and of all clients that act for them. */
const listsOf = async (
  { accountId }: Viewer,
  { watchlists }: ToolContext,
): Promise<readonly StoredWatchlist[]> =>
  accountId === undefined ? [] : watchlists.listForAccount(accountId);

/** Adds an error to a query that selects a watchlist which the viewer does not have. */
function withKnownList(query: ParsedFilter, lists: readonly StoredWatchlist[]): ParsedFilter {
  const { list, ...filter } = query.filter;
  if (list === undefined || lists.some(({ key }) => key === list)) return query;
  const id = lists.length > 0 ? "list" : "market";
  return { ...query, filter, errors: [{ id, text: "You have no such watchlist." }] };
}

const sendWithEtag = (req: Request, res: Response, { type, body }: Body): Promise<void> =>
  sendRepresentation(req, res, { type, body, etag: strongEtag(body) });

/**
 * The home page for agents: llms.txt with a quick start before its lists, and client configurations
 * after them. It contains no market data.
 */
export function homeMarkdown(site: Site): string {
  const { baseUrl } = site;
  const about = llmsTxt(site).replace(/^## /m, (heading) => `${start(site)}\n\n${heading}`);
  return `${about}
## Connect a client

${clientSetups(site).map(clientText).join("\n\n")}

## People

The operator of this service can be reached at ${baseUrl}${paths.contactPage}
`;
}

function start(site: Site): string {
  const steps = site.anonymousScopes.length > 0 ? stepsForAgents(site) : stepsForPeople(site);
  return `## Start\n\n${steps.map((step, at) => `${at + 1}. ${step}`).join("\n")}`;
}

const stepsForAgents = ({ baseUrl, anonymousScopes }: Site): readonly string[] => [
  `Register, without a human: \`POST ${baseUrl}${paths.register}\` with \`{"grant_types": ["client_credentials"]}\`. It grants \`${anonymousScopes.join(" ")}\`.`,
  `Get a token: \`POST ${baseUrl}${paths.token}\` with \`grant_type=client_credentials\`, \`client_id\` and \`client_secret\`.`,
  `Call ${baseUrl}${paths.mcp} with \`Authorization: Bearer\` and the token. Details and errors: ${baseUrl}${paths.authMd}`,
];

const stepsForPeople = ({ baseUrl }: Site): readonly string[] => [
  `Ask the person you work for: this instance gives no access to agents without an owner. They sign in at ${baseUrl}${ACCOUNT_PATH}`,
  `They connect their client to ${baseUrl}${paths.mcp}, which gets its token by OAuth, or give you an API key from that page.`,
  `Call with \`Authorization: Bearer\` and the token or the key. Details and errors: ${baseUrl}${paths.authMd}`,
];

const clientText = ({ name, intro, code, language }: ClientSetup): string =>
  `### ${name}\n\n${intro}\n\n${fencedBlock(language, code)}`;
