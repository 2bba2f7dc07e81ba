/**
 * SQL that creates the table of the members of groups: for each group and collection, the revisions
 * of the records in it, with the instants from which these are treated as absent. A list of a group
 * reads as many rows as it returns, and so does its check, however large the group is in this and
 * in other collections.
 */
export const memberTableSql = `
create table market_signal.member (
  name text collate "C" not null,
  collection text collate "C" not null,
  revision bigint not null,
  expires_at bigint,
  primary key (name, collection, revision) include (expires_at)
);
`;

/**
 * SQL that creates the triggers by which the table follows the records, whatever writes them. Every
 * change of a record gives it another revision. Deletions are followed in one step, because the
 * records of a large group are deleted together.
 */
export const memberTriggersSql = `
create function market_signal.write_members() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.groups = old.groups then
    update market_signal.member set revision = new.revision, expires_at = new.expires_at
    where name = any (old.groups) and collection = old.collection and revision = old.revision;
    return null;
  end if;
  if tg_op = 'UPDATE' then
    delete from market_signal.member
    where name = any (old.groups) and collection = old.collection and revision = old.revision;
  end if;
  insert into market_signal.member (name, collection, revision, expires_at)
  select distinct name, new.collection, new.revision, new.expires_at
  from unnest(new.groups) as name;
  return null;
end $$;
create trigger record_inserted after insert on market_signal.record
  for each row when (new.groups <> '{}') execute function market_signal.write_members();
create trigger record_updated after update on market_signal.record
  for each row when (old.groups <> '{}' or new.groups <> '{}')
  execute function market_signal.write_members();

create function market_signal.delete_members() returns trigger language plpgsql as $$
begin
  delete from market_signal.member using deleted cross join unnest(deleted.groups) as left_group
  where name = left_group and member.collection = deleted.collection
    and member.revision = deleted.revision;
  return null;
end $$;
create trigger record_deleted after delete on market_signal.record
  referencing old table as deleted
  for each statement execute function market_signal.delete_members();
`;
