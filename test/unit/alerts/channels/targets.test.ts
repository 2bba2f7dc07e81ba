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

const BOT = "123456:AAF-simulated-token-of-a-bot_0123456789";

it.each([
  ["slack", "https://hooks.slack.com/services/T0/B0/x"],
  ["slack", "https://hooks.slack-gov.com/services/T0/B0/x"],
  ["discord", "https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnop"],
  ["discord", "https://canary.discord.com/api/v10/webhooks/123456789012345678/abcdefghijklmnop"],
  ["telegram", "-1001234567890"],
  ["telegram", "@channel_name"],
  ["ntfy", "https://ntfy.sh/topic"],
] as const)("of the kind %s, %s is a target", (kind, to) => {
  const token = kind === "telegram" ? BOT : "";
  expect(parseChannelTarget({ kind, to, token }, {})).toMatchObject({ kind });
});

it.each([
  ["slack", "https://evil.example/services/T0/B0/x"],
  ["slack", "https://hooks.slack.com.evil.example/services/T0/B0/x"],
  ["slack", "https://hooks.slack.com:8443/services/T0/B0/x"],
  ["slack", "https://user@hooks.slack.com/services/T0/B0/x"],
  ["slack", "https://hooks.slack.com/services/T0/B0/x?y=1"],
  ["slack", "https://hooks.slack.com/api/chat.postMessage"],
  ["discord", "https://discord.com/api/v10/users/@me"],
  ["discord", "http://discord.com/api/webhooks/123456789012345678/abcdefghijklmnop"],
  ["discord", "https://127.0.0.1/api/webhooks/123456789012345678/abcdefghijklmnop"],
  ["ntfy", "http://127.0.0.1:8080/topic"],
  ["ntfy", "https://169.254.169.254/latest"],
  ["ntfy", "https://ntfy.sh/"],
  ["ntfy", "https://ntfy.sh/admin/alerts"],
  ["ntfy", "https://ntfy.sh/one,two"],
  ["ntfy", "https://ntfy.sh/topic?up=1"],
  ["telegram", "../sendMessage"],
  ["email", "ann@mail.example, bob@mail.example"],
] as const)("of the kind %s, %s is no target", (kind, to) => {
  const token = kind === "telegram" ? BOT : "";
  expect(parseChannelTarget({ kind, to, token }, {})).toMatchObject({ field: "to" });
});
