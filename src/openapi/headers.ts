/** OpenAPI header objects for all response headers, by header name. */
export const responseHeaders = {
  "RateLimit-Policy": {
    description:
      'The limits that apply: `"name";q=requests;w=seconds` (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: "string" },
    example: '"calls";q=600;w=60',
  },
  RateLimit: {
    description: 'What remains of each limit: `"name";r=requests;t=seconds`, until it resets.',
    schema: { type: "string" },
    example: '"calls";r=599;t=60',
  },
  "Retry-After": {
    description: "Seconds after which to repeat the request.",
    schema: { type: "integer", minimum: 0 },
    example: 30,
  },
  "WWW-Authenticate": {
    description:
      "The missing credential, and in `resource_metadata` the URL of the metadata that says how to get one (RFC 6750, RFC 9728).",
    schema: { type: "string" },
    example:
      'Bearer scope="signals:read", resource_metadata="{baseUrl}/.well-known/oauth-protected-resource"',
  },
  Location: {
    description: "URL to continue at, or of the created resource.",
    schema: { type: "string", format: "uri-reference" },
    example: "/api/alerts/alert_0123456789abcdef",
  },
  Link: {
    description: 'The next page of a table, where there is one: `<url>; rel="next"` (RFC 8288).',
    schema: { type: "string" },
    example: '</api/instruments?format=csv&limit=50&cursor=aW5zdHJ1>; rel="next"',
  },
  ETag: {
    description:
      "Identifies this representation; sent in `If-None-Match`, it avoids a second transfer (304).",
    schema: { type: "string" },
    example: '"3q2-7wAB"',
  },
} as const;

/** Name of a documented response header. */
export type HeaderName = keyof typeof responseHeaders;

/** Names of the headers that report rate limits. */
export const LIMIT_HEADERS = ["RateLimit-Policy", "RateLimit"] as const;
