/**
 * Names that mean a coin wherever they stand: invented words only. Solana is a town and a surname,
 * Ripple, Stellar and Cosmos are words, ETH is a university. `null`: begins like the name of a
 * coin, but has no pair of its own here.
 */
const COIN_NAMES: Readonly<Record<string, string | null>> = {
  bitcoin: "BTC",
  btc: "BTC",
  "bitcoin cash": "BCH",
  "bitcoin gold": "BTG",
  "bitcoin sv": "BSV",
  "wrapped bitcoin": "WBTC",
  "bitcoin magazine": null,
  ethereum: "ETH",
  "ethereum classic": "ETC",
  "ethereum name service": "ENS",
  litecoin: "LTC",
  "litecoin cash": null,
  dogecoin: "DOGE",
  xrp: "XRP",
};

/** The longest first, so that Bitcoin Cash is not taken for bitcoin. */
const LONGEST_FIRST = Object.keys(COIN_NAMES).sort((one, other) => other.length - one.length);

/** Whole words, not parts of a handle or of an address: `@bitcoin`, `bitcoin.org`. */
const NAME = new RegExp(
  String.raw`(?<![\p{L}\p{N}_@./])(?:${LONGEST_FIRST.join("|")})(?!\.?[\p{L}\p{N}_])`,
  "giu",
);

/** Tickers of the coins that a text calls by name, in order and with repetitions. */
export function coinsNamedIn(text: string): readonly string[] {
  const names = text.match(NAME) ?? [];
  return names.flatMap((name) => COIN_NAMES[name.toLowerCase()] ?? []);
}

/** The name by which news about a coin is searched; `undefined` when it has no name of its own. */
export const coinName = (ticker: string): string | undefined =>
  LONGEST_FIRST.find((name) => COIN_NAMES[name] === ticker);
