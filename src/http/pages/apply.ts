import { Router } from "express";
import { z } from "zod";
import { DAY_MS } from "../../lib/day.ts";
import { paths } from "../../lib/paths.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission } from "../../limits/rate-limit-problem.ts";
import { type Html, html } from "../../markup/html.ts";
import type { Browser } from "../../principals/accounts/browser-sessions.ts";
import { ApplicationFields } from "../../principals/applications/fields.ts";
import type { QueueTokenAccess } from "../../principals/applications/intake.ts";
import {
  APPLICATION_RETENTION_MS,
  applicantFocuses,
} from "../../principals/applications/intake-records.ts";
import { rejectOtherMethods } from "../allowed-methods.ts";
import { copyButton, copyScriptHref } from "./copy.ts";
import { descriptionList, scopeList, timeElement, untrustedText } from "./elements.ts";
import { createForm, type Refused, readForm } from "./form.ts";
import { showForm } from "./form-html.ts";
import type { PageAnswer } from "./page-answer.ts";
import type { PageContext } from "./page-context.ts";

type Focus = (typeof applicantFocuses)[number];

const focusNames: Readonly<Record<Focus, string>> = {
  retail: "A private investor",
  quant: "A quantitative researcher or developer",
  fund: "A fund or another institution",
  general: "Other",
};

const applyForm = createForm({
  name: {
    control: "input",
    label: "Your name",
    hint: "Of a person or an organization.",
    subject: "The name",
    type: "text",
    autocomplete: "name",
    isRequired: true,
    schema: ApplicationFields.shape.name,
  },
  email: {
    control: "input",
    label: "Your email address",
    hint: "An address has one application at a time.",
    subject: "The email address",
    type: "email",
    autocomplete: "email",
    isRequired: true,
    maxLength: 254,
    schema: ApplicationFields.shape.email,
  },
  focus: {
    control: "radio",
    label: "Who you are",
    subject: "The focus",
    options: [
      ...applicantFocuses.map((focus) => [focus, focusNames[focus]] as const),
      ["", "I would rather not say"],
    ],
    // The form sends an empty text for the last option.
    schema: z.preprocess((chosen) => chosen || undefined, ApplicationFields.shape.focus),
  },
});

/**
 * The page to apply for early access. It shares the rate limit of POST /api/apply; invalid input
 * does not count.
 */
export function earlyAccessRoutes({ csrf, show, limits, intake }: PageContext): Router {
  const router = Router();
  router
    .route(paths.apply)
    .get(async (req, res) => show(res, applyPage(await csrf.openPage(req, res))))
    .post(...applyForm.reader, async (req, res) => {
      const browser = await csrf.requireOwnForm(req);
      const { data, refused } = readForm(applyForm, req);
      if (refused !== undefined) return show(res, applyPage(browser, refused));
      await requireAdmission(limits, "submissions", partyAt(req.ip));
      show(res, seatPage(browser, { ...data, ...(await intake.apply(data)) }));
    })
    .all(rejectOtherMethods(["get", "post"]));
  return router;
}

function applyPage({ formToken, session }: Browser, refused?: Refused): PageAnswer {
  const values = { focus: "" };
  return {
    heading: "Apply for early access",
    errors: refused?.errors,
    isSignedIn: session !== undefined,
    body: html`<p class="lead">An application reserves a seat in the queue. The operator of this service decides who gets in and tells you; then you can sign in with this address.</p>
<div class="card">${showForm(applyForm, { action: paths.apply, formToken, values, refused }, html`<button>Apply</button>`)}</div>
<p class="quiet">An application that is not accepted is deleted after ${APPLICATION_RETENTION_MS / DAY_MS} days.</p>`,
  };
}

/** An application that was received. */
interface Seat {
  readonly queueToken: string;
  readonly name: string;
  readonly email: string;
  readonly focus?: Focus | undefined;
  /** Time of registration, in milliseconds since the epoch. */
  readonly registeredAt: number;
  /** Properties of the queue token as an API key; `undefined` if it is not an API key. */
  readonly key: QueueTokenAccess | undefined;
}

/** The page that shows the queue token; the token is shown only once. */
function seatPage({ session }: Browser, seat: Seat): PageAnswer {
  const { queueToken, name, email, focus, registeredAt, key } = seat;
  return {
    heading: "Your seat is reserved",
    scriptPath: copyScriptHref,
    isSignedIn: session !== undefined,
    body: html`<p class="lead">This is your queue token. Copy it now: it is shown this once and never again.</p>
<p class="secret"><code id="token">${queueToken}</code></p>
<p class="buttons">${copyButton("token", "the token")}</p>
<p>It identifies your application to the operator of this service: give it when you ask about it.</p>
<p>The operator decides and tells you. Once you are accepted, sign in with this address; an agent of yours then needs a new claim code.</p>
<p>An address has one application, its first. If yours had applied before and was not rejected, that application is kept as it was, with this one beside it, and this token stands for it.</p>
${key && keyText(key)}
<div class="card">${descriptionList([
      ["Name", untrustedText(name)],
      ["Email address", untrustedText(email)],
      focus !== undefined && ["Who you are", focusNames[focus]],
      ["Received", timeElement(registeredAt)],
    ])}</div>`,
  };
}

const keyText = ({ scopes, expiresAt }: QueueTokenAccess): Html => html`<section>
<h2>Try the interface with it</h2>
<p>Until ${timeElement(expiresAt)} it is an API key, too. Send it in the header <code>x-api-key</code>; <a href="/docs/api">the reference</a> lists the endpoints. It allows:</p>
${scopeList(scopes)}
<p>Keep it like a password.</p>
</section>`;
