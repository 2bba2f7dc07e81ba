import { networksToReserve } from "./admission.ts";
import {
  concurrencyClasses,
  FEWEST_NETWORKS,
  type HoldingClass,
  type RateClass,
  rateClasses,
  storageClasses,
} from "./classes.ts";

const COLUMNS = "What counts | Who the caller is | Caller | Network | Total | Networks to 4/5";

const table = (head: string, rows: readonly string[]): string =>
  [`| ${head} |`, `|${head.replaceAll(/[^|]+/g, "---")}|`, ...rows].join("\n");

const numberOf = (value: number): string => value.toLocaleString("en-US");

const cells = (limit: HoldingClass): string => {
  const { counts, by, caller, network, total } = limit;
  return [counts, by, ...[caller, network, total, networksToReserve(limit)].map(numberOf)].join(
    " | ",
  );
};

const rateRow = ([name, limit]: readonly [string, RateClass]): string => {
  const per = limit.per === undefined ? "" : `, for each ${limit.per}`;
  const why = [limit.because, limit.fewNetworks].filter(Boolean).join("; few networks: ");
  return `| \`${name}\` | ${cells(limit)} | ${numberOf(limit.seconds)} s${per} | ${why} |`;
};

const holdingRow = ([name, limit]: readonly [string, HoldingClass]): string =>
  `| \`${name}\` | ${cells(limit)} | ${limit.because} |`;

