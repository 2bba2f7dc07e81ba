/**
 * Default stocks: large, liquid, and few enough for every free plan. Each has symbol, name,
 * exchange and sector.
 */
export const DEFAULT_STOCKS = [
  ["AAPL", "Apple Inc.", "NASDAQ", "Information Technology"],
  ["MSFT", "Microsoft Corporation", "NASDAQ", "Information Technology"],
  ["NVDA", "NVIDIA Corporation", "NASDAQ", "Information Technology"],
  ["AMD", "Advanced Micro Devices, Inc.", "NASDAQ", "Information Technology"],
  ["GOOGL", "Alphabet Inc.", "NASDAQ", "Communication Services"],
  ["META", "Meta Platforms, Inc.", "NASDAQ", "Communication Services"],
  ["NFLX", "Netflix, Inc.", "NASDAQ", "Communication Services"],
  ["DIS", "The Walt Disney Company", "NYSE", "Communication Services"],
  ["AMZN", "Amazon.com, Inc.", "NASDAQ", "Consumer Discretionary"],
  ["TSLA", "Tesla, Inc.", "NASDAQ", "Consumer Discretionary"],
  ["HD", "The Home Depot, Inc.", "NYSE", "Consumer Discretionary"],
  ["KO", "The Coca-Cola Company", "NYSE", "Consumer Staples"],
  ["WMT", "Walmart Inc.", "NYSE", "Consumer Staples"],
  ["JPM", "JPMorgan Chase & Co.", "NYSE", "Financials"],
  ["BAC", "Bank of America Corporation", "NYSE", "Financials"],
  ["BRK-B", "Berkshire Hathaway Inc. Class B", "NYSE", "Financials"],
  ["V", "Visa Inc.", "NYSE", "Financials"],
  ["JNJ", "Johnson & Johnson", "NYSE", "Health Care"],
  ["UNH", "UnitedHealth Group Incorporated", "NYSE", "Health Care"],
  ["PFE", "Pfizer Inc.", "NYSE", "Health Care"],
  ["XOM", "Exxon Mobil Corporation", "NYSE", "Energy"],
  ["CVX", "Chevron Corporation", "NYSE", "Energy"],
  ["CAT", "Caterpillar Inc.", "NYSE", "Industrials"],
  ["BA", "The Boeing Company", "NYSE", "Industrials"],
] as const;

/** Default funds with symbol, name and exchange. */
export const DEFAULT_FUNDS = [
  ["SPY", "SPDR S&P 500 ETF Trust", "NYSE Arca"],
  ["QQQ", "Invesco QQQ Trust", "NASDAQ"],
  ["IWM", "iShares Russell 2000 ETF", "NYSE Arca"],
] as const;

/** Default coins with symbol and name. */
export const DEFAULT_COINS = [
  ["BTC-USD", "Bitcoin"],
  ["ETH-USD", "Ethereum"],
  ["SOL-USD", "Solana"],
  ["XRP-USD", "XRP"],
  ["ADA-USD", "Cardano"],
  ["DOGE-USD", "Dogecoin"],
  ["LTC-USD", "Litecoin"],
  ["LINK-USD", "Chainlink"],
  ["AVAX-USD", "Avalanche"],
  ["DOT-USD", "Polkadot"],
  ["BCH-USD", "Bitcoin Cash"],
  ["XLM-USD", "Stellar"],
] as const;
