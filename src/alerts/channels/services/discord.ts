import { verdictByStatus } from "../../delivery/endpoint.ts";
import { plainText } from "../message.ts";
import { type ChatService, secondsIn } from "./service.ts";

/** The webhook was deleted (code 10015), or its token is wrong (50027). */
const GONE = [401, 404];

/** `SUPPRESS_EMBEDS`: links get no preview (Discord, "Message Flags"). */
const SUPPRESS_EMBEDS = 4;

/** Characters of Discord's Markdown. */
const MARKDOWN = /[\\*_~`|>#[\]()-]/g;

/** A line that is a URL, in which a backslash would be part of it. */
const URL_LINE = /^https?:\/\/\S+$/;

/** Discord by webhooks. */
export const discord: ChatService<"discord"> = {
  // `content` has at most 2,000 characters.
  maxBytes: 2_000,
  textOf: (message) =>
    plainText(message)
      .split("\n")
      .map((line) => (URL_LINE.test(line) ? line : line.replace(MARKDOWN, "\\$&")))
      .join("\n"),
  request: ({ url }, message) => ({
    url,
    headers: {},
    body: JSON.stringify({
      content: discord.textOf(message),
      allowed_mentions: { parse: [] },
      flags: SUPPRESS_EMBEDS,
    }),
  }),
  verdictOn: (response) => {
    const verdict = verdictByStatus(response, GONE);
    const retryAfterMs = secondsIn(response.body, ["retry_after"]) ?? verdict.retryAfterMs;
    return { ...verdict, retryAfterMs };
  },
};