/** All limits as a Markdown document, the content of `docs/limits.md`. */
export function limitsDocument(): string {
  const rates = Object.entries<RateClass>(rateClasses).map(rateRow);
  const concurrent = Object.entries<HoldingClass>(concurrencyClasses).map(holdingRow);
  const stored = Object.entries<HoldingClass>(storageClasses).map(holdingRow);
  return `# Limits

Every limit of the service is one of the classes below, and each has three numbers: most for one **caller**, for one **network** (a /24 of IPv4, a /48 of IPv6) and in **total**. An address is an IPv4 address or a /56 of IPv6. An IPv6 address that a translator (64:ff9b::/96) or 6to4 (2002::/16) made of an IPv4 address counts as that, and a port that a load balancer writes beside an address does not count. This page is generated from \`src/limits/classes.ts\`.

**The rule.** An action is refused if the caller, or the network, or all callers together have reached their number. A fifth of every total is reserved for networks that have used nothing of it: once four fifths are used up, only such networks are admitted. What is refused does not count.

**What holds against many networks.** Fewer than ${FEWEST_NETWORKS} networks cannot use up four fifths of a total, whatever they do (but see \`alerts\` and first codes below), and until four fifths are used up every network has its whole number; the tables say how many it takes for each class, and why the two classes of a mailbox take fewer. ${FEWEST_NETWORKS} networks or more can use four fifths up. Each network that has used nothing then has one action in the window until the reserve is used up too, by as many networks as it has actions. No number for a network keeps anything from someone who has hundreds of them, so this much is left to the proxy (below). It holds for numbers of your own too, if the total is at least fifty times the network's.

**A refusal** is 429 with \`Retry-After\`; its \`detail\` names the number that refused, such as \`calls\` for the caller, \`calls-network\` or \`calls-total\`, and \`next\` says when to retry. Answers carry \`RateLimit\` fields with what is left to the caller. \`market_signal_limit_denials_total\` of the metrics counts refusals by the same names.

**Other numbers.** \`RATE_LIMITS="registrations=1000/3000/150000 calls=1200/24000/1200000"\` sets caller, network and total of a class in a window of time, or of \`alerts\`; windows, and the other classes, stay as they are. Where many agents share addresses (a platform that hosts them, a popular egress), raise the network's number of \`registrations\`, \`tokens-unclaimed\`, \`calls-unclaimed\` and \`claims\`, and what the proxy passes (\`limit_req\` in \`deploy/nginx.conf\`). Names from before version 1.0.0 set the number that replaced them, or stop the start with a message that names it.

**Floods from more networks** are the proxy's task: \`deploy/nginx.conf\` passes 200 requests a second of each network, 400 of them under way at a time, and 2,000 a second in all, and is the place to refuse a provider as a whole. What it passes is divided by the rule above.

**Computing time** is shared by turns besides: what cannot begin at once waits, and the networks of what waits take turns in each process, so that of a network that sends too much at most one request goes before each one of another network. Where too much waits, what is refused (503 \`overloaded\`) is of the network of which most waits. All callers behind one address are one network here too.

## In a window of time

A window begins with the first action that counts. With the embedded store, counts begin anew with the process. On PostgreSQL all processes count together; \`calls\`, \`calls-unclaimed\` and \`visits\` are synchronized once a second, so that a read costs no query. While the database is silent, each process counts alone after 250 ms.

${table(`Class | ${COLUMNS} | Window | Why`, rates)}

**Guessing.** A caller that used up its number of \`guesses\` is locked out, twice as long each time, up to a day, by the hash of its address or account, over restarts too. The network's and the total number never lock anyone out: secrets of clients are too long to guess, codes that \`code-mails\` bounds are good for five tries each, and \`claims\` leaves all accounts of a network 1,000 attempts an hour at claim codes of 40 bits.

**Codes by mail.** All kinds of codes to one mailbox count together, however its address is spelled: without what follows a +, and by what Gmail, Proton, iCloud, Yandex and Fastmail document. A host that folds other spellings, and a domain that takes every name, is one person with many mailboxes here; for these, \`code-mails\` is the bound, at every kind of browser. Browsers in which its owner has signed in before are counted apart: in \`code-mails\` their first code of an hour counts for the mailbox and in total alone, and the next ones for the network in which the owner first signed in, wherever they are, and where that has nothing left, as those of strangers are. So strangers do not lock the owner out of them: accounts that first signed in from the same network can use up its 100 codes an hour, and the 100 of the network where the owner is, but not the first. Elsewhere, strangers of ten networks can have a code refused, for 15 minutes at a time. The owner's way is the link at the end of any email with a code, those that strangers asked for included: a browser at which it was used has codes of its own for a day, and needs no permission of \`guesses\` to enter one. Where \`code-mails\` has nothing left, a mailbox has a first code an hour at these browsers too, and the links used in a network another 100, so who can read their mail is not locked out, and has more than that one code except in networks where others use links as often. So most mails with codes for signing in are 40,000 an hour in all, and of one network 300 and two for each mailbox that has such browsers there. First codes have no number for a network: one with 5,000 such mailboxes, which takes it two days of 100 new ones an hour, can use up the 10,000 first codes of all, and everybody's codes then count as the next ones do. Such codes are for accounts that exist: a new one needs what \`code-mails\` leaves to the network, and where that is nothing, the answer is the same and no code comes. Whoever holds an email that was forwarded can use up the three codes of its link, for 15 minutes at a time. By the same link the mailbox gets no more mail of this service, until its owner allows it again there, or asks the operator to (\`admin mail --allow\`); only codes that are asked for at a browser in which the person signed in before, or at which the link was used, still come. Whoever holds a forwarded email can stop mail and allow it as well, again and again, but keeps nobody from signing in who can read an email with a code.

## Under way at the same time

In each process. What exceeds them is refused with \`Retry-After\`.

${table(`Class | ${COLUMNS} | Why`, concurrent)}

## Stored at the same time

${table(`Class | ${COLUMNS} | Why`, stored)}

**Eviction.** Where the total of \`agents\` is reached, the newest agent of the network that holds most gives way; one that is in use (a live token, a claim code, an open authorization) never does while its network holds less than the network's number. From \`intake\` and \`alerts\` nothing is evicted, since a person waits for it or uses it: what exceeds them is refused. It takes 40 networks, at 20 an hour each (\`submissions\`), a day to leave to others only the reserve of \`intake\`; a decision of the operator about an application frees its place. Anyone can apply with any address, so a stranger can have an application under a person's address rejected. That bars nobody: the next one takes its place. While one waits, it stays as it was, and the operator sees others beside it, the last one of each of the last four networks, so that a stranger needs four networks to push that of the person out of these; the person applies again. What takes the place of a rejected one has an id of its own.

**A network's \`alerts\`** are shared by its accounts: the more it has, the fewer each of them can have, 160 (l/1,440)² where l is left of the 1,600, but always four. So ten accounts that take what they can leave 39 to the next one, and nobody is shut out by others of their network. In a full network four more are stored for each account: with 100 new accounts an hour (\`code-mails\`) one network needs a week, and 16,000 mailboxes, to use up four fifths of the total. A refusal of \`alerts\` is 409 \`alert_limit\` without \`Retry-After\`, since no wait helps: it says what is full, and what to remove or whom to ask.

**What else is stored** has a number for each account or target, and a class that bounds how fast it grows:

| What | Most of an account, application or target | Class that bounds it |
|---|---|---|
| accounts | one for each address, so any number for a mailbox, or person of an identity provider | \`code-mails\`; \`authorizations\` and \`registrations\` for people of a provider |
| API keys, grants to applications, claimed agents | 5, 100, 1,000 | \`changes\`, \`claims\` |
| sessions and known browsers | 100 each; the oldest goes | \`code-mails\`, \`mailbox-codes\`; \`authorizations\` for people of a provider |
| refresh tokens | 100 families for each grant; the oldest goes | \`tokens\` |
| access tokens, codes, authorization requests, claims | for an hour at most | \`tokens\`, \`tokens-unclaimed\`, \`authorizations\`, \`claims\` |
| events, deliveries, attempts | for 30 days | \`events\` |
| the number of the last event | one for each alert and instrument | \`alerts\` |
| emails that wait | for ten minutes with a code, five days with a notice | \`code-mails\`, \`mailbox-codes\`, \`messages\`, \`claims\` |
| mailboxes that want no mail | one each, 0.2 kB, for good | \`code-mails\` |
| lockouts | for at most two days after the guess | \`audit-rows\` |
| audit rows | for 400 days; of sign-ins, each with its sign-out, 50 an hour | the class of what they record, \`audit-rows\`; \`code-mails\` and \`authorizations\` for sign-ins |

Accounts, their keys and grants, and mailboxes that want no mail have no number in total: a service does not turn people away because it has many. From one network they grow by at most 100 an hour (\`code-mails\`), and an account whose person has signed in is about 2 kB of rows: 5 MB a day. Where an identity provider vouches for people, it is as many as it vouches for, at most 1,000 in ten minutes (\`authorizations\`).

Rows of sign-ins and sign-outs have no number for a network or in total either, so that nobody can hide a sign-in with a stolen mailbox behind the rows of others. There are at most two for each code or answer of a provider: with the most codes in all, 80,000 rows or 35 MB an hour.

**A new limit.** Count the action by a class above: name it in the \`limit\` of a public operation, or call \`admit\` where the action is; the form of a page is another place than the operation that does the same. A new class replaces one in \`src/limits/classes.ts\`, because \`test/house/ceilings.json\` lets their number only fall; \`src/limits/former-names.ts\` then says which class took the place of the old name. \`UPDATE_DOCS=1 npx vitest run --mode quick test/unit/limits/classes.test.ts\` renews this page.
`;
}
