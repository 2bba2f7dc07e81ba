import { expect, it } from "vitest";
import { assignProviders, ingestSetupOf, missingSettings } from "../../../src/ingest/setup.ts";
import type { AssetClass } from "../../../src/market/instrument.ts";
import type { Feed } from "../../../src/market/records.ts";
import type { PolledProvider, StreamedProvider } from "../../../src/sources/live/provider.ts";
import { instrument, namedInstrument } from "../../support/instruments.ts";

const [stock, fund, coin] = [
  instrument("AAA"),
  namedInstrument("FFF", "FFF", "etf"),
  instrument("C-USD"),
];
const ALL = [stock, fund, coin];

const base = (id: string, feeds: readonly Feed[], classes: readonly AssetClass[]) => ({
  ...{ id, feeds, classes, name: id.toUpperCase(), terms: "", isForOwnUse: true },
  ...{ origin: "https://example.org", needs: [] as readonly string[] },
});
const polled = (...of: Parameters<typeof base>): PolledProvider => ({
  ...{ ...base(...of), kind: "polled", budget: { requests: 3, perMs: 1_000 } },
  series: () => [],
});
const streamed = (...of: Parameters<typeof base>): StreamedProvider => ({
  ...{ ...base(...of), kind: "streamed", path: () => "/" },
  reader: () => () => undefined,
});

const table = (...of: Parameters<typeof assignProviders>) =>
  assignProviders(...of).map(({ provider, instruments, feeds }) => [
    provider.id,
    instruments.map(({ symbol }) => symbol).join(" "),
    [...feeds].join(" "),
  ]);

it("only the first provider of a feed for an asset class is polled, and a provider that supplies no feed is not polled", () => {
  const first = polled("first", ["bars"], ["crypto"]);
  const second = polled("second", ["bars", "onChain"], ["crypto"]);
  const third = polled("third", ["bars"], ["crypto"]);
  expect(table([first, second, third], ALL)).toEqual([
    ["first", "C-USD", "bars"],
    ["second", "C-USD", "onChain"],
  ]);
  expect(table([third, second], ALL)).toEqual([
    ["third", "C-USD", "bars"],
    ["second", "C-USD", "onChain"],
  ]);
});

it("stocks and coins can have different providers", () => {
  const coins = polled("coins", ["bars"], ["crypto"]);
  const listed = polled("listed", ["bars", "prints"], ["stock", "etf"]);
  expect(table([coins, listed], ALL)).toEqual([
    ["coins", "C-USD", "bars"],
    ["listed", "AAA FFF", "bars prints"],
  ]);
});

it("every provider of messages is polled", () => {
  const [one, other] = [
    polled("one", ["mentions", "bars"], ["stock", "crypto"]),
    streamed("other", ["mentions", "bars"], ["stock", "crypto"]),
  ];
  expect(table([one, other], ALL)).toEqual([
    ["one", "AAA C-USD", "mentions bars"],
    ["other", "AAA C-USD", "mentions"],
  ]);
});

it("no provider is used for asset classes without instruments", () => {
  expect(table([polled("coins", ["bars"], ["crypto"])], [stock, fund])).toEqual([]);
  expect(table([], ALL)).toEqual([]);
});

it("the setup summary lists the feeds of each provider, missing settings, and the number of instruments without prices", () => {
  const open = polled("open", ["bars"], ["crypto"]);
  const spare = polled("spare", ["bars"], ["crypto"]);
  const locked = { ...polled("locked", ["bars"], ["stock", "etf"]), needs: ["THE_KEY", "A_KEY"] };
  const stream = streamed("stream", ["mentions"], ["stock"]);
  const wanted = [open, spare, locked, stream];
  const refused = { ...locked, id: "refused", name: "REFUSED" };
  const settings = { A_KEY: "k" };
  const usable = wanted.filter((one) => missingSettings(one, settings).length === 0);
  const assigned = assignProviders(usable, ALL);
  const { instruments, unpriced, ...setup } = ingestSetupOf({
    ...{ instruments: ALL, providers: [...wanted, refused], wanted, assigned, settings },
  });
  expect([instruments, unpriced]).toEqual([3, 2]);
  const budget = { requests: 3, perMs: 1_000 };
  expect(setup.providers).toEqual([
    { id: "open", name: "OPEN", isForOwnUse: true, missing: [], feeds: ["bars"], budget },
    { id: "spare", name: "SPARE", isForOwnUse: true, missing: [], feeds: [], budget },
    { id: "locked", name: "LOCKED", isForOwnUse: true, missing: ["THE_KEY"], feeds: [], budget },
    {
      id: "stream",
      name: "STREAM",
      isForOwnUse: true,
      missing: [],
      feeds: ["mentions"],
      budget: null,
    },
    { id: "refused", name: "REFUSED", isForOwnUse: true, missing: [], feeds: [], budget },
  ]);
});
