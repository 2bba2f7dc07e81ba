import type { Topic } from "./entries.ts";

/** What companies do: products, deals, approvals, people, plants. */
export const companies: Topic = [
  [
    2.5,
    `fda_approval fda_approves fda_clearance fda_clears fda_oks fda_acceptance gets_approval
    wins_approval receives_approval granted_approval approval_granted breakthrough~
    breakthrough_therapy fast_track orphan_drug meets_endpoint met_endpoint primary_endpoint_met
    positive_data positive_results positive_trial positive_topline statistically_significant
    wins_contract awarded_contract contract_award lands_contract secures_contract contract_win
    takeover_bid takeover_offer buyout_offer buyout~ tender_offer bidding_war best_ever`,
  ],
  [
    2,
    `approve* approval~ greenlight* green_light ok_d okay* oks oked cleared_by clears_way clears_hurdle
    win wins won winning winner~ award* awarded acquire* acquisition~ takeover
    record_deal strategic_partnership teams_up team_up teaming_up joint_venture joins_forces
    breaks_ground wins_bid wins_order big_order large_order multi_year_contract new_contract
    new_contracts expands_into opens_new new_jobs create_jobs creates_jobs adds_jobs
    hiring_spree ramps_up ramp_up ramping_up ramps_production beef_up beefs_up step_up steps_up
    bolster* strengthen* streamline* ahead_of_schedule sells_out sold_out
    strong_debut trading_debut blockbuster_ipo market_share_gains gains_share gaining_share
    takes_share first_to_market patent_granted patent_win dominate* dominance leads_the_way
    industry_leading market_leading best_in_class world_leading game_changer
    game_changing joins_index added_to_index index_inclusion secures_funding
    secures_financing raises_funding oversubscribed_round well_received`,
  ],
  [
    1.5,
    `launch* unveil* partner* partnership~ collaborate* collaboration~ agreement~ deal_signed
    signs_deal sign_deal inks_deal strikes_deal clinch* secure* hire hires hired hiring
    innovate* innovation~ innovative next_generation state_of_the_art expands_partnership extends_contract
    renews_contract renew* relaunch* restart* resume* reopen* reopening reopens rebrand
    modernize* upgrade_cycle on_track milestone~ pioneering promising pipeline_progress
    enroll* adopts adoption commercialize* scale_up scales_up certified certification accredited
    patents patent license_agreement licensing_deal supply_deal supply_agreement discovery
    merger_approved spinoff_plan strategic_review activist_stake unlock_value unlock* savings
    bonus bonuses expands_capacity adds_capacity new_factory new_plant
    debuts revamp* deal_reached reaches_deal reach_deal near_deal nears_deal close_to_deal
    all_but_done positive_reception extension_of leading_position proven`,
  ],
  [
    1,
    `contract deal inks signs signed merge* merger accept* opportunity opportunities potential
    invest invests invested investing progress prepares_to_restart appoint* adds names_ceo promote*
    deliver* delivered ship* tests_positive_for_growth
    reveal* plans_to_open to_open opens introduces introduce expects_growth welcome* key_to
    ready_for agree* agrees_to supports backing backed`,
  ],
  [
    0,
    `deal_with dealing_with deals_with sign_of sign_in ready_to_sell no_deal_brexit
    contract_terms winning_bid sold_by sold_to shut_out opens_up_about launch_pad won_t
    release_date secures_order open_market open_interest partner_at positive_for_covid
    tested_positive tests_positive fine_print just_fine doing_fine fine_art trial_date free_trial
    execute_order called_for calls_for call_for calls_on calling_for name_calls`,
  ],
  [
    -1,
    `delay* postpone* defer deferred defers deferring push_back pushes_back pushed_back backlog_delay
    step_down steps_down stepping_down stepped_down depart* departure~ resign* resignation~
    retire_early leaves_company reassess* reshuffle reorganize* spin_out on_hold
    puts_on_hold put_on_hold setback~ snag~ hiccup~ bottleneck~ shortage~ understaffed backorder~
    supply_constraints turnover scale_back scales_back scaling_back scaled_back rethink
    outage~ glitch* bug~ overhaul mishap~ redesign* underinvest* poaches idle idled idling
    rejects_offer rejects_bid competitor_launch competition competitive_pressure clash* feud*`,
  ],
  [
    -1.5,
    `layoff~ lay_off lays_off laid_off laying_off job_cuts job_losses cutting_jobs cuts_jobs cut_jobs
    cuts_workforce slashes_jobs axe axes axed axing to_axe furlough* downsize* redundancies
    fire_staff fired ousted oust* ouster boardroom_clash ceo_quits cfo_quits ceo_resigns cfo_resigns
    quit* closure~ close_stores closes_stores closing_stores store_closures closing_all
    plant_closure factory_closure shut shuts shutter* shutting shut_down shuts_down shutdown~
    wind_down winds_down winding_down exit_market exits_market pulls_out pull_out pulled_out
    walks_away walk_away walked_away calls_off called_off call_off scrap* cancel* canceled canceling
    cancellation~ terminate* termination abandon* halt* suspend* suspension~ stop_production
    halts_production production_halt production_cut cuts_production cut_production
    reject rejects rejecting rejected_by spurn* rebuff* turned_down turns_down
    botch* flop* flub* blunder* misstep~ stumbling_block backlash boycott* outcry scrutiny
    faulty defect~ defective malfunction* flaw~ flawed unsafe contaminate* contamination
    data_breach hack hacked hackers cyberattack~ ransomware breach* leak leaks leaked
    strike_begins goes_on_strike walkout~ union_strike labor_dispute labour_dispute
    loses_contract lost_contract contract_loss loss_of_contract losing_share loses_share
    market_share_loss share_loss fails_trial trial_failure failed_trial side_effects
    safety_concerns safety_issue adverse_event adverse_events clinical_hold misses_endpoint
    missed_endpoint failed_endpoint lack_of_efficacy lack_of_effect complete_response_letter
    recall* grounded grounding explosion derail* mismanage* mismanagement fumble*
    unable_to hard_pressed in_jeopardy jeopardize* jeopardy hostile_takeover deal_collapses
    deal_falls_apart falls_through fell_through break_up breaks_up`,
  ],
];
