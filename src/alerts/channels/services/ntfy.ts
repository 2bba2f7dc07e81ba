import { countedHost, type UrlPolicy, urlFault } from "../../../outbound/url-policy.ts";
import { verdictOfHttpStatus } from "../../delivery/endpoint.ts";
import type { ChatService, EnteredTarget, TargetFault } from "./service.ts";

/** A topic of an ntfy server. */
interface NtfyTarget {
  readonly kind: "ntfy";
  /** URL of the topic. */
  readonly url: string;
  /** Access token; absent if the topic needs none. */
  readonly token?: string;
}

/**
 * Path of a topic, whose name has up to 64 characters. An ntfy server has no topics at other paths.
 */
const PATH = /^\/[\w-]{1,64}$/;

const TOKEN = /^[!-~]{1,200}$/;

function parse({ to, token }: EnteredTarget, policy: UrlPolicy): NtfyTarget | TargetFault {
  const fault = urlFault(to, policy);
  if (fault !== undefined) return { field: "to", fault };
  const { pathname, search } = new URL(to);
  if (search !== "" || !PATH.test(pathname)) {
    return { field: "to", fault: "It does not end with the name of a topic." };
  }
  const url = topicUrl(to);
  if (token === "") return { kind: "ntfy", url };
  if (TOKEN.test(token)) return { kind: "ntfy", url, token };
  return { field: "token", fault: "It is no access token." };
}

/** The URL of a topic with its host in one spelling. */
function topicUrl(text: string): string {
  const url = new URL(text);
  url.hostname = countedHost(text);
  return url.href;
}

/**
 * Splits the URL of an ntfy topic into the topic name and the server URL, to which JSON is
 * published.
 */
function topicOf(url: string): { readonly server: string; readonly topic: string } {
  const { origin, pathname } = new URL(url);
  const end = pathname.lastIndexOf("/");
  return { server: origin + pathname.slice(0, end + 1), topic: pathname.slice(end + 1) };
}

/**
 * Publishes messages to ntfy as JSON, which needs no escaping, unlike ntfy's HTTP headers. A topic
 * is never reported as gone, because publishing to a topic creates it.
 */
export const ntfy: ChatService<NtfyTarget> = {
  name: "ntfy",
  form: {
    about:
      "The URL of a topic at ntfy.sh or on your own server. Whoever knows it can read it, so choose a name that nobody guesses.",
    to: { label: "Topic URL", type: "url", example: "https://ntfy.sh/…" },
    token: "Access token, if the topic needs one",
  },
  parse,
  hint: ({ url }) => new URL(url).host,
  // Earlier versions stored the URL as it was typed.
  identity: ({ url }) => topicUrl(url),
  chosenUrl: ({ url }) => url,
  // ntfy turns a longer message into an attachment.
  maxBytes: 4_096,
  textOf: ({ title, lines }) => [title, ...lines].join("\n"),
  request: ({ url, token }, { title, lines, link }) => {
    const { server, topic } = topicOf(url);
    return {
      url: server,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      body: JSON.stringify({ topic, title, message: lines.join("\n"), click: link }),
    };
  },
  verdictOn: (response) => verdictOfHttpStatus(response, []),
};
