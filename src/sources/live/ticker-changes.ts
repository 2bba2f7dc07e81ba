/**
 * Well-known ticker changes in the S&P 500 by date, as the companies announced them; the list is
 * not complete. Tickers are reused: HCP later became HashiCorp's ticker, and GOOG now belongs to
 * another share class.
 */
const RENAMES: readonly {
  readonly from: string;
  readonly to: string;
  /** ISO date of the first session under the new ticker. */
  readonly on: string;
}[] = [
  { from: "GOOG", to: "GOOGL", on: "2014-04-03" },
  { from: "COH", to: "TPR", on: "2017-10-31" },
  { from: "PCLN", to: "BKNG", on: "2018-02-27" },
  { from: "KORS", to: "CPRI", on: "2019-01-02" },
  { from: "HRS", to: "LHX", on: "2019-07-01" },
  { from: "SYMC", to: "NLOK", on: "2019-11-05" },
  { from: "HCP", to: "PEAK", on: "2019-11-05" },
  { from: "CBS", to: "VIAC", on: "2019-12-05" },
  { from: "BBT", to: "TFC", on: "2019-12-09" },
  { from: "JEC", to: "J", on: "2019-12-10" },
  { from: "UTX", to: "RTX", on: "2020-04-03" },
  { from: "LB", to: "BBWI", on: "2021-08-03" },
  { from: "WLTW", to: "WTW", on: "2022-01-10" },
  { from: "VIAC", to: "PARA", on: "2022-02-17" },
  { from: "DISCA", to: "WBD", on: "2022-04-11" },
  { from: "FB", to: "META", on: "2022-06-09" },
  { from: "ANTM", to: "ELV", on: "2022-06-28" },
  { from: "NLOK", to: "GEN", on: "2022-11-08" },
  { from: "PKI", to: "RVTY", on: "2023-05-16" },
  { from: "FISV", to: "FI", on: "2023-06-07" },
  { from: "RE", to: "EG", on: "2023-07-10" },
  { from: "ABC", to: "COR", on: "2023-08-30" },
  { from: "CDAY", to: "DAY", on: "2024-02-01" },
  { from: "PEAK", to: "DOC", on: "2024-03-04" },
  { from: "FLT", to: "CPAY", on: "2024-03-25" },
  { from: "GPS", to: "GAP", on: "2024-08-22" },
  { from: "SQ", to: "XYZ", on: "2025-01-21" },
  { from: "PARA", to: "PSKY", on: "2025-08-07" },
  { from: "FI", to: "FISV", on: "2025-11-11" },
];

/**
 * The current ticker of the security that had a ticker on a given day.
 *
 * @param day ISO date in New York.
 * @returns The ticker itself if no change is known; `undefined` if the ticker belonged to another
 * security or to none, such as META before 2022-06-09.
 */
export function currentTicker(ticker: string, day: string): string | undefined {
  const next = RENAMES.find(({ from, to, on }) => on > day && (from === ticker || to === ticker));
  if (next === undefined) return ticker;
  return next.from === ticker ? currentTicker(next.to, next.on) : undefined;
}
