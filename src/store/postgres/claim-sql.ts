import { lockKeySql } from "./locks.ts";

/**
 * SQL expression for the lane of a record. Records with the same groups share a lane, which the
 * index identifies by a 64-bit hash.
 */
const LANE = "hash_array_extended(groups, 0)";

const ALIVE = "(expires_at is null or expires_at > now)";

/** SQL query for the first record, in order of lane, that has a due time and meets a condition. */
const firstWhere = (condition: string): string => `
  select ${LANE} as hash, groups, due_at, revision from market_signal.record
  where collection = source and due_at is not null and ${ALIVE} and ${condition}
  order by ${LANE}, due_at, revision limit 1`;

/**
 * SQL query for the keys of due records in lanes that have no group among the keys of the object
 * `passed_over`. The query follows the index from lane to lane, and takes due records from the
 * lanes whose first record is due earliest. It takes records from at most as many lanes as records
 * are requested, because each of these lanes has at least one due record. The cost depends on the
 * number of lanes, not on the number of skipped records.
 */
const DUE_APART = `
  with recursive lane as (
    (${firstWhere("true")})
    union all
    select next.* from lane cross join lateral (${firstWhere(`${LANE} > lane.hash`)}) as next
  ), soonest as (
    select hash from lane where due_at <= now and not passed_over ?| groups
    order by due_at, revision limit most
  )
  select wanted.key from soonest cross join lateral (
    select key, due_at, revision from market_signal.record
    where collection = source and ${LANE} = soonest.hash and due_at <= now and ${ALIVE}
    order by due_at, revision limit most) as wanted
  order by wanted.due_at, wanted.revision limit most`;

/**
 * SQL that creates the function `market_signal.claim`, which claims due records except those in the
 * groups `passed`. Processes of schema version 2 call it without `passed`, which is empty by
 * default.
 */
export const claimFunctionSql = `
create index record_lanes on market_signal.record
  (collection, ${LANE}, due_at, revision) where due_at is not null;

create function market_signal.claim(
  source text, most int, lease bigint, given bigint, passed text[]
)
returns setof market_signal.record language plpgsql as $$
declare
  now bigint;
  passed_over jsonb := jsonb_object(passed, passed);
  keys text[];
  due market_signal.record;
begin
  perform market_signal.durably();
  perform pg_advisory_xact_lock(${lockKeySql("records")});
  now := market_signal.instant(given, clock_timestamp());
  if passed = '{}' then
    keys := array(
      select key from market_signal.record
      where collection = source and due_at <= now and ${ALIVE}
      order by due_at, revision limit most);
  else
    keys := array(${DUE_APART});
  end if;
  for due in
    select * from market_signal.record
    where collection = source and key = any (keys)
    order by due_at, revision for update skip locked
  loop
    update market_signal.record
    set due_at = now + lease, revision = nextval('market_signal.revision')
    where collection = due.collection and key = due.key
    returning * into due;
    return next due;
  end loop;
end $$;
`;
