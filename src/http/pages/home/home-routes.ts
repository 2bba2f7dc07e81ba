import { type RequestHandler, Router } from "express";
import type { Site } from "../../../../wellknown/site.ts";
import type { ToolContext } from "../../../tool.ts";
import { serveReading } from "../../allowed-methods.ts";
import { MARKDOWN_TYPE, prefersMarkdown } from "../../markdown.ts";
import { queryOf } from "../../query.ts";
import { CONTENT_SECURITY_POLICY, createShowPage, PAGE_HEADERS } from "../answer.ts";
import { type ErrorPageOptions, errorPages } from "../error.ts";
import { layout } from "../layout.ts";
import { styleAddress } from "../style-route.ts";
import { sendUnlessKnown } from "./conditional.ts";
import { filterOf } from "./filter.ts";
import type { Surroundings } from "./frame.ts";
import { homeMarkdown } from "./home-markdown.ts";
import { homePage } from "./home-page.ts";
import { showInstrument } from "./instrument-route.ts";
import { createListMarket } from "./market-list.ts";
import { createReaderOf, type ReaderOptions } from "./reader.ts";
import { scriptAddress, scriptRoute } from "./script-route.ts";

/** What the pages about the market are made from. */
export interface HomeOptions
  extends Omit<ReaderOptions, "anonymousScopes">,
    Pick<ErrorPageOptions, "now" | "onError"> {
  readonly site: Site;
  readonly context: ToolContext;
}

/** What depends on who asks is for no shared cache, and browsers ask whether it is still so. */
const MARKDOWN_HEADERS = { "cache-control": "private, no-cache", vary: "Accept, Cookie" };

/** The script asks for the page that it is on; nothing else runs. */
const HEADERS = {
  ...PAGE_HEADERS,
  ...MARKDOWN_HEADERS,
  "content-security-policy": `${CONTENT_SECURITY_POLICY}; script-src 'self'; connect-src 'self'`,
};

/** The home page and the pages of instruments, for people; agents get them as Markdown. */
export function homeRouter(options: HomeOptions): Router {
  const { site, context, now, onError } = options;
  const frame = { name: site.name, stylePath: styleAddress };
  const surroundings: Surroundings = {
    site,
    context,
    readerOf: createReaderOf({ ...options, anonymousScopes: site.anonymousScopes }),
    send(req, res, page, markdown) {
      res.status(page.status ?? 200);
      if (markdown !== undefined && prefersMarkdown(req)) {
        res.set(MARKDOWN_HEADERS);
        return sendUnlessKnown(req, res, { type: MARKDOWN_TYPE, text: markdown });
      }
      res.set(HEADERS);
      sendUnlessKnown(req, res, { type: "html", text: layout(page, frame).toString() });
    },
  };
  const router = Router();
  serveReading(router, "/", showHome(surroundings));
  serveReading(router, "/market/:symbol", showInstrument(surroundings));
  router.use(scriptRoute());
  router.use(errorPages({ show: createShowPage(frame), now, onError }));
  return router;
}

function showHome({ site, context, readerOf, send }: Surroundings): RequestHandler {
  const { market } = context;
  const listMarket = createListMarket(context);
  const markdown = { type: MARKDOWN_TYPE, text: homeMarkdown(site) };
  return async (req, res) => {
    if (prefersMarkdown(req)) {
      res.set({ "cache-control": "public, max-age=300", vary: "Accept" });
      return sendUnlessKnown(req, res, markdown);
    }
    const reader = await readerOf(req);
    const asked = filterOf(queryOf(req));
    const isShown = reader.scopes.has("signals:read") && asked.errors.length === 0;
    const standing = {
      asOf: market.knownUntil(),
      instruments: market.instruments().length,
      source: market.source,
    };
    const list = isShown ? listMarket(asked.filter, reader.scopes) : undefined;
    send(req, res, homePage({ site, reader, standing, asked, list, scriptPath: scriptAddress }));
  };
}
