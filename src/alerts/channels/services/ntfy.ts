import { verdictOfHttpStatus } from "../../delivery/endpoint.ts";
import type { ChatService } from "./service.ts";

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
export const ntfy: ChatService<"ntfy"> = {
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
