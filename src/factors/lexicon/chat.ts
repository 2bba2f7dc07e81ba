import type { Topic } from "./entries.ts";

/** What traders write to each other, about stocks, options and coins. */
export const chat: Topic = [
  [
    3,
    `moon mooning mooned mooner to_the_moon lambo lambos tendies multi_bagger ten_bagger ath_soon
    squeeze* squeezing rocket_fuel rocketship rocket_ship send_it lfg lets_go lets_gooo
    face_ripping god_candle green_dildo god_candles lets_fly blast_off blastoff liftoff lift_off`,
  ],
  [
    2.5,
    `wagmi ripping printing money_printer printer_go squeeze_coming shorts_burn shorts_burning
    shorts_trapped bears_trapped shorts_squeezed buy_the_dip buying_the_dip bought_the_dip btd btfd
    buy_dips bull_trend load_the_boat back_up_the_truck backing_up_the_truck all_in easy_double
    going_higher go_higher going_up goes_up go_up much_higher way_higher bottom_in next_leg_up
    breakout_soon breakout_coming about_to_explode ready_to_run ready_to_rip ready_to_pop about_to_run
    about_to_pop going_to_run will_run will_fly gonna_fly gonna_run gonna_moon gonna_rip gonna_pop
    diamond_hands diamond_hand hodl hodling hodlers hodler stack_sats stacking_sats supply_shock
    alt_season altseason halving
    buy_every_dip buying_every_dip fly flying flew huge_run runner~ multi_bagger_potential undervalued_af
    to_da_moon moon_shot moon_soon`,
  ],
  [
    2,
    `bull bulls bullish_af bullrun long longs going_long went_long long_here long_and_strong
    call_options calls call_buying call_sweep call_sweeps call_flow bullish_flow bought_calls
    buying_calls bull_call_spread loaded_calls lotto_calls load loaded loading loading_up_here
    loaded_up accumulate* accumulating adding added_more add_more added adding_more
    buy_more bought_more averaging_down average_down average_up averaging_up got_in getting_in get_in back_in
    jumped_in jump_in in_at starter_position nibble* grabbed_some scooped scoop_up on_sale
    discount discounted fire_sale dip_buy dip_buyer dip_buyers dips_are_gifts gift hold_strong holding_strong
    strong_hands never_selling not_selling im_not_selling hold_tight hold_the_line still_holding
    holding_long swing_long long_hold gems gem sleeper undiscovered under_the_radar low_float
    shorts_covering short_covering cover_shorts shorts_cover shorts_beware bears_beware shorts_are_done
    bears_in_shambles rip_bears rip_shorts sorry_bears poor_bears squeeze_shorts short_trap
    bags_packed pamp gm_bulls whale_buying whales_buying whale_accumulation smart_money_buying
    institutional_buying dark_pool_buying buy_signal buy_alert buy_wall bid_support bullish_divergence
    bull_div golden_pocket path_to_profit float_locked locked_float no_resistance blue_sky
    blue_skies clear_skies huge_volume volume_coming loading_zone accumulation_zone
    hold_and_chill cheap_here cheapies cheapest paid_off pay_off pays_off cha_ching ka_ching cashing_in
    tendie gainz profits_locked money_maker cash_cow winner_chicken_dinner
    target_hit multi_year_breakout run_it_up running runs_hard runs_again ran_up
    next_tesla next_amazon next_leg gap_fill_up fill_the_gap_up`,
  ],
  [
    1.5,
    `buy buying bought buyer~ catch_the_bottom call_spread call_option entry good_entry great_entry
    reload reloading reloaded dca dcaing stake_more staking airdrop token_burn hopium_works
    hold_on hodlgang patience_wins soon setting_up setup loving_this
    lfgoo bagged big_money whales_loading under_valued gonna_be_huge huge massive
    going_to_be_huge big_things great_things good_things_coming sky_is_the_limit holy_grail
    believe_in btc_to_100k pump_it pump_incoming parabolic_soon squeezy beats_coming
    tomorrow_green green_tomorrow green_close green_open green_week strong_close strong_open`,
  ],
  [
    1,
    `hold holding holds held keep hodl_on holders hands_off target targets bid bids bullishness
    coming_soon watch_this get_ready buckle_up strap_in lol_bears lol_shorts gap_fill reversal_soon
    bounce_coming dip dips cover covering covered`,
  ],
  [
    0,
    `bulls_and_bears bears_and_bulls bull_or_bear buy_or_sell_now hold_your_horses call_me called_it
    long_story long_weekend long_day all_day_long how_much_longer long_or_short calls_or_puts
    puts_or_calls conference_calls phone_call phone_calls keep_an_eye keep_in_mind hold_up
    holdings bid_ask bought_out at_hand pump_price gas_pump moon_landing cover_story running_late
    put_it put_in put_up put_together put_into put_out put_that put_this puts_it puts_in dip_in short_squeeze_over`,
  ],
  [
    -1,
    `fomo fomoing pump pumped pumping pumps hopium copium cope coping chasing chase chased
    overheated extended too_late bag_holder_city sold trimmed trimming trim rug_risk
    paper_gains gambling_addicts casino manipulated_market choppy_mess hedged hedging hedge slow_bleed
    waiting_for_lower chop wash_trading wash_sale nothing_happening dead_volume exit
    exited exiting stopped_out stop_out`,
  ],
  [
    -2,
    `bear bears bearish_af bagholder~ bagholding bag_holder bag_holders bag_holding bags bag
    holding_bags holding_the_bag left_holding put_option puts put_options put_spread put_sweep put_sweeps
    bought_puts buying_puts loaded_puts bear_put_spread bearish_flow bearish_divergence bear_div
    short shorted shorting shorter going_short went_short short_here short_this shorts shorting_this
    shorting_here naked_short naked_shorting naked_shorts short_attack short_ladder
    sell sell_it sell_this sell_everything selling sells seller~ sell_the_news sell_the_rip sell_now_or
    sell_signal sell_wall sold_everything sold_my sold_all sold_out_of selling_everything
    dump dumped dumping dumps dumper dump_it dump_incoming dump_coming gonna_dump will_dump gonna_tank
    gonna_crash will_crash will_tank get_out got_out getting_out out_of_here gave_up give_up
    gives_up giving_up paper_hands paper_hand paperhands panic_sell panic_sold panic_sellers
    going_lower go_lower much_lower way_lower going_down going_to_drop will_drop more_downside
    more_pain more_red red_tomorrow red_close red_open red_week fade_this
    fud fudding shill~ shilling shills pumper~ pumpers pump_and_dump pump_n_dump pump_dump
    stop_loss stop_losses margin_call margin_calls margin_called iv_crush theta_burn
    expire_worthless expired_worthless expires_worthless otm_worthless theta_gang_wins
    dead_stock dead_coin shitcoin~ shitco ngmi sucker~ fools fool fooled trap trapped bull_trapped
    pig pigs toast cooked done_for screwed_longs knife_catch catching_knives falling_knives
    offering atm_offering diluting diluted dilute_again whale_selling whales_selling
    dev_sold unlock_dump death_candle red_dildo hype_train_over exit_scam_risk overhang
    puking puke barf dog_shit dogshit turd fleece fleeced baghold
    lost_everything lost_money losing_money lose_money cost_me lower_prices gap_fill_down
    fill_the_gap_down drill* drilling drill_team guh bubble bubbles reality_check`,
  ],
  [
    -2.5,
    `rekt wrecked rug rugged rug_pull rug_pulled rugpull rugpulls exit_scam exit_liquidity honeypot
    going_to_zero go_to_zero goes_to_zero to_zero bankrupt_soon zero_soon blow_up blew_up blows_up
    blown_up blowing_up blown_account blew_account liquidated_longs long_squeeze getting_killed got_killed
    getting_destroyed got_destroyed destroyed destroys destroying annihilated demolished
    dead_money_forever down_bad bloody blood_red sea_of_red blood_in_the_streets red_wedding
    crashing_hard crash_coming crash_incoming its_over game_over rip_longs rip_bulls rip_my
    worthless_stock scamcoin scam_coin depeg depegged depegs insolvent_exchange hack_exploit exploit exploited
    guillotine slaughterhouse`,
  ],
];
