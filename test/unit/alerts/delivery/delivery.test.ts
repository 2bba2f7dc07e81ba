import { describe, expect, it } from "vitest";
import { alertGroup } from "../../../../src/alerts/alert.ts";
import {
  DELIVERIES_TOPIC,
  EVENTS_KEPT_MS,
  endpointGroup,
  endpointGroupIn,
  enqueueChallenge,
  enqueueDelivery,
  messageTime,
  newMessageId,
  queueGroup,
} from "../../../../src/alerts/delivery/delivery.ts";
import { hooked, OWNER } from "../../../support/webhook-alerts.ts";

const URL_OF_ALERT = "https://inbox.example/hook?key=1";

const alert = hooked({ url: URL_OF_ALERT });
const message = { eventId: "msg_1", type: "signal.shift", body: "{}" };

describe("the endpoint group of a delivery", () => {
  it("depends on URL and owner", () => {
    const group = endpointGroup(OWNER, URL_OF_ALERT);
    expect(endpointGroup(OWNER, "https://INBOX.example:443/hook?key=1")).toBe(group);
    expect(endpointGroup(OWNER, "https://inbox.example/another")).not.toBe(group);
    expect(endpointGroup({ ...OWNER, id: "agent-2" }, URL_OF_ALERT)).not.toBe(group);
    expect(endpointGroup({ ...OWNER, kind: "service" }, URL_OF_ALERT)).not.toBe(group);
    expect(endpointGroup(OWNER, "https://inbox.example:8443/hook")).not.toBe(group);
    expect(endpointGroup(OWNER, "http://inbox.example/hook")).not.toBe(group);
  });

  it("is found among the groups of a delivery", () => {
    const [placed] = enqueueDelivery(alert, message);
    if (placed?.kind !== "insert") throw new Error("Nothing is placed.");
    expect(endpointGroupIn(placed.placing.groups ?? [])).toBe(endpointGroup(OWNER, URL_OF_ALERT));
  });
});

describe("an enqueued message", () => {
  it("is due at once, is deleted with its alert, and expires with its event", () => {
    expect(enqueueDelivery(alert, message)).toEqual([
      {
        kind: "insert",
        collection: "deliveries",
        key: "msg_1",
        value: { alertId: alert.key, type: "signal.shift", body: "{}", attempts: 0 },
        placing: {
          groups: expect.arrayContaining([alertGroup(alert.key), queueGroup(alert.key)]),
          ttlMs: EVENTS_KEPT_MS,
          dueInMs: 0,
        },
      },
      { kind: "announce", topic: DELIVERIES_TOPIC, text: "" },
    ]);
  });

  it("exists only for a webhook, and a challenge only for a pending one", () => {
    const polled = { ...alert, value: { ...alert.value, way: { by: "poll" } as const } };
    expect(enqueueDelivery(polled, message)).toEqual([]);
    expect(enqueueChallenge(polled, 0)).toEqual([]);
    expect(enqueueChallenge(alert, 0)).toEqual([]);
  });

  it("has an id without a dot, which is the separator of the signed content", () => {
    expect(newMessageId(7)).toMatch(/^msg_[0-9a-f]{32}$/);
  });

  it("has an id that contains its time, unlike the random ids of earlier versions", () => {
    const id = newMessageId(Date.UTC(2026, 2, 3, 14, 30));
    expect(id).toMatch(/^msg_019cb41b16407[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
    expect(messageTime(id)).toBe(Date.UTC(2026, 2, 3, 14, 30));
    expect(messageTime("msg_a1c94e07d25b43f88e6f0b1d2c3e4f50")).toBeUndefined();
    expect(messageTime("msg_x")).toBeUndefined();
  });
});
