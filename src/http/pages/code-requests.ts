import type { Request } from "express";
import { Problem } from "../../lib/problem.ts";
import { partyAt } from "../../limits/address-key.ts";
import type { Limits, Party } from "../../limits/limits.ts";
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
  const free = await firstFree(limits, codePools(target, browser, stranger));
  const pool = free ?? stranger;
  const kind = browser.firstNetwork === undefined ? "link" : "known";
  const own = { caller: target, network: target, target: `${kind} ${target}` };
  const counting = requireAdmissions(limits, [
    ["mailbox-codes", browser.isOwn ? own : { ...stranger, target }],
    ["code-mails", pool],
  ]);
  const way = browser.isLinked ? OTHER_NETWORK : LINK_IN_MAIL;
  // Nothing but time gives an owner more codes of the mailbox.
  await (browser.isOwn && free !== undefined ? counting : counting.catch(sayAnotherWay(way)));
  return { isForNew: pool === stranger, isForOwner: browser.isOwn };
}

/**
 * The pools of `code-mails` that can count a code, in the order in which they are used. The first
 * code of an hour at a known browser counts for the mailbox and in total alone, and so does the
 * first at browsers with a link, so that nobody else of the network can keep an owner from it. The
 * next ones at known browsers count for the network of the account, and those at browsers with a
 * link for the network where they are.
 */
function codePools(
  mailbox: string,
  { firstNetwork, isLinked }: BrowserOwnership,
  stranger: Party,
): readonly Party[] {
  const { network } = stranger;
  const first = (kind: "known" | "link"): Party => {
    const own = `${kind} ${mailbox}`;
    return { caller: own, network: own, target: FIRST };
  };
  return [
    ...(firstNetwork === undefined
      ? []
      : [first("known"), { caller: mailbox, network: firstNetwork, target: "known" }]),
    stranger,
    ...(isLinked ? [first("link"), { caller: mailbox, network, target: "link" }] : []),
  ];
}

/** Pool of the first codes of an hour. */
const FIRST = "first";

/**
 * The first pool that has something left; that of first codes has only as long as it counts none of
 * the caller. Codes that are asked for at the same instant can each be the first: `mailbox-codes`
 * and the total bound them.
 */
async function firstFree(limits: Limits, pools: readonly Party[]): Promise<Party | undefined> {
  const found = await Promise.all(
    pools.map(async (pool) => ({ pool, state: await limits.check("code-mails", pool) })),
  );
  return found.find(
    ({ pool: { target }, state: { isExceeded, left, most } }) =>
      !isExceeded && (target !== FIRST || left === most),
  )?.pool;
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
  if (!browser?.isOwn)
    await context.guard.check(partyAt(req.ip)).catch(sayAnotherWay(LINK_IN_MAIL));
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

/** What the owner of a mailbox can do at a browser without its link. */
const LINK_IN_MAIL =
  "Or open the link at the end of any email with a code in this browser, and choose to sign in at it.";

/** What the owner can do where the network has used up what even browsers with the link have. */
const OTHER_NETWORK = "Or ask for a code in another network, such as that of a phone.";

/** Throws a refusal with what the owner of a mailbox can do meanwhile. */
const sayAnotherWay =
  (next: string) =>
  (refusal: unknown): never => {
    if (!(refusal instanceof Problem) || refusal.code !== "rate_limited") throw refusal;
    const { detail, headers } = refusal;
    throw new Problem("rate_limited", { detail, next, headers });
  };
