import type { Request } from "express";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import { requireAdmission, requireAdmissions } from "../../limits/rate-limit-problem.ts";
import { mailboxOf } from "../../mail/email-address.ts";
import type { CodeRecipients } from "../../principals/accounts/email-code-sign-in.ts";
import type { PageContext } from "./page-context.ts";
import { mailboxPass } from "./unsubscribe.ts";

/**
 * Counts a request for a code. Anyone can request codes for any address, so all codes to a mailbox
 * count together, except those for a browser in which the person signed in before, or used a link
 * that was sent to the mailbox: strangers cannot use up these. All browsers of one kind count
 * together, because each sign-in makes another browser known, and all spellings of the mailbox.
 *
 * The link was sent to whoever asked for a code to a mailbox of their own, so it gives no new
 * account that the network may not have. Whether an address has an account changes neither the
 * answer nor what counts.
 *
 * @throws {Problem} `rate_limited`
 */
export async function countCodeRequest(
  req: Request,
  email: string,
  context: PageContext,
): Promise<CodeRecipients> {
  const { limits } = context;
  const party = partyAt(req.ip);
  const target = mailboxOf(email);
  const known = await knownBrowser(req, email, context);
  if (known === undefined) {
    await requireAdmissions(limits, [
      ["mailbox-codes", { ...party, target }],
      ["code-mails", party],
    ]).catch(sayAnotherWay);
    return { isForNew: true, isForOwner: false };
  }
  const own = { caller: target, network: target, target: `${known} ${target}` };
  await requireAdmission(limits, "mailbox-codes", own);
  const isForNew = known === "link" && !(await limits.admit("code-mails", party)).isExceeded;
  return { isForNew, isForOwner: true };
}

/**
 * Checks whether codes can be tried. Attempts from a known browser are limited by the number of
 * codes that it can request.
 *
 * @param email Address to which the code was sent; `undefined` if none is pending.
 * @throws {Problem} `rate_limited` if the network guessed too often.
 */
export async function requireCodeAttempt(
  req: Request,
  email: string | undefined,
  context: PageContext,
): Promise<void> {
  const known = email === undefined ? undefined : await knownBrowser(req, email, context);
  if (known === undefined) await context.guard.check(partyAt(req.ip)).catch(sayAnotherWay);
}

/** How a browser is known to be that of a person, whom strangers then cannot lock out of it. */
async function knownBrowser(
  req: Request,
  email: string,
  { sessions, suppression, ...context }: PageContext,
): Promise<"known" | "link" | undefined> {
  if (await sessions.knows(req.headers.cookie, email)) return "known";
  return suppression.isLinkOf(mailboxPass(context).read(req) ?? "", email) ? "link" : undefined;
}

/** @throws {Problem} The refusal, with what the owner of a mailbox can do meanwhile. */
function sayAnotherWay(refusal: unknown): never {
  if (!(refusal instanceof Problem) || refusal.code !== "rate_limited") throw refusal;
  const { detail, headers } = refusal;
  const next =
    "Or open the link at the end of any email with a code in this browser, and choose to sign in at it.";
  throw new Problem("rate_limited", { detail, next, headers });
}
