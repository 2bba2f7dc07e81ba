import {
  DIRECTION_EVIDENCE_TEXT,
  DIRECTION_LIMITS_TEXT,
  SCORE_CAVEAT,
  SCORE_MEANING,
} from "../answers/meaning.ts";
import { marketNotes, type Site } from "../answers/site.ts";
import { paths } from "../lib/paths.ts";

/** The general description in the OpenAPI document, as Markdown. */
export const apiDescription = (site: Site): string => `${marketNotes[site.market]}

${SCORE_MEANING} ${SCORE_CAVEAT} ${DIRECTION_EVIDENCE_TEXT} ${DIRECTION_LIMITS_TEXT}

## Get access

1. ${registration(site)}
2. It gets a token: \`POST ${paths.token}\` with \`grant_type=client_credentials\`.
3. Each call carries \`Authorization: Bearer <token>\`, or an API key as \`x-api-key\`; in a URL both are rejected.

\`alerts:write\` needs an agent that a person has claimed. [auth.md](${site.baseUrl}${paths.authMd}) has every step.

## Conventions

- JSON in camel case, under \`/oauth\` in snake case. Times are ISO 8601 in UTC with milliseconds. Ratios are fractions, not percent.
- Answers are brief and rounded; \`detail=full\` has every member, unrounded. A page can end before its \`limit\`.
- Every answer about one instrument says \`asOf\`, \`market\` and \`status\`, with \`detail=full\` also \`sources\` and \`methodVersion\`. Lists of instruments say the same, with a \`status\` for each item.
- Lists have \`limit\` and \`cursor\`: send \`nextCursor\` until it is \`null\`.
- \`HEAD\` is answered wherever \`GET\` is.
- The examples are from a simulated market.

## Failures

Failures are problems (RFC 9457) with a stable \`code\` and the next step in \`next\`. Under \`/oauth\` they have \`error\` and \`error_description\`; failures without an OAuth error code are problems with these two members. While the service starts, every path answers 503 \`not_ready\`.

## Limits

\`RateLimit-Policy\` and \`RateLimit\` state the limit and what is left; requests over it get 429 with \`Retry-After\` in seconds.

## Versions

Within 1.x changes only add: paths, optional members of requests, members of answers, codes, types of events. Ignore unknown members. \`Deprecation\` (RFC 9745) announces a removal, \`Sunset\` (RFC 8594) its earliest time.`;

const registration = ({ anonymousScopes }: Site): string =>
  anonymousScopes.length > 0
    ? `An agent registers itself: \`POST ${paths.register}\`, without a credential.`
    : `An application registers itself: \`POST ${paths.register}\`. On this instance agents without an owner get no scopes.`;
