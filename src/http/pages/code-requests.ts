import type { Request } from "express";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import type { Party } from "../../limits/limits.ts";
import { requireAdmissions } from "../../limits/rate-limit-problem.ts";
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
  const target = mailboxOf(email);
  const browser = await ownershipOf(req, email, context);
  const stranger = partyAt(req.ip);
  const pools = codePools(target, browser, stranger);
  const states = await Promise.all(pools.map((pool) => limits.check("code-mails", pool)));
  const pool = pools[states.findIndex(({ isExceeded }) => !isExceeded)] ?? stranger;
  const kind = browser.firstNetwork === undefined ? "link" : "known";
  const own = { caller: target, network: target, target: `${kind} ${target}` };
  const counting = requireAdmissions(limits, [
    ["mailbox-codes", browser.isOwn ? own : { ...stranger, target }],
    ["code-mails", pool],
  ]);
  await (browser.isOwn ? counting : counting.catch(sayAnotherWay));
  return { isForNew: pool === stranger, isForOwner: browser.isOwn };
}

/**
 * The pools of `code-mails` that can count a code, in the order in which they are used. That of
 * known browsers counts for the network of the account, and that of links for browsers with a link,
 * so that strangers need accounts of the same network, or links of their own, to use them up.
 */
function codePools(
  mailbox: string,
  { firstNetwork, isLinked }: BrowserOwnership,
  stranger: Party,
): readonly Party[] {
  const { network } = stranger;
  return [
    ...(firstNetwork === undefined
      ? []
      : [{ caller: mailbox, network: firstNetwork, target: "known" }]),
    stranger,
    ...(isLinked ? [{ caller: mailbox, network, target: "link" }] : []),
  ];
}

/**
 * Checks whether codes can be tried. Attempts from an owner's browser are limited by the number of
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
  const browser = email === undefined ? undefined : await ownershipOf(req, email, context);
  if (!browser?.isOwn) await context.guard.check(partyAt(req.ip)).catch(sayAnotherWay);
}

/** What shows that a browser is that of a mailbox's owner, whom strangers cannot lock out of it. */
interface BrowserOwnership {
  /** Network of the account, if its person signed in at the browser before (`networkOfKnown`). */
  readonly firstNetwork: string | undefined;
  /** Whether a link that was sent to the mailbox was used at the browser. */
  readonly isLinked: boolean;
  readonly isOwn: boolean;
}

async function ownershipOf(
  req: Request,
  email: string,
  { sessions, suppression, ...context }: PageContext,
): Promise<BrowserOwnership> {
  const firstNetwork = await sessions.networkOfKnown(req.headers.cookie, email);
  const isLinked = suppression.isLinkOf(mailboxPass(context).read(req) ?? "", email);
  return { firstNetwork, isLinked, isOwn: firstNetwork !== undefined || isLinked };
}

/** @throws {Problem} The refusal, with what the owner of a mailbox can do meanwhile. */
function sayAnotherWay(refusal: unknown): never {
  if (!(refusal instanceof Problem) || refusal.code !== "rate_limited") throw refusal;
  const { detail, headers } = refusal;
  const next =
    "Or open the link at the end of any email with a code in this browser, and choose to sign in at it.";
  throw new Problem("rate_limited", { detail, next, headers });
}
