import { describe, expect, it } from "vitest";
import { alertGroup } from "../../../../src/alerts/alert.ts";
import {
  DELIVERIES_TOPIC,
  EVENT_RETENTION_MS,
  endpointGroup,
  enqueueChallenge,
  enqueueDelivery,
  findEndpointGroup,
  messageIdTimeMs,
  newMessageId,
  queuedDeliveriesGroup,
} from "../../../../src/alerts/delivery/delivery.ts";
import { stepsOf } from "../../../support/steps-of.ts";
import { OWNER, webhookAlert } from "../../../support/webhook-alerts.ts";

const URL_OF_ALERT = "https://inbox.example/hook?key=1";

const alert = webhookAlert({ url: URL_OF_ALERT });
const groupOf = (url: string, owner = OWNER) => {
  const { way } = webhookAlert({ url, owner }).value;
  return way.by === "webhook" && endpointGroup(owner, way);
};
const message = { eventId: "msg_1", type: "signal.shift", body: "{}" };

describe("the endpoint group of a delivery", () => {
  it("depends on the URL and the owner", () => {
    const group = groupOf(URL_OF_ALERT);
    expect(groupOf("https://INBOX.example:443/hook?key=1")).toBe(group);
    expect(groupOf("https://inbox.example/another")).not.toBe(group);
    expect(groupOf(URL_OF_ALERT, { ...OWNER, id: "agent-2" })).not.toBe(group);
    expect(groupOf(URL_OF_ALERT, { ...OWNER, kind: "service" })).not.toBe(group);
    expect(groupOf("https://inbox.example:8443/hook")).not.toBe(group);
    expect(groupOf("http://inbox.example/hook")).not.toBe(group);
  });

  it("can be found among the other groups of a queued delivery", () => {
    const [placed] = stepsOf(enqueueDelivery, alert, message);
    if (placed?.kind !== "insert") throw new Error("Nothing is placed.");
    expect(findEndpointGroup(placed.placing.groups ?? [])).toBe(groupOf(URL_OF_ALERT));
  });
});

describe("a message that is enqueued for delivery", () => {
  it("is due immediately, is deleted with its alert, and expires with its event", () => {
    expect(stepsOf(enqueueDelivery, alert, message)).toEqual([
      {
        kind: "insert",
        collection: "deliveries",
        key: "msg_1",
        value: { alertId: alert.key, type: "signal.shift", body: "{}", attempts: 0 },
        placing: {
          groups: expect.arrayContaining([alertGroup(alert.key), queuedDeliveriesGroup(alert.key)]),
          ttlMs: EVENT_RETENTION_MS,
          dueInMs: 0,
        },
      },
      { kind: "announce", topic: DELIVERIES_TOPIC, text: "" },
    ]);
  });

  it("does not exist for a polled alert; a challenge is enqueued only for a pending webhook", () => {
    const polled = { ...alert, value: { ...alert.value, way: { by: "poll" } as const } };
    expect(stepsOf(enqueueDelivery, polled, message)).toEqual([]);
    expect(stepsOf(enqueueChallenge, polled, 0)).toEqual([]);
    expect(stepsOf(enqueueChallenge, alert, 0)).toEqual([]);
  });

  it("has an id without a dot, because a dot separates the parts of the signed content", () => {
    expect(newMessageId(7)).toMatch(/^msg_[0-9a-f]{32}$/);
  });

  it("has an id that contains its creation time", () => {
    const id = newMessageId(Date.UTC(2026, 2, 3, 14, 30));
    expect(id).toMatch(/^msg_019cb41b16407[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
    expect(messageIdTimeMs(id)).toBe(Date.UTC(2026, 2, 3, 14, 30));
    expect(messageIdTimeMs("msg_x")).toBeUndefined();
  });
});
