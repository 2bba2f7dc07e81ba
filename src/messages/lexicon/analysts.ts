import type { LexiconTopic } from "./entries.ts";

/** Lexicon entries on ratings, price targets and fund activity. */
export const analystTopic: LexiconTopic = [
  [3, `top_pick~ conviction_buy/list best_idea/ideas strong_buy never_been_more/this`],
  [2.5, `upgrade* overweight upped at_buy buy_rating`],
  [
    2,
    `favorite favourite room_to_run market_beater must_own/buy crazy_about warm*_up
    pile/piles/piled/piling_into bet/bets/betting_on take/takes/took_stake
    build/builds/built_stake raise/raises/raised_stake insider_buying buying_opportunity
    entry_point attractive/cheap/compelling_valuation sees_value/upside deep_value value_play
    hidden_gem likes defends a_buy`,
  ],
  [
    1.5,
    `recommend* interest_in outperformer~ favorable favourable tailwind~ catalyst~ compelling
    attractive bargain~ cheap cheaply underappreciated mispriced underrated sigh_of_relief`,
  ],
  [
    0,
    `buy/sell_or_sell/buy buy/sell_side rating/ratings_agency best_buy best_known best/worst_case
    at_best price_target~`,
  ],
  [
    -1,
    `equal/sector/market_weight market/sector/peer_perform equalweight marketperform to/at_neutral
    to_hold cautious_on fairly/fully_valued priced_in limited_upside capped wait_and_see crowded`,
  ],
  [
    -2,
    `downgrade* underweight to/at_sell target_cut/lowered/trimmed/reduced/slashed
    lose/loses/lost/losing_confidence sour/sours/soured/souring_on overvalued overpriced overhyped
    too_high/expensive expensive rich/stretched/lofty_valuation valuation_concerns frothy
    cash/cashes/cashed/cashing_out
    dump/dumps/sell/sells/sold/trim/trims/exit/exits/cut/cuts_stake/position/shares
    bail/bails/bailing_on insider_selling value_trap~ short_report/seller/sellers
    stock/stocks_to_avoid/sell junk_status credit_watch bet/bets/betting_against
    no_longer_attractive steer_clear stay/staying_away`,
  ],
];
