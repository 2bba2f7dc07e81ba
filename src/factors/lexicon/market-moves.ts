import type { Topic } from "./entries.ts";

/** How prices move, and what charts show. */
export const marketMoves: Topic = [
  [
    3,
    `soar* skyrocket* rocket* parabolic moonshot~ all_time_high all_time_highs record_high
    record_highs record_close record_run fresh_record fresh_records record_territory
    new_record short_squeeze short_squeezes gamma_squeeze lifetime_high melt_up vertical_move
    goes_vertical going_vertical limit_up`,
  ],
  [
    2.5,
    `surge* rally* jump* spike* leap* leapt zoom* catapult* explode* rip* roar* breakout~
    breaking_out break_out breaks_out broke_out broken_out bull_market bull_run bullish
    golden_cross higher_high higher_highs higher_low higher_lows gap_up gaps_up gapping_up
    gapped_up uptrend~ upswing~ upward_trend uptick~ new_high new_highs month_high week_high
    year_high day_high session_high intraday_high multi_year_high new_peak fresh_high fresh_highs
    multibagger~ outperform* outpace* outshine* outrank* bear_trap bear_traps trends_higher
    trending_higher closes_higher opens_higher open_higher close_higher closed_higher edge_higher
    edges_higher ends_higher end_higher strongest_day best_day best_week best_month best_quarter
    biggest_gain takes_flight taking_flight take_flight higher_open ath relief_rally`,
  ],
  [
    2,
    `gain* gainer~ gainers advance* climb* rise rises rose risen rising rebound* recover*
    recovery recoveries bounce* bouncing_back lift* boost* buoy* propel* double* triple* quadruple*
    tripling swing_higher push_higher pushes_higher pushed_higher higher up up_big tick_up ticks_up
    ticked_up ticking_up move_up moves_up moving_up moved_up inch_up inches_up edge_up edges_up run_up
    runs_up pick_up picks_up picked_up shot_up shoot_up shoots_up heads_up heading_up
    upside upward upwards upturn bottomed bottoming bottom_is_in bottomed_out
    reversal turnaround~ comeback~ take_off takes_off took_off taking_off
    pop* perk* rip_higher bid_up highs tops top_gainer top_gainers
    winning_streak straight_gain straight_advance extends_gains extend_gains extends_rally
    extend_rally pares_losses pare_losses pared_losses paring_losses reverse_losses reverses_losses
    erase_losses erases_losses erased_losses recoups_losses back_above reclaim* retake* regain*
    retook breaks_above break_above broke_above breaking_above cross_above crosses_above
    above_resistance breaks_resistance broke_resistance holds_support held_support
    holding_support forming_support bounce_off cup_and_handle cup_base
    bull_flag bull_pennant ascending_triangle inverse_head double_bottom
    hammer_candle bullish_engulfing green_day green_days green_candle green_candles red_to_green
    turns_green going_green in_the_green oversold undervalued risk_on bright_spot
    premarket_gainer premarket_gainers in_the_money notable_gainers up_sharply`,
  ],
  [
    1.5,
    `upbeat momentum accumulation heavy_buying buying_pressure buying_interest
    inflow~ net_inflows demand_grows rotation_into ahead_of_the_pack firmer firmed firming
    in_favor perky resurgence resurgent rejuvenate* revive* revival outsized_gain new_leg_up
    leg_higher leg_up strong_support support_held relative_strength heavy_volume
    volume_surge volume_spike unusual_volume squeak_past`,
  ],
  [
    1,
    `steady* stabilize* stabilise* stable support_level supportive steadier consolidating
    bottom_fishing resilient resilience hammer buoyant moving_average_support adds_points green`,
  ],
  [
    0,
    `up_to up_for set_up sign_up wake_up what_up whats_up end_up ends_up ended_up line_up lines_up
    follow_up follow_ups start_up start_ups round_up made_up make_up look_up looks_up
    shows_up show_up showed_up come_up comes_up coming_up up_next higher_education gap_between
    trading_up_to spin_off down_the_road down_under sit_down drill_down count_down
    high_school highs_and_lows ups_and_downs up_or_down up_and_down drop_off_point slide_show slides
    presentation_slides slide_deck dip_into bounce_rate fall_back_on this_fall last_fall
    fall_semester long_term short_term near_term mid_term long_time long_way long_run
    short_run as_long_as so_long how_long no_rush short_interest in_short`,
  ],
  [
    -1,
    `volatile volatility choppy turbulent turbulence seesaw* sideways range_bound rangebound flat
    flatlined stall* pause* fizzle* lag* laggard~ lagging overbought resistance uncertain whipsaw*
    pullback~ pull_back pulls_back pulled_back pulling_back retreat* give_back gives_back gave_back
    profit_taking take_profits taking_profits consolidation treading_water going_nowhere underwater
    ease* moderates softer soften* softens choppiness dead_money no_volume low_volume`,
  ],
  [
    -2,
    `decline* fall falls fell fallen falling drop* dip* slide sliding slid slip* skid* sag* sink sinks
    sank sunk sinking stumble* tumble* slump* shed sheds shedding erode* erosion retreats
    retrench* down downside downtrend~ downturn~ downward downwards down_big
    tick_down ticks_down ticked_down edge_lower edges_lower edged_lower ends_lower end_lower
    opens_lower open_lower closes_lower close_lower closed_lower trends_lower trending_lower
    lower lower_low lower_lows lower_high lower_highs downdraft gap_down gaps_down gapping_down
    gapped_down loser~ premarket_losers top_losers lose loses losing lost underperform*
    breaks_down break_down broke_down breaking_down breakdown breaks_below break_below broke_below
    below_support breaks_support broke_support lost_support rejected rejection rolling_over
    rolls_over rolled_over roll_over bull_trap bull_traps dead_cat bear_flag
    bearish_engulfing double_top triple_top head_and_shoulders descending_triangle rising_wedge
    fade fades faded fading red_day red_days red_candle red_candles in_the_red
    green_to_red turns_red heavy_selling selling_pressure sell_pressure outflow~ selling_off
    sells_off sold_off selloff~ sell_off sell_offs wobble* wane* drift_lower drifts_lower
    swoon* slips_below falls_below fell_below drops_below below_parity giving_back evaporate*
    out_of_favor come_down comes_down came_down coming_down go_down goes_down went_down
    losing_streak snaps_streak pares_gains pare_gains trims_gains erases_gains erase_gains
    erased_gains limits_gains caps_gains retreats_from off_highs lost_ground loses_ground
    loses_steam losing_steam lost_steam down_sharply out_of_the_money lower_open month_low week_low
    year_low day_low session_low intraday_low multi_year_low new_low new_lows fresh_low fresh_lows
    all_time_low all_time_lows record_low record_lows worst_day worst_week worst_month worst_quarter
    worst_performer worst_performers biggest_drop biggest_loss toppy topping topped_out
    overextended over_extended red`,
  ],
  [
    -2.5,
    `plunge* plummet* crash* collapse* crater* nosedive* nose_dive tank* crumble* implode*
    meltdown~ freefall free_fall bloodbath~ blood_bath bleed* bled bearish bear_market
    death_cross rout~ routed carnage wiped wipe_out wipes_out wiping_out wiped_out wipeout~
    pummel* hammered hammering pound* clobber* batter* slaughter* obliterate* decimate* halve*
    smashed_down capitulation capitulate* rock_bottom falling_knife heads_south heading_south
    limit_down melt_down melting_down flash_crash tailspin trounced massacre~ gut* shellacked
    shellacking thrash* beating_down hard_landing take_a_dive takes_a_dive off_a_cliff down_round`,
  ],
];
