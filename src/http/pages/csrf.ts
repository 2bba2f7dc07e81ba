import type { Request, Response } from "express";
import { Problem } from "../../lib/problem.ts";
import type { Browser, BrowserSessions } from "../../principals/accounts/browser-sessions.ts";
import { redirectToPublicOrigin } from "./public-origin.ts";

/** Identifies the browser of a request, and rejects forms of other sites (CSRF). */
export interface CsrfGuard {
  /**
   * Identifies the browser of a request that only shows a page.
   *
   * @throws {Problem} `forbidden_origin` with the public URL if the page was opened under another
   * origin.
   */
  openPage(req: Request, res: Response): Promise<Browser>;

  /**
   * Checks a submitted form. `Origin` and `Sec-Fetch-Site` must match this site, and the form must
   * contain the token that was issued to this browser with the page of the form.
   *
   * @throws {Problem} `forbidden_origin`
   */
  requireOwnForm(req: Request): Promise<Browser>;
}

/**
 * Creates the CSRF guard.
 *
 * @param baseUrl Public origin of the service.
 */
export function createCsrfGuard(sessions: BrowserSessions, baseUrl: string): CsrfGuard {
  return {
    async openPage(req, res) {
      const wrong = redirectToPublicOrigin(req, baseUrl);
      if (wrong !== undefined) throw wrong;
      const browser = await sessions.browserOf(req.headers.cookie);
      if (browser.setCookie !== undefined) res.append("set-cookie", browser.setCookie);
      return browser;
    },
    async requireOwnForm(req) {
      const browser = await sessions.browserOf(req.headers.cookie);
      const isOwn = isFromSite(req, baseUrl);
      if (isOwn && sessions.isFormTokenOf(browser, req.body?.form_token)) return browser;
      throw new Problem("forbidden_origin", {
        detail: "This form did not come from a page that is open in this browser now.",
        next: `Open the page again under ${baseUrl}, and send the form from there.`,
      });
    },
  };
}

/**
 * Whether `Origin` and `Sec-Fetch-Site` show that a request comes from this site. Browsers set both
 * headers themselves, and no page can change them (Fetch, section 3.2; Fetch Metadata, section
 * 4.1); older browsers omit them.
 */
function isFromSite({ headers }: Request, baseUrl: string): boolean {
  const { origin = baseUrl, "sec-fetch-site": site = "same-origin" } = headers;
  return origin === baseUrl && site === "same-origin";
}
