import { expect, it } from "vitest";
import { announce, consume, put } from "../../../src/store/port/operations.ts";
import { collection, type Records } from "../../../src/store/port/records.ts";
import { describeStores, engines, openStore, PATIENT } from "../../support/stores.ts";

const pages = collection<number>("pages");

/** Collects every text announced on a topic. */
function listen(records: Records, topic: string) {
  const heard: string[] = [];
  const waiting: (() => void)[] = [];
  const stop = records.onAnnounce(topic, (text) => {
    heard.push(text);
    for (const look of waiting) look();
  });
  /** Resolves once a text has been announced. */
  const until = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => heard.includes(text) && resolve();
      waiting.push(look);
      look();
    });
  return { heard, stop, until };
}

describeStores("announcements", (engine) => {
  it("reach every listener of their topic and no other listener", async () => {
    const { records } = await openStore(engine);
    const [one, two, other] = [listen(records, "a"), listen(records, "a"), listen(records, "b")];
    await records.commit([announce("a", "for a"), announce("b", "for b"), announce("c", "for c")]);
    await Promise.all([one.until("for a"), two.until("for a"), other.until("for b")]);
    expect([one.heard, two.heard, other.heard]).toEqual([["for a"], ["for a"], ["for b"]]);
  });

  it("do not reach a listener that has unsubscribed", async () => {
    const { records } = await openStore(engine);
    const [one, two] = [listen(records, "a"), listen(records, "a")];
    await records.commit([announce("a", "first")]);
    await Promise.all([one.until("first"), two.until("first")]);
    one.stop();
    one.stop();
    await records.commit([announce("a", "second")]);
    await two.until("second");
    expect(one.heard).toEqual(["first"]);
    expect(two.heard).toEqual(["first", "second"]);
  });

  it("are not sent for a commit that is rejected", async () => {
    const { records } = await openStore(engine);
    const { heard, until } = listen(records, "a");
    const failing = [announce("a", "first"), consume(pages, "none"), announce("a", "second")];
    expect(await records.commit(failing)).toBe(false);
    expect(await records.commit([...failing].reverse())).toBe(false);
    const refused = [announce("a", "third"), put(pages, { key: "\0", value: 1 })];
    await expect((async () => records.commit(refused))()).rejects.toThrow(RangeError);
    expect(await records.commit([announce("a", "last")])).toBe(true);
    await until("last");
    expect(heard).toEqual(["last"]);
  });

  it("arrive only after the announced data can be read", async () => {
    const { records } = await openStore(engine);
    const read = new Promise((resolve) => {
      records.onAnnounce("a", (key) => resolve(records.get(pages, key)));
    });
    await records.commit([announce("a", "k"), put(pages, { key: "k", value: 1 })]);
    expect(await read).toMatchObject({ key: "k", value: 1 });
  });

  it("all arrive, in the order of the commits", async () => {
    const { records } = await openStore(engine);
    const { heard, until } = listen(records, "a");
    const texts = Array.from({ length: 100 }, (_, at) => `text ${at}`);
    for (const text of texts) await records.commit([announce("a", text)]);
    await until("text 99");
    expect(heard).toEqual(texts);
  });

  it("reach the other listeners when one listener fails", async () => {
    const { records } = await openStore(engine);
    let failures = 0;
    records.onAnnounce("a", () => {
      failures++;
      throw new Error("This listener always fails.");
    });
    const { heard, until } = listen(records, "a");
    expect(await records.commit([announce("a", "first"), announce("a", "second")])).toBe(true);
    await until("second");
    expect(heard).toEqual(["first", "second"]);
    expect(failures).toBe(2);
  });

  it.each([
    ["an empty text", ""],
    ["quotes and other scripts", `'; NOTIFY x; -- "ключ" 😀 \\ \n {"a":1}`],
    ["2,000 characters", "x".repeat(2000)],
  ])("carry any text unchanged: %s", async (_, text) => {
    const { records } = await openStore(engine);
    const { heard, until } = listen(records, "a");
    await records.commit([announce("a", text)]);
    await until(text);
    expect(heard).toEqual([text]);
  });

  it.each(["__proto__", "constructor", 'A b.c:d/"e"\'f', "t".repeat(200)])(
    "keep topics with similar names separate: %s",
    async (topic) => {
      const { records } = await openStore(engine);
      const other = listen(records, `${topic}!`);
      const { heard, until } = listen(records, topic);
      await records.commit([announce(`${topic}!`, "other"), announce(topic, "this")]);
      await Promise.all([until("this"), other.until("other")]);
      expect([heard, other.heard]).toEqual([["this"], ["other"]]);
    },
  );
});

for (const engine of engines.filter(({ isShared }) => isShared)) {
  it.skipIf(engine.isMissing)(
    `announcements reach every process (${engine.name})`,
    { ...PATIENT, tags: [...engine.tags] },
    async () => {
      const opened = await openStore(engine);
      const [one, two] = [opened.records, (await opened.openBeside()).records];
      const [atOne, atTwo] = [listen(one, "a"), listen(two, "a")];
      const read = new Promise((resolve) => {
        two.onAnnounce("b", (key) => resolve(two.get(pages, key)));
      });
      await one.commit([announce("a", "from one")]);
      await two.commit([announce("a", "from two"), consume(pages, "none")]);
      await one.commit([put(pages, { key: "k", value: 1 }), announce("b", "k")]);
      await two.commit([announce("a", "last")]);
      await Promise.all([atOne.until("last"), atTwo.until("last")]);
      expect([atOne.heard, atTwo.heard]).toEqual([
        ["from one", "last"],
        ["from one", "last"],
      ]);
      expect(await read).toMatchObject({ value: 1 });
    },
  );
}
