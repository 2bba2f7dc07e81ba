import { Router } from "express";
import { DAY_MS } from "../../lib/day.ts";
import { paths } from "../../lib/paths.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { html } from "../../markup/html.ts";
import type { Browser } from "../../principals/accounts/browser-sessions.ts";
import { InquiryFields } from "../../principals/applications/fields.ts";
import {
  INQUIRY_RETENTION_MS,
  type Inquiry,
} from "../../principals/applications/intake-records.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { linkToMarkdown } from "../discovery/link-headers.ts";
import { MARKDOWN_MEDIA_TYPE, prefersMarkdown } from "../markdown.ts";
import { descriptionList, timeElement } from "./elements.ts";
import { createForm, type Refused, readForm } from "./form.ts";
import { showForm } from "./form-html.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";

/** Enough bytes for a message of 5,000 characters, even if each is encoded in twelve bytes. */
const MAX_FORM_BYTES = 64 * 1024;

const contactForm = createForm(
  {
    email: {
      control: "input",
      label: "Your email address",
      hint: "The operator answers to this address.",
      subject: "The email address",
      type: "email",
      autocomplete: "email",
      isRequired: true,
      maxLength: 254,
      schema: InquiryFields.shape.email,
    },
    message: {
      control: "lines",
      label: "Your message",
      subject: "The message",
      rows: 8,
      isRequired: true,
      schema: InquiryFields.shape.message,
    },
  },
  { maxBytes: MAX_FORM_BYTES },
);

/**
 * The page to contact the operator. It shares the rate limit of POST /api/contact; invalid input
 * does not count.
 */
export function contactRoutes({ baseUrl, csrf, show, limits, intake }: PageContext): Router {
  const markdown = contactMarkdown(baseUrl);
  const link = linkToMarkdown(baseUrl + paths.contactPage);
  const router = Router();
  router
    .route(paths.contactPage)
    .get(async (req, res) => {
      res.set({ link, vary: "Accept" });
      if (prefersMarkdown(req)) return void res.type(MARKDOWN_MEDIA_TYPE).send(markdown);
      show(res, contactPage(await csrf.openPage(req, res)));
    })
    .post(...contactForm.reader, async (req, res) => {
      const browser = await csrf.requireOwnForm(req);
      const { data, refused } = readForm(contactForm, req);
      if (refused !== undefined) return show(res, contactPage(browser, refused));
      await requireAdmission(limits, "submissions", partyAt(req.ip));
      show(res, contactSentPage(browser, await intake.contact(data)));
    })
    .all(rejectOtherMethods(["get", "post"]));
  return router;
}

const contactPage = ({ formToken, session }: Browser, refused?: Refused): PageAnswer => ({
  heading: "Contact",
  errors: refused?.errors,
  isSignedIn: session !== undefined,
  body: html`<p class="lead">Write to the operator of this service: a question, a request, or a vulnerability that you found.</p>
<div class="card">${showForm(contactForm, { action: paths.contactPage, formToken, refused }, html`<button>Send message</button>`)}</div>
<p class="quiet">What you send is kept for ${INQUIRY_RETENTION_MS / DAY_MS} days and then deleted.</p>`,
});

/** The contact page as Markdown, for agents. */
const contactMarkdown = (baseUrl: string): string => `# Contact

Write to the operator of this service: a question, a request, or a vulnerability that you found.

- A program sends \`POST ${baseUrl}${paths.contact}\` with \`{"email": "name@host.example", "message": "..."}\`: the address where an answer reaches you, and the message. It needs no credential.
- A person opens ${baseUrl}${paths.contactPage} in a browser.

What you send is kept for ${INQUIRY_RETENTION_MS / DAY_MS} days and then deleted.
`;

const contactSentPage = (
  { session }: Browser,
  { reference, receivedAt }: Pick<Inquiry, "reference" | "receivedAt">,
): PageAnswer => ({
  heading: "Your message was recorded",
  isSignedIn: session !== undefined,
  body: html`<p class="lead">The operator of this service can read it now.</p>
<div class="card">${descriptionList([
    ["Reference", html`<code>${reference}</code>`],
    ["Received", timeElement(receivedAt)],
  ])}</div>
<p>Give the reference when you write about it again.</p>`,
});
