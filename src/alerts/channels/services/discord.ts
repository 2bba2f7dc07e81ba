import { verdictOfHttpStatus } from "../../delivery/endpoint.ts";
import { messagePlainText } from "../message.ts";
import { type ChatService, readJsonSecondsAsMs } from "./service.ts";

/**
 * HTTP statuses after which the webhook is treated as gone: it was deleted (Discord error code
 * 10015), or its token is wrong (50027).
 */
const GONE = [401, 404];

/** Message flag `SUPPRESS_EMBEDS`, which turns off link previews (Discord, "Message Flags"). */
const SUPPRESS_EMBEDS = 4;

/** Characters that have a meaning in Discord's Markdown. */
const MARKDOWN = /[\\*_~`|>#[\]()-]/g;

/**
 * A line that is a URL. It is not escaped, because an added backslash would become part of the URL.
 */
const URL_LINE = /^https?:\/\/\S+$/;

/** Sends messages to Discord through webhooks. */
export const discord: ChatService<"discord"> = {
  // Discord limits `content` to 2,000 characters.
  maxBytes: 2_000,
  textOf: (message) =>
    messagePlainText(message)
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
    const verdict = verdictOfHttpStatus(response, GONE);
    const retryAfterMs =
      readJsonSecondsAsMs(response.body, ["retry_after"]) ?? verdict.retryAfterMs;
    return { ...verdict, retryAfterMs };
  },
};
