import type { Topic } from "./entries.ts";

/** Courts, regulators, crime and distress. */
export const trouble: Topic = [
  [
    2,
    `acquit* exonerate* cleared_of vindicated dismissed_lawsuit lawsuit_dismissed case_dismissed
    case_dropped wins_lawsuit wins_case wins_appeal court_win prevail* legal_victory
    regulatory_approval antitrust_approval antitrust_clearance emerges_from_bankruptcy
    exits_bankruptcy exit_bankruptcy`,
  ],
  [1.5, `settle* settlement~ resolve* resolution bailout_approved rescue_deal reprieve~ compliant`],
  [1, `rescue* deregulate* deregulation regulatory_clarity compliance exempt* exemption~ waiver~`],
  [
    0,
    `fined_tuned fine_tune fine_tuning charge_station charging charging_station in_charge
    free_of_charge person_of_interest claims_to case_study class_of_its sentence_structure
    risk_free risk_adjusted risk_reward risk_management crime_drama court_side price_gap
    alert_level`,
  ],
  [
    -1,
    `risk~ risky concern~ concerned worry worries worried worrisome worrying caution* cautionary
    challenge challenges challenged challenging uncertainty uncertainties doubt* question_mark
    questions questionable unclear friction tension~ dispute* object_to objections oppose*
    opposition monitor oversight regulate* regulation~ toughen* tighter_rules crack_down crackdown
    antitrust monopoly under_fire under_scrutiny complaint~ complain* criticize* criticise* critical_of
    criticism admonish* rebuke* blame* blames defensive warnings_signs letter_of_protest
    tariff~ sanction* embargo export_ban trade_war blacklist* restrict* restriction~
    hurdle~ obstacle~ conflict~ conflict_of_interest`,
  ],
  [
    -1.5,
    `threat~ threaten* fear~ feared fearful crisis crises problem~ problematic trouble~ troubled
    troubling struggle* suffer* suffering harm* hurt hurts hurting damage* damaging pain painful
    bite bites bites_into stifle* hamper* hinder* thwart* curb* cripple* paralyze* sideline*
    strain* squeeze_margins pressure pressures under_pressure pressuring victim~
    virus_fears outbreak~ pandemic lockdown~ lock_down emergency wildfire~ disaster_area
    ban bans banned banning prohibit* bar_from barred revoke* revocation penalty penalties penalize*
    fined fined_for fines fine_for hefty_fine violate* violation~ noncompliance subpoena*
    probe* investigate* investigation~ inquiry inquiries raid* audit_finds lawsuit~ sue sues sued
    suing litigation class_action legal_action legal_trouble legal_woes injunction~ allege*
    allegation~ accuse* accusation~ complaint_filed liable liability_ruling guilty plead_guilty
    pleads_guilty convict* conviction_for jail* jailed prison arrest* charged_with charges_against
    faces_charges indict* indictment~ wrongdoing misconduct harassment discrimination
    conspiracy collusion price_fixing bribe* bribery corruption corrupt spoof* illegal illegally
    unlawful mislead misleading misled deceive* deceptive lie_to shareholder_alert investor_alert
    loses_lawsuit loses_appeal loses_case loses_license lost_license downfall woe~
    toxic poison* stress_test_failure delinquency delinquencies nonperforming bad_loans bad_debt
    problem_loans reject_application cash_strapped ailing embattled beleaguered
    sinking_ship red_flag red_flags alarm* alarming sound_the_alarm`,
  ],
  [
    -2.5,
    `fraud~ fraudulent fraudster~ scandal~ scam* scammers ponzi pyramid_scheme embezzle*
    embezzlement launder* money_laundering insider_trading racketeering sham theft steal_from
    bankrupt bankruptcy bankruptcies chapter_11 files_for_bankruptcy file_for_bankruptcy
    insolvent insolvency receivership liquidate* liquidation~ foreclose* foreclosure~
    default* debt_default defaults delist* delisting delisted_from trading_halted sec_probe
    sec_charges sec_investigation doj_probe force_majeure catastrophe catastrophic disaster~ disastrous
    doom* doomed death_knell death_spiral dying dead killed fatal fatality deadly crisis_deepens
    ruin* devastate* devastating cook_the_books cooked_books cooking_the_books
    house_of_cards worthless wiped_out_shareholders toxic_financing end_of_the_line`,
  ],
];
