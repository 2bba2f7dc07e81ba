/**
 * Names that mean a coin wherever they occur: invented words only. Names with other meanings are
 * left out: Solana is also a town and a surname, Ripple, Stellar and Cosmos are words, ETH is a
 * university. `null` marks a longer name that begins with the name of a coin but means something
 * that has no trading pair here.
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

/** Names sorted by length, longest first, so that Bitcoin Cash is not read as bitcoin. */
const LONGEST_FIRST = Object.keys(COIN_NAMES).sort((one, other) => other.length - one.length);

/**
 * Matches whole words, not parts of a handle or of an address, as in `@bitcoin` and `bitcoin.org`.
 */
const NAME = new RegExp(
  String.raw`(?<![\p{L}\p{N}_@./])(?:${LONGEST_FIRST.join("|")})(?!\.?[\p{L}\p{N}_])`,
  "giu",
);

/** Tickers of the coins that a text mentions by name, in order and with repetitions. */
export function coinsNamedIn(text: string): readonly string[] {
  const names = text.match(NAME) ?? [];
  return names.flatMap((name) => COIN_NAMES[name.toLowerCase()] ?? []);
}

/**
 * The name used to search for news about a coin; `undefined` if the coin has no unambiguous name.
 */
export const coinName = (ticker: string): string | undefined =>
  LONGEST_FIRST.find((name) => COIN_NAMES[name] === ticker);

/** Ticker of the coin with a name, in lower case; `undefined` if the name is no coin's alone. */
export const coinNamed = (name: string): string | undefined =>
  (Object.hasOwn(COIN_NAMES, name) && COIN_NAMES[name]) || undefined;
