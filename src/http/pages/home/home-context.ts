import type { Request, Response } from "express";
import type { Site } from "../../../answers/site.ts";
import type { SignalLog } from "../../../log/signal-log.ts";
import type { MarketMode } from "../../../market/market.ts";
import { type Html, html } from "../../../markup/html.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import type { PageAnswer } from "../page-answer.ts";
import type { SharedPages } from "./shared-pages.ts";
import type { FindViewer, Viewer } from "./viewer.ts";

/** Dependencies of the market pages. */
export interface HomeContext {
  readonly site: Site;
  readonly context: ToolContext;
  /** The signal log of the market; `undefined` if the market has none. */
  readonly signalLog: Pick<SignalLog, "fault" | "trackRecord"> | undefined;
  readonly viewerOf: FindViewer;
  /** Sends a page, or its Markdown version to clients that prefer Markdown. */
  readonly send: (
    req: Request,
    res: Response,
    page: PageAnswer,
    markdown?: string,
  ) => Promise<void>;
  /**
   * Sends a page that depends only on a question and the market, except that it shows whether its
   * viewer is signed in. For all others it is rendered once for each state of the market.
   *
   * @param question Key of the page; equal for equal pages.
   */
  readonly sendView: (
    req: Request,
    res: Response,
    view: { readonly viewer: Viewer; readonly question: string },
    make: () => MarketPage,
  ) => Promise<void>;
  /** What is the same for all who may see it. */
  readonly shared: SharedPages;
}

/** A page with its Markdown version, if it has one. */
export interface MarketPage {
  readonly page: () => PageAnswer;
  readonly markdown?: () => string;
}

/** A part of a page that the script keeps up to date. */
export const liveRegion = (id: string, inside: Html): Html =>
  html`<div id="${id}" data-live>${inside}</div>`;

/**
 * Status region of the script. The script polls only if the data of the page can change: not for a
 * recorded market (`files`), and not after a rejected form.
 */
export const updateStatusRegion = (
  { status = 200 }: Pick<PageAnswer, "status">,
  market: MarketMode,
): Html =>
  html`<p class="news" role="status" id="news"${status === 200 && market !== "files" && html` data-refresh`}></p>`;
