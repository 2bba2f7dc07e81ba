import type { Topic } from "./entries.ts";

/** Ratings, price targets and what funds do. */
export const analysts: Topic = [
  [
    3,
    `strong_buy conviction_buy conviction_list target_raised target_hiked street_high top_pick
    top_picks best_idea best_ideas`,
  ],
  [
    2.5,
    `upgrade* overweight buy_rating outperform_rating to_buy at_buy to_outperform at_outperform
    to_overweight at_overweight raised_to raises_to target_boosted target_lifted target_increased
    pt_raised pt_raise upped never_been_more never_been_this`,
  ],
  [
    2,
    `bullish_on bull_case bullish_call bullish_view constructive_on sees_upside more_upside
    room_to_run undervalued_stock favorite_stock favorite_stocks favorite_pick favorite
    market_beater must_own must_buy crazy_about warming_up warms_up piling_into pile_into
    piled_into betting_on bets_on bet_on loading_up snapping_up snaps_up scoops_up scooping_up
    takes_stake raises_stake builds_stake increases_stake boosts_stake adds_to buys_more
    insider_buying insiders_buying insider_buys buying_opportunity entry_point attractive_entry
    attractive_valuation cheap_valuation compelling_valuation positive_comments pos_comments
    sees_value deep_value hidden_gem value_play compounder strong_hold buy_now stock_to_buy
    stocks_to_buy reasons_to_buy time_to_buy reason_to_buy worth_buying a_buy
    is_a_buy likes defends raised_at`,
  ],
  [
    1.5,
    `recommend* upbeat_on optimistic_on positive_on initiates_at_buy added_to_list adds_to_list
    like_the_stock interest_in market_leader breathe_easier sigh_of_relief outperformer~
    favorable favourable tailwind~ catalyst~ compelling attractive bargain~ cheap cheaply
    underappreciated mispriced underrated build_a_position`,
  ],
  [
    0,
    `buy_or_sell sell_or_buy buy_side sell_side hold_rating rating_agency ratings_agency
    best_buy should_you_buy is_it_a_buy still_a_buy market_perform_rating buy_rated sell_by
    best_known worst_case best_case best_selling at_best at_least target_date target_company
    price_target`,
  ],
  [
    -1,
    `equal_weight equalweight sector_weight market_perform marketperform sector_perform
    peer_perform market_weight to_neutral at_neutral to_hold to_market_perform hold_at
    cautious_on fairly_valued fully_valued priced_in limited_upside capped wait_and_see
    fair_value_estimate sector_performer crowded_trade crowded`,
  ],
  [
    -2,
    `downgrade* underweight underperform_rating sell_rating to_sell at_sell to_underperform
    at_underperform to_underweight at_underweight to_reduce reduce_rating cut_to cuts_to
    lowered_to target_cut target_lowered target_trimmed target_reduced target_slashed
    price_target_cut pt_cut pt_lowered loses_confidence lost_confidence losing_confidence
    loses_a_bull bearish_on bearish_call bearish_view bear_case sour_on sours_on soured_on
    souring_on lukewarm_on overvalued overpriced overhyped overbought_stock too_expensive too_high
    expensive rich_valuation stretched_valuation lofty_valuation frothy valuation_concerns
    dubious cashing_out cash_out cashes_out cashed_out dumping_shares dumps_stake sells_stake
    sold_stake trims_stake cuts_stake exits_stake exits_position disconnecting_from
    bailing_on bails_on insider_selling insiders_selling insider_sells negative_comments
    neg_comments value_trap value_traps short_report short_seller short_sellers short_call
    stocks_to_avoid stock_to_avoid stocks_to_sell reasons_to_sell time_to_sell reason_to_sell
    avoid_this negative_watch negative_outlook outlook_negative junk_status cut_to_junk
    credit_watch reels_in bets_against betting_against bet_against dim_view no_longer_attractive
    steer_clear stay_away get_out_now sell_now reins_in fast_enough`,
  ],
];
