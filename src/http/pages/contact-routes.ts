import { type Request, type Response, Router } from "express";
import { paths } from "../../lib/paths.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { InquiryFields } from "../../principals/applications/fields.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { linkToMarkdown } from "../discovery/link-headers.ts";
import { MARKDOWN_MEDIA_TYPE, prefersMarkdown } from "../markdown.ts";
import { contactMarkdown, contactPage, contactSentPage } from "./contact.ts";
import { createFormReader, submittedValue, validateForm } from "./form.ts";
import { errorSentences } from "./intake-errors.ts";
import type { PageContext } from "./page-context.ts";

/**
 * Maximum size of the form, in bytes: enough for a message of 5,000 characters, even if each
 * character is encoded in twelve bytes.
 */
const MAX_FORM_BYTES = 64 * 1024;

/**
 * Routes of the page to contact the operator. They share the rate limits of POST /api/contact;
 * invalid input does not count.
 */
export function contactRoutes(options: PageContext): Router {
  const { baseUrl, csrf, show } = options;
  const markdown = contactMarkdown(baseUrl);
  const link = linkToMarkdown(baseUrl + paths.contactPage);
  const router = Router();
  router
    .route(paths.contactPage)
    .get(async (req, res) => {
      res.set({ link, vary: "Accept" });
      if (prefersMarkdown(req)) return void res.type(MARKDOWN_MEDIA_TYPE).send(markdown);
      const { formToken, session } = await csrf.openPage(req, res);
      show(res, contactPage({ formToken, isSignedIn: session !== undefined }));
    })
    .post(...createFormReader(MAX_FORM_BYTES), (req, res) => send(req, res, options))
    .all(rejectOtherMethods(["get", "post"]));
  return router;
}

async function send(
  req: Request,
  res: Response,
  { csrf, show, limits, intake }: PageContext,
): Promise<void> {
  const { formToken, session } = await csrf.requireOwnForm(req);
  const isSignedIn = session !== undefined;
  const { data, errors } = validateForm(InquiryFields, req);
  if (errors !== undefined) {
    const asTyped = {
      email: submittedValue(req, "email"),
      message: submittedValue(req, "message"),
    };
    const view = { formToken, isSignedIn, ...asTyped, errors: errorSentences(errors) };
    return show(res, contactPage(view));
  }
  await requireAdmission(limits, "submissions", partyAt(req.ip));
  show(res, contactSentPage({ isSignedIn, ...(await intake.contact(data)) }));
}
