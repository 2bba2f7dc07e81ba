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
  const mailbox = mailboxOf(email);
  const browser = await ownershipOf(req, email, context);
  const stranger = partyAt(req.ip);
  const free = await firstFree(limits, codeParties(mailbox, browser, stranger));
  const party = free ?? stranger;
  const kind = browser.firstNetwork === undefined ? "link" : "known";
  const own = { caller: mailbox, network: mailbox, target: `${kind} ${mailbox}` };
  const counting = requireAdmissions(limits, [
    ["mailbox-codes", browser.isOwn ? own : { ...stranger, target: mailbox }],
    ["code-mails", party],
  ]);
  const way = browser.isLinked ? OTHER_NETWORK : LINK_IN_MAIL;
  // Nothing but time gives an owner more codes of the mailbox.
  await (browser.isOwn && free !== undefined ? counting : counting.catch(sayAnotherWay(way)));
  return { isForNew: party === stranger, isForOwner: browser.isOwn };
}

/**
 * The parties for which `code-mails` can count a code, in the order in which they are used. The
 * first code of an hour at a known browser counts for the mailbox and in total alone, and so does
 * the first at browsers with a link, so that nobody else of the network can keep an owner from it.
 * The next ones at known browsers count for the network of the account, and those at browsers with
 * a link for the network where they are.
 */
function codeParties(
  mailbox: string,
  { firstNetwork, isLinked }: BrowserOwnership,
  stranger: Party,
): readonly Party[] {
  const { network } = stranger;
  const first = (kind: "known" | "link"): Party => {
    const own = `${kind} ${mailbox}`;
    return { caller: own, network: own, pool: FIRST };
  };
  return [
    ...(firstNetwork === undefined
      ? []
      : [first("known"), { caller: mailbox, network: firstNetwork, pool: "known" }]),
    stranger,
    ...(isLinked ? [first("link"), { caller: mailbox, network, pool: "link" }] : []),
  ];
}

/** Pool of the first codes of an hour. */
const FIRST = "first";

/**
 * The first party for which another code can be counted; for first codes, only if the caller has
 * had none in the hour. Codes that are asked for at the same instant can each be the first:
 * `mailbox-codes` and the total bound them.
 */
async function firstFree(limits: Limits, parties: readonly Party[]): Promise<Party | undefined> {
  const found = await Promise.all(
    parties.map(async (party) => ({ party, state: await limits.check("code-mails", party) })),
  );
  return found.find(
    ({ party: { pool }, state: { isExceeded, left, most } }) =>
      !isExceeded && (pool !== FIRST || left === most),
  )?.party;
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
