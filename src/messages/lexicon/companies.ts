import type { LexiconTopic } from "./entries.ts";

/** Lexicon entries on company news: products, deals, approvals, personnel, plants. */
export const companyTopic: LexiconTopic = [
  [
    2.5,
    `breakthrough~ fda_approval/clearance/acceptance/approves/clears/oks fast_track orphan_drug
    meet/meets/met_endpoint/endpoints primary_endpoint_met positive_data/results/trial/topline
    statistically_significant takeover_bid/offer tender_offer buyout~ bidding_war best_ever`,
  ],
  [
    2,
    `approve* approval~ greenlight* green_light okay* cleared_by clear/clears/cleared_hurdle win*
    winner~ award* acquire* acquisition~ takeover joint_venture join/joins/joined_forces
    break/breaks/broke_ground big/large/new_order new_contract~ new_jobs
    create/creates/add/adds_jobs hiring_spree ramp*_up beef*_up step*_up bolster* strengthen*
    streamline* ahead_of_schedule sell/sells/sold_out take/takes/gain/gains_share first_to_market
    dominate* dominance lead/leads/leading_the_way industry/market/world_leading/leader
    game_changer/changing join/joins/joined_index well_received team*_up`,
  ],
  [
    1.5,
    `launch* unveil* partner partners partnered partnership~ collaborate* collaboration~ agreement~
    clinch* secure* strike/strikes/struck_deal hire* innovate* innovation~ innovative
    next_generation renew* relaunch* restart* resume* reopen* modernize* on_track milestone~
    promising enroll* adoption commercialize* certified certification accredited patent~ discovery
    unlock* savings new_factory/plant revamp* leading_position proven strategic_review
    activist_stake`,
  ],
  [
    1,
    `contract deal inks merge* merger opportunity opportunities potential invest* progress promote*
    deliver* ship* welcome* agree*`,
  ],
  [
    0,
    `deal/deals/dealing_with winning_bid tested/tests_positive call/calls/called/calling_for
    call/calls/called_on`,
  ],
  [
    -1,
    `delay* postpone* defer defers deferred deferring push*_back step/steps/stepped/stepping_down
    depart* departure~ resign* resignation~ reassess* reshuffle* reorganize* put/puts_on_hold
    on_hold setback~ snag~ hiccup~ bottleneck~ shortage~ backorder~ supply_constraints
    scale/scales/scaled/scaling_back rethink outage~ glitch* bug~ mishap~ redesign* idle
    competition clash* feud*`,
  ],
  [
    -1.5,
    `layoff~ lay/lays/laid/laying_off job_cuts/losses axe axes axed axing furlough* downsize*
    redundancies fired oust* ouster quit* closure~ closing/closes_all shut* shutter* shutdown~
    wind*_down exit/exits/exiting_market pull*_out walk*_away call*_off scrap* cancel* cancelled
    cancelling cancellation~ terminate* termination abandon* halt* suspend* suspension~
    stop_production rebuff* turn*_down botch* flop* blunder* misstep~ backlash boycott* outcry
    scrutiny faulty defect~ defective malfunction* flaw~ flawed unsafe contaminate* contamination
    hack hacked hackers cyberattack~ ransomware breach* leak* walkout~ loss_of_contract
    side_effects safety_issue~/concern~ adverse_event~ clinical_hold lack_of_efficacy/effect
    complete_response_letter recall* grounded grounding explosion derail* mismanage* mismanagement
    fumble* hard_pressed jeopardize* jeopardy hostile_takeover
    fall/falls/fell/falling_apart/through break*_up shake*_up unable_to`,
  ],
];
