import { expect, it, onTestFinished } from "vitest";
import { CHAT_KINDS } from "../../../../src/alerts/channels/services/chat-services.ts";
import {
  channelTargetKey,
  chosenUrl,
  parseChannelTarget,
} from "../../../../src/alerts/channels/targets.ts";
import { countedHost } from "../../../../src/outbound/url-policy.ts";
import { startChat } from "../../../support/chat-server.ts";

it.each(["https://ntfy.sh./topic", "https://ntfy.sh../topic"])(
  "a topic that an earlier version stored as %s has the key of its topic",
  (url) => {
    const key = channelTargetKey({ kind: "ntfy", url: "https://ntfy.sh/topic" });
    expect(channelTargetKey({ kind: "ntfy", url })).toBe(key);
  },
);

it("a mailbox has one key, whatever follows a + in its name", () => {
  const keyOf = (to: string) => channelTargetKey({ kind: "email", to });
  expect(keyOf("ann+work@mail.example")).toBe(keyOf("ann@mail.example"));
  expect(keyOf("bob@mail.example")).not.toBe(keyOf("ann@mail.example"));
});

it("a host that the person chose is refused, or counts, in each kind of chat", async () => {
  const host = "chosen.example.com";
  const counted: (string | undefined)[] = [];
  for (const kind of CHAT_KINDS) {
    const { typed, origin, close } = await startChat(kind);
    onTestFinished(close);
    const to = typed.to.replace(origin, `https://${host}`);
    const target = parseChannelTarget({ ...typed, to }, {});
    if (!to.includes(host) || "fault" in target) continue;
    const url = chosenUrl(target);
    counted.push(url && countedHost(url));
  }
  expect(counted).not.toEqual([]);
  expect(new Set(counted)).toEqual(new Set([host]));
});
