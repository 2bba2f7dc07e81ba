import { expect, it } from "vitest";
import { channelTargetKey } from "../../../../src/alerts/channels/targets.ts";

it.each(["https://ntfy.sh./topic", "https://ntfy.sh../topic"])(
  "a topic that an earlier version stored as %s has the key of its topic",
  (url) => {
    const key = channelTargetKey({ kind: "ntfy", url: "https://ntfy.sh/topic" });
    expect(channelTargetKey({ kind: "ntfy", url })).toBe(key);
  },
);
