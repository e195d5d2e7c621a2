## the clock
SELECT T+0s

## register a source
INSERT INTO coordination_sources (source_identifier, facts, updated_at)
  VALUES ('flights|PARTITION', '{"output_root": "file:///out"}', T+0s)
  ON CONFLICT (source_identifier) DO UPDATE
  SET facts = excluded.facts, updated_at = excluded.updated_at

## create partitions
BEGIN IMMEDIATE
UPDATE coordination_meta
  SET pages = pages + 1
  RETURNING pages
WITH given AS MATERIALIZED (SELECT key AS place, json_extract(value, '$[0]') AS key, json_extract(value, '$[1]') AS payload, json_extract(value, '$[2]') AS priority, json_extract(value, '$[3]') AS parents, json_extract(value, '$[4]') AS waits_for
  FROM json_each('[["day-12", null, 0, null, null], ["day-13", null, 0, null, null]]')) INSERT INTO coordination_partitions (source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, closed_count, failures, lost_leases, available_at, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, ready, position)
  SELECT 'flights|PARTITION', given.key, 'UNASSIGNED', given.payload, given.priority, 2097152 + given.place, 2, 0, 0, 0, T+0s, T+0s, T+0s, 0, '', 'op0002', 'op0002', 'op0002', 0, 0, 3, 2097152 + given.place
  FROM given
  WHERE true
  ORDER BY given.place
  ON CONFLICT (source_identifier, source_partition_key) DO UPDATE
  SET source_partition_status = 'UNASSIGNED', rank = 2, closed_count = 0, failures = 0, lost_leases = 0, partition_progress_state = NULL, last_error = NULL, reopen_at = NULL, partition_owner = NULL, partition_ownership_timeout = NULL, staged = NULL, max_lost_leases = NULL, max_failures = NULL, acquired_at = NULL, owner_details = NULL, accounting = NULL, awaited_op = NULL, wanted_by = NULL, wanted_token = NULL, wanted_until = NULL, last_op = 'op0002', create_op = 'op0002', generation = 'op0002', confirmed = 0, deleted = 0, timed = NULL, due_at = NULL, ready = 3, parents = NULL, waits_for = NULL, payload = excluded.payload, priority = excluded.priority, ordinal = excluded.ordinal, position = excluded.ordinal, available_at = T+0s, created_at = T+0s, updated_at = T+0s
  WHERE deleted = 1 AND create_op <> 'op0002'
  RETURNING 1
COMMIT

## create partitions that exist
(as under: create partitions)
(as under: create partitions)
WITH given AS MATERIALIZED (SELECT key AS place, json_extract(value, '$[0]') AS key, json_extract(value, '$[1]') AS payload, json_extract(value, '$[2]') AS priority, json_extract(value, '$[3]') AS parents, json_extract(value, '$[4]') AS waits_for
  FROM json_each('[["day-00", null, 0, null, null], ["day-01", null, 0, null, null]]')) INSERT INTO coordination_partitions (source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, closed_count, failures, lost_leases, available_at, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, ready, position)
  SELECT 'flights|PARTITION', given.key, 'UNASSIGNED', given.payload, given.priority, 3145728 + given.place, 2, 0, 0, 0, T+0s, T+0s, T+0s, 0, '', 'op0003', 'op0003', 'op0003', 0, 0, 3, 3145728 + given.place
  FROM given
  WHERE true
  ORDER BY given.place
  ON CONFLICT (source_identifier, source_partition_key) DO UPDATE
  SET source_partition_status = 'UNASSIGNED', rank = 2, closed_count = 0, failures = 0, lost_leases = 0, partition_progress_state = NULL, last_error = NULL, reopen_at = NULL, partition_owner = NULL, partition_ownership_timeout = NULL, staged = NULL, max_lost_leases = NULL, max_failures = NULL, acquired_at = NULL, owner_details = NULL, accounting = NULL, awaited_op = NULL, wanted_by = NULL, wanted_token = NULL, wanted_until = NULL, last_op = 'op0003', create_op = 'op0003', generation = 'op0003', confirmed = 0, deleted = 0, timed = NULL, due_at = NULL, ready = 3, parents = NULL, waits_for = NULL, payload = excluded.payload, priority = excluded.priority, ordinal = excluded.ordinal, position = excluded.ordinal, available_at = T+0s, created_at = T+0s, updated_at = T+0s
  WHERE deleted = 1 AND create_op <> 'op0003'
  RETURNING 1
(as under: create partitions)
WITH given AS MATERIALIZED (SELECT key AS place, json_extract(value, '$[0]') AS key, json_extract(value, '$[1]') AS payload, json_extract(value, '$[2]') AS priority, json_extract(value, '$[3]') AS parents, json_extract(value, '$[4]') AS waits_for
  FROM json_each('[["day-00", null, 0, null, null], ["day-01", null, 0, null, null]]')), found AS MATERIALIZED (
  SELECT given.key, given.place, CASE WHEN p.create_op = 'op0003' THEN 1 ELSE 0 END AS mine, CASE WHEN p.payload IS NOT given.payload OR p.parents IS NOT given.parents OR p.priority <> given.priority THEN 1 ELSE 0 END AS differs
  FROM given JOIN coordination_partitions AS p ON p.source_identifier = 'flights|PARTITION' AND p.source_partition_key = given.key)
  SELECT (SELECT sum(mine)
  FROM found), key
  FROM (SELECT NULL AS key, -1 AS place
  UNION ALL
  SELECT *
  FROM (SELECT key, place
  FROM found
  WHERE mine = 0 AND differs = 1
  ORDER BY place LIMIT 100) AS differing) AS answer
  ORDER BY place

## list what is claimable
SELECT key, token
  FROM (SELECT 0 AS class, all_0.*
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 0
  ORDER BY priority, position, ordinal LIMIT 100) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+0s AND partition_ownership_timeout <= T+0s
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 100) AS branch_1) AS all_0
  UNION ALL
  SELECT 1 AS class, all_1.*
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 1
  ORDER BY priority, position, ordinal LIMIT 100) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+0s
  ORDER BY priority, reopen_at, ordinal LIMIT 100) AS branch_1) AS all_1
  UNION ALL
  SELECT 2 AS class, all_2.*
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 2
  ORDER BY priority, position, ordinal LIMIT 100) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 3
  ORDER BY priority, position, ordinal LIMIT 100) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+0s
  ORDER BY priority, ordinal, ordinal LIMIT 100) AS branch_2) AS all_2) AS everything
  ORDER BY class, priority, position, ordinal LIMIT 100

## acquire by hint
UPDATE coordination_partitions
  SET source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0004', last_op = 'op0004', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+0s + 600000000, acquired_at = T+0s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+0s, ready = NULL, timed = 1, due_at = T+0s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-01' AND token = 0 AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+0s) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7

## acquire by a hint that is used up
UPDATE coordination_partitions
  SET source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0005', last_op = 'op0005', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+0s + 600000000, acquired_at = T+0s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+0s, ready = NULL, timed = 1, due_at = T+0s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-01' AND token = 0 AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+0s) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-01'
(as under: create partitions)
SELECT source_partition_key, source_partition_status
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = coalesce((SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 0
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+0s AND partition_ownership_timeout <= T+0s AND lost_leases + 1 < coalesce(max_lost_leases, 2)
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 1
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+0s
  ORDER BY priority, reopen_at, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 2
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 3
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+0s
  ORDER BY priority, ordinal, ordinal LIMIT 1) AS branch_2) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head))
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0006' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0006' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0006' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0006' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0006' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0006' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0006' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0006' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0006', last_op = 'op0006', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+0s + 600000000, acquired_at = T+0s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+0s, ready = NULL, timed = 1, due_at = T+0s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'first' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+0s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+0s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## acquire
(as under: create partitions)
(as under: acquire by a hint that is used up)
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0007' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0007' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0007' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0007' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0007' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0007' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0007' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0007' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0007', last_op = 'op0007', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+0s + 600000000, acquired_at = T+0s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+0s, ready = NULL, timed = 1, due_at = T+0s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'second' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+0s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+0s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## complete and get the next
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+0s, 'completed', 'op0009', 'COMPLETED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'second' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0007' AND last_op = 'op0007' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0007|completed|op0009|op0007|COMPLETED|0|' || T+0s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+0s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0009', updated_at = T+0s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+0s + NULL, generation = 'op0001', staged = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+0s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'second' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0007' AND last_op = 'op0007'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
SELECT source_partition_key, source_partition_status
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = coalesce((SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 0 AND source_partition_key <> 'second'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+0s AND partition_ownership_timeout <= T+0s AND lost_leases + 1 < coalesce(max_lost_leases, 2) AND source_partition_key <> 'second'
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 1 AND source_partition_key <> 'second'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+0s AND source_partition_key <> 'second'
  ORDER BY priority, reopen_at, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 2 AND source_partition_key <> 'second'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 3 AND source_partition_key <> 'second'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+0s AND source_partition_key <> 'second'
  ORDER BY priority, ordinal, ordinal LIMIT 1) AS branch_2) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head))
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0008' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0008' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0008' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0008' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0008' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0008' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0008' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0008' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0008', last_op = 'op0008', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+0s + 600000000, acquired_at = T+0s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+0s, ready = NULL, timed = 1, due_at = T+0s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'third' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+0s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+0s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## acquire, new ones first
(as under: create partitions)
SELECT source_partition_key, source_partition_status
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = coalesce((SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 2
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 3
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+0s
  ORDER BY priority, ordinal, ordinal LIMIT 1) AS branch_2) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 0
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+0s AND partition_ownership_timeout <= T+0s AND lost_leases + 1 < coalesce(max_lost_leases, 2)
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 1
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+0s
  ORDER BY priority, reopen_at, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head))
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0011' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0011' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0011' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0011' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0011' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0011' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0011' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0011' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0011', last_op = 'op0011', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+0s + 600000000, acquired_at = T+0s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+0s, ready = NULL, timed = 1, due_at = T+0s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'fourth' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+0s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+0s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## acquire by key
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+0s, 'lost', 'op0012', 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+0s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+0s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0012' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0012' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0012' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0012' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0012' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0012' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0012' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0012' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0012', last_op = 'op0012', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+0s + 600000000, acquired_at = T+0s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+0s, ready = NULL, timed = 1, due_at = T+0s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+0s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+0s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## renew
UPDATE coordination_partitions
  SET partition_ownership_timeout = CASE WHEN partition_ownership_timeout > T+0s + 600000000 THEN partition_ownership_timeout ELSE T+0s + 600000000 END, confirmed = 1, due_at = CASE WHEN due_at < T+0s + 300000000 THEN CASE WHEN partition_ownership_timeout > T+0s + 600000000 THEN partition_ownership_timeout ELSE T+0s + 600000000 END ELSE due_at END
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0012'
  RETURNING partition_ownership_timeout, CASE WHEN wanted_token = token THEN wanted_by END

## begin
UPDATE coordination_partitions
  SET partition_ownership_timeout = CASE WHEN partition_ownership_timeout > T+0s + 600000000 THEN partition_ownership_timeout ELSE T+0s + 600000000 END, last_op = 'op0013', updated_at = T+0s, owner_details = NULL, due_at = CASE WHEN due_at < T+0s + 300000000 THEN CASE WHEN partition_ownership_timeout > T+0s + 600000000 THEN partition_ownership_timeout ELSE T+0s + 600000000 END ELSE due_at END
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0012' AND last_op = 'op0012'
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7

## save
UPDATE coordination_partitions
  SET partition_ownership_timeout = CASE WHEN partition_ownership_timeout > T+0s + 600000000 THEN partition_ownership_timeout ELSE T+0s + 600000000 END, last_op = 'op0014', updated_at = T+0s, partition_progress_state = '{"row":1}', staged = '[["clean","file:///out/clean/manifest","digest",3,9,null,"replace"]]', due_at = CASE WHEN due_at < T+0s + 300000000 THEN CASE WHEN partition_ownership_timeout > T+0s + 600000000 THEN partition_ownership_timeout ELSE T+0s + 600000000 END ELSE due_at END
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0012' AND last_op = 'op0013'
  RETURNING partition_ownership_timeout, CASE WHEN wanted_token = token THEN wanted_by END

## adopt
UPDATE coordination_partitions
  SET partition_owner = 'host/dag/run/task/0/2', owner_task = 'dag/run/task/0', owner_try = 2
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0012' AND owner_try <= 2
  RETURNING 1
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05'
(as under: renew)

## retake
(as under: adopt)
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+0s, 'retaken', 'op0015', 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05' AND source_partition_status = 'ASSIGNED' AND token = 1 AND last_op = 'op0014' AND owner_task = 'dag/run/task/0' AND owner_try < 3 AND lost_leases + 1 < coalesce(max_lost_leases, 2) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|retaken|' || 'op0015' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|retaken|' || 'op0015' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|retaken|' || 'op0015' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|retaken|' || 'op0015' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|retaken|' || 'op0015' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|retaken|' || 'op0015' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|retaken|' || 'op0015' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|retaken|' || 'op0015' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+0s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0015', last_op = 'op0015', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/3', owner_task = 'dag/run/task/0', owner_try = 3, partition_ownership_timeout = T+0s + 600000000, acquired_at = T+0s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+0s, ready = NULL, timed = 1, due_at = T+0s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05' AND source_partition_status = 'ASSIGNED' AND token = 1 AND last_op = 'op0014' AND owner_task = 'dag/run/task/0' AND owner_try < 3 AND lost_leases + 1 < coalesce(max_lost_leases, 2)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## complete, with blocks of two datasets
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+0s, 'completed', 'op0016', 'COMPLETED', 0, NULL, 8, 34, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0015' AND last_op = 'op0015' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_2 = '2|op0015|completed|op0016|op0015|COMPLETED|0|' || T+0s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+0s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0016', updated_at = T+0s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+0s + NULL, generation = 'op0001', staged = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+0s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-05' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0015' AND last_op = 'op0015'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
INSERT INTO coordination_heads (source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at)
  VALUES ('flights|PARTITION', 'clean', 'day-05', '[["clean","file:///out/clean/manifest","digest",3,9,null,"replace"]]', 3, 9, 'op0001', 'op0016', 2, 'files', 'applied', NULL, T+0s)
  ON CONFLICT (source_identifier, dataset, source_partition_key) DO UPDATE
  SET blocks = excluded.blocks, row_count = excluded.row_count, byte_count = excluded.byte_count, generation = excluded.generation, op = excluded.op, token = excluded.token, kind = excluded.kind, state = excluded.state, accounting = excluded.accounting, published_at = excluded.published_at
INSERT INTO coordination_heads (source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at)
  VALUES ('flights|PARTITION', 'raw', 'day-05', '[["raw","file:///out/raw/manifest","digest",5,25,null,"replace"]]', 5, 25, 'op0001', 'op0016', 2, 'files', 'applied', NULL, T+0s)
  ON CONFLICT (source_identifier, dataset, source_partition_key) DO UPDATE
  SET blocks = excluded.blocks, row_count = excluded.row_count, byte_count = excluded.byte_count, generation = excluded.generation, op = excluded.op, token = excluded.token, kind = excluded.kind, state = excluded.state, accounting = excluded.accounting, published_at = excluded.published_at
(as under: create partitions)

## complete
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+0s, 'completed', 'op0018', 'COMPLETED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-00' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0017' AND last_op = 'op0017' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0017|completed|op0018|op0017|COMPLETED|0|' || T+0s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+0s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0018', updated_at = T+0s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+0s + NULL, generation = 'op0001', staged = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+0s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-00' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0017' AND last_op = 'op0017'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
(as under: create partitions)

## close
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+0s, 'closed', 'op0020', 'CLOSED', 1, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-02' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0019' AND last_op = 'op0019' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0019|closed|op0020|op0019|CLOSED|1|' || T+0s, source_partition_status = 'CLOSED', closed_count = 1, reopen_at = T+0s + 300000000, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0020', updated_at = T+0s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+0s + NULL, generation = 'op0001', partition_progress_state = '{"row":2}', staged = NULL, ready = NULL, position = ordinal, timed = 2, due_at = T+0s + 300000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-02' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0019' AND last_op = 'op0019'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
(as under: create partitions)

## fail
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+0s, 'failed', 'op0022', 'UNASSIGNED', 0, 'broken', 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-03' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0021' AND last_op = 'op0021' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0021|failed|op0022|op0021|UNASSIGNED|0|' || T+0s, source_partition_status = 'UNASSIGNED', closed_count = 0, reopen_at = T+0s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0022', updated_at = T+0s, failures = 1, lost_leases = 0, last_error = 'broken', rank = 2, available_at = T+0s + 30000000, generation = 'op0001', ready = NULL, position = ordinal, timed = 0, due_at = T+0s + 30000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-03' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0021' AND last_op = 'op0021'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
UPDATE coordination_sources
  SET failing_marks = CASE WHEN failing_error = 'broken' AND failing_since_op = coalesce(pause_op, '') THEN CASE WHEN length(failing_marks) < 900 THEN replace(failing_marks, '1e4555f4 ', '') || '1e4555f4 ' ELSE failing_marks END ELSE '1e4555f4 ' END, failing_error = 'broken', failing_since_op = coalesce(pause_op, '')
  WHERE source_identifier = 'flights|PARTITION'
(as under: create partitions)
SELECT paused, pause_by, pause_why, pause_at, pause_op, CASE WHEN failing_since_op = coalesce(pause_op, '') THEN failing_error END, failing_marks
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION'

## give up
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+0s, 'given up', 'op0024', 'UNASSIGNED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-04' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0023' AND last_op = 'op0023' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0023|given up|op0024|op0023|UNASSIGNED|0|' || T+0s, source_partition_status = 'UNASSIGNED', closed_count = 0, reopen_at = T+0s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0024', updated_at = T+0s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+0s + 0, generation = 'op0001', ready = 2, position = ordinal, timed = NULL, due_at = T+0s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-04' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0023' AND last_op = 'op0023'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
(as under: create partitions)

## give up for a while
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+0s, 'given up', 'op0026', 'UNASSIGNED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-04' AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0025' AND last_op = 'op0025' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_2 = '2|op0025|given up|op0026|op0025|UNASSIGNED|0|' || T+0s, source_partition_status = 'UNASSIGNED', closed_count = 0, reopen_at = T+0s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0026', updated_at = T+0s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+0s + 300000000, generation = 'op0001', ready = NULL, position = ordinal, timed = 0, due_at = T+0s + 300000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-04' AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0025' AND last_op = 'op0025'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
(as under: create partitions)

## complete and get the next, which returned
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+2s, 'completed', 'op0029', 'COMPLETED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-06' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0027' AND last_op = 'op0027' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0027|completed|op0029|op0027|COMPLETED|0|' || T+2s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+2s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0029', updated_at = T+2s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+2s + NULL, generation = 'op0001', staged = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+2s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-06' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0027' AND last_op = 'op0027'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
UPDATE coordination_sources
  SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL
SELECT source_partition_key, source_partition_status
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = coalesce((SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 0 AND source_partition_key <> 'day-06'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+2s AND partition_ownership_timeout <= T+2s AND lost_leases + 1 < coalesce(max_lost_leases, 2) AND source_partition_key <> 'day-06'
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 1 AND source_partition_key <> 'day-06'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+2s AND source_partition_key <> 'day-06'
  ORDER BY priority, reopen_at, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 2 AND source_partition_key <> 'day-06'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 3 AND source_partition_key <> 'day-06'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+2s AND source_partition_key <> 'day-06'
  ORDER BY priority, ordinal, ordinal LIMIT 1) AS branch_2) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head))
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0028' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0028' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0028' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0028' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0028' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0028' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0028' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0028' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0028', last_op = 'op0028', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+2s + 600000000, acquired_at = T+2s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+2s, ready = NULL, timed = 1, due_at = T+2s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-07' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+2s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+2s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## complete and get the next, just after that
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+2s, 'completed', 'op0033', 'COMPLETED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-07' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0031' AND last_op = 'op0031' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_2 = '2|op0031|completed|op0033|op0031|COMPLETED|0|' || T+2s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+2s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0033', updated_at = T+2s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+2s + NULL, generation = 'op0001', staged = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+2s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-07' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0031' AND last_op = 'op0031'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
SELECT source_partition_key, source_partition_status
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = coalesce((SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 0 AND source_partition_key <> 'day-07'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+2s AND partition_ownership_timeout <= T+2s AND lost_leases + 1 < coalesce(max_lost_leases, 2) AND source_partition_key <> 'day-07'
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 1 AND source_partition_key <> 'day-07'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+2s AND source_partition_key <> 'day-07'
  ORDER BY priority, reopen_at, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 2 AND source_partition_key <> 'day-07'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 3 AND source_partition_key <> 'day-07'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+2s AND source_partition_key <> 'day-07'
  ORDER BY priority, ordinal, ordinal LIMIT 1) AS branch_2) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head))
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0032' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0032' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0032' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0032' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0032' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0032' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0032' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0032' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0032', last_op = 'op0032', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+2s + 600000000, acquired_at = T+2s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+2s, ready = NULL, timed = 1, due_at = T+2s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-08' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+2s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+2s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## complete with a block and get the next by hint
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+2s, 'completed', 'op0035', 'COMPLETED', 0, NULL, 3, 9, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-08' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0032' AND last_op = 'op0032' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0032|completed|op0035|op0032|COMPLETED|0|' || T+2s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+2s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0035', updated_at = T+2s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+2s + NULL, generation = 'op0001', staged = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+2s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-08' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0032' AND last_op = 'op0032'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
INSERT INTO coordination_heads (source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at)
  VALUES ('flights|PARTITION', 'clean', 'day-08', '[["clean","file:///out/clean/manifest","digest",3,9,null,"replace"]]', 3, 9, 'op0001', 'op0035', 1, 'files', 'applied', NULL, T+2s)
  ON CONFLICT (source_identifier, dataset, source_partition_key) DO UPDATE
  SET blocks = excluded.blocks, row_count = excluded.row_count, byte_count = excluded.byte_count, generation = excluded.generation, op = excluded.op, token = excluded.token, kind = excluded.kind, state = excluded.state, accounting = excluded.accounting, published_at = excluded.published_at
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+2s, 'lost', 'op0034', 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-10' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+2s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+2s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0034' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0034' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0034' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0034' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0034' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0034' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0034' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0034' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+2s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0034', last_op = 'op0034', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+2s + 600000000, acquired_at = T+2s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+2s, ready = NULL, timed = 1, due_at = T+2s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-10' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+2s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+2s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## acquire an expired lease
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+662s, 'lost', 'op0038', 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-12' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+662s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+662s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0038' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0038' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0038' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0038' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0038' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0038' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0038' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0038' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0038', last_op = 'op0038', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+662s + 600000000, acquired_at = T+662s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+662s, ready = NULL, timed = 1, due_at = T+662s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-12' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+662s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+662s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## acquire, where something was lost
(as under: create partitions)
SELECT source_partition_key, source_partition_status
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = coalesce((SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 0
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+662s AND partition_ownership_timeout <= T+662s AND lost_leases + 1 < coalesce(max_lost_leases, 2)
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 1
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+662s
  ORDER BY priority, reopen_at, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 2
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 3
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+662s
  ORDER BY priority, ordinal, ordinal LIMIT 1) AS branch_2) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head))
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+662s, 'lost', 'op0039', 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'first' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+662s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+662s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0039' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0039' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0039' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0039' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0039' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0039' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0039' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0039' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+662s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0039', last_op = 'op0039', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+662s + 600000000, acquired_at = T+662s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+662s, ready = NULL, timed = 1, due_at = T+662s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'first' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+662s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+662s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## renew a lease that was taken over
UPDATE coordination_partitions
  SET partition_ownership_timeout = CASE WHEN partition_ownership_timeout > T+662s + 600000000 THEN partition_ownership_timeout ELSE T+662s + 600000000 END, confirmed = 1, due_at = CASE WHEN due_at < T+662s + 300000000 THEN CASE WHEN partition_ownership_timeout > T+662s + 600000000 THEN partition_ownership_timeout ELSE T+662s + 600000000 END ELSE due_at END
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-12' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0037'
  RETURNING partition_ownership_timeout, CASE WHEN wanted_token = token THEN wanted_by END
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-12'

## sweep
UPDATE coordination_partitions
  SET source_partition_status = 'UNASSIGNED', rank = 1, available_at = reopen_at, reopen_at = NULL, last_op = 'op0042', updated_at = T+1322s, ready = 1, timed = NULL, due_at = NULL, position = reopen_at
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key IN (SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+1322s
  ORDER BY due_at LIMIT 1000) AND source_partition_status = 'CLOSED' AND reopen_at <= T+1322s
  RETURNING 1
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+1322s, 'lost', 'op0042', CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END, closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key IN (SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+1322s AND partition_ownership_timeout <= T+1322s
  ORDER BY due_at LIMIT 1000) AND source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+1322s AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0042' || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || T+1322s ELSE ring_0 END, ring_1 = CASE WHEN (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0042' || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || T+1322s ELSE ring_1 END, ring_2 = CASE WHEN (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0042' || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || T+1322s ELSE ring_2 END, ring_3 = CASE WHEN (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0042' || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || T+1322s ELSE ring_3 END, ring_4 = CASE WHEN (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0042' || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || T+1322s ELSE ring_4 END, ring_5 = CASE WHEN (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0042' || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || T+1322s ELSE ring_5 END, ring_6 = CASE WHEN (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0042' || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || T+1322s ELSE ring_6 END, ring_7 = CASE WHEN (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0042' || '|' || last_op || '|' || CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END || '|' || closed_count || '|' || T+1322s ELSE ring_7 END, source_partition_status = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 'UNASSIGNED' ELSE 'CLOSED' END, reopen_at = NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0042', updated_at = T+1322s, lost_leases = lost_leases + CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END, last_error = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN last_error ELSE 'lost its lease ' || (lost_leases + 1) || ' times without an ending' END, rank = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 0 ELSE rank END, available_at = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN partition_ownership_timeout ELSE NULL END, ready = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN 0 ELSE NULL END, timed = NULL, due_at = NULL, position = CASE WHEN (lost_leases + 1 < coalesce(max_lost_leases, 2) OR confirmed = 0 AND last_op = nonce) THEN partition_ownership_timeout ELSE position END
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key IN (SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+1322s AND partition_ownership_timeout <= T+1322s
  ORDER BY due_at LIMIT 1000) AND source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+1322s
  RETURNING source_partition_key, source_partition_status
(as under: create partitions)
UPDATE coordination_partitions
  SET ready = 2, position = ordinal, timed = NULL, due_at = NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key IN (SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+1322s
  ORDER BY due_at LIMIT 1000) AND (timed = 0 AND due_at <= T+1322s) IS TRUE
SELECT source_partition_key
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND awaited_op IS NOT NULL AND source_partition_status = 'COMPLETED'
  ORDER BY source_partition_key LIMIT 1000
DELETE
  FROM coordination_history
  WHERE rowid IN (SELECT rowid
  FROM coordination_history
  WHERE source_identifier = 'flights|PARTITION' AND ended_at < T+1322s - 2592000000000
  ORDER BY ended_at LIMIT 5000)
  RETURNING 1

## release
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held'
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+1322s, 'released', 'op0045', 'UNASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held' AND deleted = 0 AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0044' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN (token & 7) = 0 THEN token || '|' || nonce || '|released|' || 'op0045' || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_0 END, ring_1 = CASE WHEN (token & 7) = 1 THEN token || '|' || nonce || '|released|' || 'op0045' || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_1 END, ring_2 = CASE WHEN (token & 7) = 2 THEN token || '|' || nonce || '|released|' || 'op0045' || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_2 END, ring_3 = CASE WHEN (token & 7) = 3 THEN token || '|' || nonce || '|released|' || 'op0045' || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_3 END, ring_4 = CASE WHEN (token & 7) = 4 THEN token || '|' || nonce || '|released|' || 'op0045' || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_4 END, ring_5 = CASE WHEN (token & 7) = 5 THEN token || '|' || nonce || '|released|' || 'op0045' || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_5 END, ring_6 = CASE WHEN (token & 7) = 6 THEN token || '|' || nonce || '|released|' || 'op0045' || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_6 END, ring_7 = CASE WHEN (token & 7) = 7 THEN token || '|' || nonce || '|released|' || 'op0045' || '|' || last_op || '|UNASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_7 END, source_partition_status = 'UNASSIGNED', reopen_at = NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0045', updated_at = T+1322s, token = token + 1, nonce = 'op0045', available_at = CASE WHEN waits_for IS NULL THEN T+1322s ELSE NULL END, rank = 2, ready = CASE WHEN waits_for IS NULL THEN 2 ELSE NULL END, timed = NULL, due_at = NULL, position = CASE WHEN waits_for IS NULL THEN ordinal ELSE position END
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held' AND deleted = 0 AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0044'
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT 'flights|PARTITION', 'held', T+1322s, 'release', 'ada', 'asked', 'op0045'
(as under: create partitions)

## park
(as under: release)
(as under: create partitions)
UPDATE coordination_partitions
  SET source_partition_status = 'CLOSED', reopen_at = NULL, available_at = NULL, last_op = 'op0046', updated_at = T+1322s, ready = NULL, timed = NULL, due_at = NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held' AND deleted = 0 AND source_partition_status = 'UNASSIGNED' AND token = 2 AND last_op = 'op0045'
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT 'flights|PARTITION', 'held', T+1322s, 'park', 'ada', 'asked', 'op0046'
(as under: create partitions)

## reopen
(as under: release)
(as under: create partitions)
UPDATE coordination_partitions
  SET source_partition_status = 'UNASSIGNED', reopen_at = NULL, available_at = CASE WHEN waits_for IS NULL THEN T+1322s ELSE NULL END, rank = 1, failures = 0, lost_leases = 0, last_op = 'op0047', updated_at = T+1322s, ready = CASE WHEN waits_for IS NULL THEN 1 ELSE NULL END, timed = NULL, due_at = NULL, position = CASE WHEN waits_for IS NULL THEN T+1322s ELSE position END
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held' AND deleted = 0 AND source_partition_status = 'CLOSED' AND token = 2 AND last_op = 'op0046'
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT 'flights|PARTITION', 'held', T+1322s, 'reopen', 'ada', 'asked', 'op0047'
(as under: create partitions)

## reset
(as under: release)
SELECT source_identifier, source_partition_key, token, op, follow_up, noted_at
  FROM coordination_follow_ups
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held'
  ORDER BY source_partition_key, token, op LIMIT 11
(as under: create partitions)
UPDATE coordination_partitions
  SET source_partition_status = 'UNASSIGNED', reopen_at = NULL, available_at = CASE WHEN waits_for IS NULL THEN T+1322s ELSE NULL END, rank = 2, failures = 0, lost_leases = 0, closed_count = 0, last_error = NULL, partition_progress_state = NULL, staged = NULL, generation = 'op0048', last_op = 'op0048', updated_at = T+1322s, ready = CASE WHEN waits_for IS NULL THEN 2 ELSE NULL END, timed = NULL, due_at = NULL, position = CASE WHEN waits_for IS NULL THEN ordinal ELSE position END
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held' AND deleted = 0 AND source_partition_status = 'UNASSIGNED' AND token = 2 AND last_op = 'op0047'
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT 'flights|PARTITION', 'held', T+1322s, 'reset', 'ada', 'asked', 'op0048'
(as under: create partitions)

## retract
(as under: release)
(as under: create partitions)
UPDATE coordination_partitions
  SET last_op = 'op0049', updated_at = T+1322s
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held' AND deleted = 0 AND source_partition_status = 'UNASSIGNED' AND token = 2 AND last_op = 'op0048' AND staged IS NULL
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT 'flights|PARTITION', 'held', T+1322s, 'retract', 'ada', 'asked', 'op0049'
UPDATE coordination_heads
  SET blocks = '[]', row_count = 0, byte_count = 0, published_at = T+1322s, accounting = NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held'
(as under: create partitions)

## delete
(as under: release)
(as under: reset)
(as under: create partitions)
UPDATE coordination_partitions
  SET token = token + 1, nonce = 'op0050', source_partition_status = 'UNASSIGNED', reopen_at = NULL, available_at = NULL, deleted = 1, partition_progress_state = NULL, staged = NULL, payload = NULL, parents = NULL, waits_for = NULL, awaited_op = NULL, last_op = 'op0050', updated_at = T+1322s, ready = NULL, timed = NULL, due_at = NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held' AND deleted = 0 AND source_partition_status = 'UNASSIGNED' AND token = 2 AND last_op = 'op0049' AND awaited_op IS NULL
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT 'flights|PARTITION', 'held', T+1322s, 'delete', 'ada', 'asked', 'op0050'
(as under: create partitions)

## create a deleted partition again
(as under: create partitions)
(as under: create partitions)
WITH given AS MATERIALIZED (SELECT key AS place, json_extract(value, '$[0]') AS key, json_extract(value, '$[1]') AS payload, json_extract(value, '$[2]') AS priority, json_extract(value, '$[3]') AS parents, json_extract(value, '$[4]') AS waits_for
  FROM json_each('[["held", null, 0, null, null]]')) INSERT INTO coordination_partitions (source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, closed_count, failures, lost_leases, available_at, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, ready, position)
  SELECT 'flights|PARTITION', given.key, 'UNASSIGNED', given.payload, given.priority, 5242880 + given.place, 2, 0, 0, 0, T+1322s, T+1322s, T+1322s, 0, '', 'op0051', 'op0051', 'op0051', 0, 0, 3, 5242880 + given.place
  FROM given
  WHERE true
  ORDER BY given.place
  ON CONFLICT (source_identifier, source_partition_key) DO UPDATE
  SET source_partition_status = 'UNASSIGNED', rank = 2, closed_count = 0, failures = 0, lost_leases = 0, partition_progress_state = NULL, last_error = NULL, reopen_at = NULL, partition_owner = NULL, partition_ownership_timeout = NULL, staged = NULL, max_lost_leases = NULL, max_failures = NULL, acquired_at = NULL, owner_details = NULL, accounting = NULL, awaited_op = NULL, wanted_by = NULL, wanted_token = NULL, wanted_until = NULL, last_op = 'op0051', create_op = 'op0051', generation = 'op0051', confirmed = 0, deleted = 0, timed = NULL, due_at = NULL, ready = 3, parents = NULL, waits_for = NULL, payload = excluded.payload, priority = excluded.priority, ordinal = excluded.ordinal, position = excluded.ordinal, available_at = T+1322s, created_at = T+1322s, updated_at = T+1322s
  WHERE deleted = 1 AND create_op <> 'op0051'
  RETURNING 1
(as under: create partitions)

## get
(as under: acquire by a hint that is used up)

## find by nonce
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND nonce = 'op0000'

## find by task
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND owner_task = 'dag/run/task/0'
  ORDER BY source_partition_key

## page
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > '' AND deleted = 0
  ORDER BY source_partition_key LIMIT 5

## page of UNASSIGNED
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > 'day' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'UNASSIGNED'
  ORDER BY source_partition_key LIMIT 5

## page of ASSIGNED
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > 'day' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'ASSIGNED'
  ORDER BY source_partition_key LIMIT 5

## page of CLOSED
SELECT *
  FROM (SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > 'day' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'CLOSED'
  ORDER BY source_partition_key LIMIT 5) AS range_0
  UNION ALL
  SELECT *
  FROM (SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > 'day' AND deleted = 0 AND source_partition_status = 'CLOSED' AND reopen_at IS NULL
  ORDER BY source_partition_key LIMIT 5) AS range_1
  ORDER BY source_partition_key LIMIT 5

## page of COMPLETED
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > 'day' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'COMPLETED'
  ORDER BY source_partition_key LIMIT 5

## page of parked
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > '' AND deleted = 0 AND source_partition_status = 'CLOSED' AND reopen_at IS NULL
  ORDER BY source_partition_key LIMIT 5

## page of CLOSED
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > '' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'CLOSED'
  ORDER BY source_partition_key LIMIT 5

## counts
SELECT (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'UNASSIGNED'), (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'ASSIGNED'), (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'CLOSED') + (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND deleted = 0 AND source_partition_status = 'CLOSED' AND reopen_at IS NULL), (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'COMPLETED')

## outlook
WITH numbers AS MATERIALIZED (SELECT (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'UNASSIGNED') AS unassigned, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'ASSIGNED') AS assigned, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'CLOSED') AS closed, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'COMPLETED') AS completed, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND deleted = 0 AND source_partition_status = 'CLOSED' AND reopen_at IS NULL) AS parked, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND waits_for IS NOT NULL AND source_partition_status = 'UNASSIGNED') AS blocked, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0) AS delayed, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+1322s ) AS due_delayed, (SELECT count(*)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+1322s ) AS due_closed, expired, expired_since
  FROM (SELECT count(*) AS expired, min(partition_ownership_timeout) AS expired_since
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+1322s AND partition_ownership_timeout <= T+1322s) AS ended)
  SELECT unassigned - blocked - delayed + due_delayed + due_closed + expired, assigned - expired, delayed - due_delayed + closed - due_closed, parked, completed, (SELECT min(due)
  FROM (SELECT min(due_at) AS due
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at > T+1322s
  UNION ALL
  SELECT min(due_at) AS due
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at > T+1322s
  UNION ALL
  SELECT min(partition_ownership_timeout)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+1322s AND partition_ownership_timeout > T+1322s
  UNION ALL
  SELECT min(ends)
  FROM (SELECT partition_ownership_timeout AS ends
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at > T+1322s
  ORDER BY due_at LIMIT 100) AS first_held
  UNION ALL
  SELECT *
  FROM (SELECT due_at
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at > T+1322s
  ORDER BY due_at LIMIT 1 OFFSET 99) AS last_held) AS times), due_closed + expired, T+1322s - (SELECT min(since)
  FROM (SELECT *
  FROM (SELECT available_at AS since
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 0
  ORDER BY priority, position, ordinal LIMIT 25) AS ready_0
  UNION ALL
  SELECT *
  FROM (SELECT available_at AS since
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 1
  ORDER BY priority, position, ordinal LIMIT 25) AS ready_1
  UNION ALL
  SELECT *
  FROM (SELECT available_at AS since
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 2
  ORDER BY priority, position, ordinal LIMIT 25) AS ready_2
  UNION ALL
  SELECT *
  FROM (SELECT available_at AS since
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 3
  ORDER BY priority, position, ordinal LIMIT 25) AS ready_3
  UNION ALL
  SELECT min(due_at)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+1322s
  UNION ALL
  SELECT min(due_at)
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+1322s
  UNION ALL
  SELECT expired_since) AS claimable), blocked, expired, paused, pause_by, pause_why, pause_at, pause_op, CASE WHEN failing_since_op = coalesce(pause_op, '') THEN failing_error END, failing_marks
  FROM numbers
  LEFT JOIN coordination_sources ON source_identifier = 'flights|PARTITION'

## heads
SELECT source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at
  FROM coordination_heads
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > ''
  ORDER BY source_partition_key, dataset LIMIT 1000

## heads of one
SELECT source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at
  FROM coordination_heads
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > '' AND dataset = 'clean' AND source_partition_key = 'day-05'
  ORDER BY source_partition_key, dataset LIMIT 1000

## heads from inside one
SELECT source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at
  FROM coordination_heads
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key >= 'day-05' AND (source_partition_key > 'day-05' OR dataset > 'clean')
  ORDER BY source_partition_key, dataset LIMIT 1000

## audit
SELECT source_partition_key, at, action, acted_by, why
  FROM coordination_audit
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'held'
  ORDER BY number

## sources
SELECT source_identifier, facts
  FROM coordination_sources
  ORDER BY source_identifier

## save, with its accounting
UPDATE coordination_partitions
  SET partition_ownership_timeout = CASE WHEN partition_ownership_timeout > T+1322s + 600000000 THEN partition_ownership_timeout ELSE T+1322s + 600000000 END, last_op = 'op0053', updated_at = T+1322s, partition_progress_state = '{"row":2}', staged = NULL, accounting = '{"generation":"op0001","over":0,"counts":{"read":3,"delivered_everywhere":2,"dropped:cancelled":1,"owed:search":2,"delivered:search":2,"dead_lettered:search":0,"failed:search":0}}', due_at = CASE WHEN due_at < T+1322s + 300000000 THEN CASE WHEN partition_ownership_timeout > T+1322s + 600000000 THEN partition_ownership_timeout ELSE T+1322s + 600000000 END ELSE due_at END
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'fourth' AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0052' AND last_op = 'op0052'
  RETURNING partition_ownership_timeout, CASE WHEN wanted_token = token THEN wanted_by END

## complete with a block and its accounting
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+1322s, 'completed', 'op0054', 'COMPLETED', 0, NULL, 3, 9, '{"generation":"op0001","over":0,"counts":{"read":3,"delivered_everywhere":2,"dropped:cancelled":1,"owed:search":2,"delivered:search":2,"dead_lettered:search":0,"failed:search":0}}'
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'fourth' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0052' AND last_op = 'op0053' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_2 = '2|op0052|completed|op0054|op0053|COMPLETED|0|' || T+1322s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+1322s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0054', updated_at = T+1322s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+1322s + NULL, generation = 'op0001', accounting = '{"generation":"op0001","over":0,"counts":{"read":3,"delivered_everywhere":2,"dropped:cancelled":1,"owed:search":2,"delivered:search":2,"dead_lettered:search":0,"failed:search":0}}', staged = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+1322s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'fourth' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0052' AND last_op = 'op0053'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
INSERT INTO coordination_heads (source_identifier, dataset, source_partition_key, blocks, row_count, byte_count, generation, op, token, kind, state, accounting, published_at)
  VALUES ('flights|PARTITION', 'clean', 'fourth', '[["clean","file:///out/clean/manifest","digest",3,9,null,"replace"]]', 3, 9, 'op0001', 'op0054', 2, 'files', 'applied', '{"generation":"op0001","over":0,"counts":{"read":3,"delivered_everywhere":2,"dropped:cancelled":1,"owed:search":2,"delivered:search":2,"dead_lettered:search":0,"failed:search":0}}', T+1322s)
  ON CONFLICT (source_identifier, dataset, source_partition_key) DO UPDATE
  SET blocks = excluded.blocks, row_count = excluded.row_count, byte_count = excluded.byte_count, generation = excluded.generation, op = excluded.op, token = excluded.token, kind = excluded.kind, state = excluded.state, accounting = excluded.accounting, published_at = excluded.published_at
(as under: create partitions)

## complete, and note what follows
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+1322s, 'completed', 'op0056', 'COMPLETED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-01' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0055' AND last_op = 'op0055' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_2 = '2|op0055|completed|op0056|op0055|COMPLETED|0|' || T+1322s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+1322s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0056', updated_at = T+1322s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+1322s + NULL, generation = 'op0001', staged = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+1322s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-01' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0055' AND last_op = 'op0055'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
INSERT INTO coordination_follow_ups (source_identifier, source_partition_key, token, op, follow_up, noted_at)
  SELECT 'flights|PARTITION', 'day-01', 2, 'op0056', '{"do":1}', T+1322s
(as under: create partitions)

## follow-ups
SELECT source_identifier, source_partition_key, token, op, follow_up, noted_at
  FROM coordination_follow_ups
  WHERE source_identifier = 'flights|PARTITION'
  ORDER BY source_partition_key, token, op LIMIT 5

## follow-ups of one, from a place on
SELECT source_identifier, source_partition_key, token, op, follow_up, noted_at
  FROM coordination_follow_ups
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-01' AND (source_partition_key, token, op) > ('day-01', 2, 'op0056')
  ORDER BY source_partition_key, token, op LIMIT 5

## clear a follow-up
DELETE
  FROM coordination_follow_ups
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-01' AND token = 2 AND op = 'op0056'
  RETURNING 1

## forget a follow-up
(as under: create partitions)
DELETE
  FROM coordination_follow_ups
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'first' AND token = 3 AND op = 'op0058'
  RETURNING 1
INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT 'flights|PARTITION', 'first', T+1322s, 'forget', 'ana', 'its bucket is gone', 'op0058'
(as under: create partitions)

## create a partition with two parents
(as under: create partitions)
SELECT given.value
  FROM json_each('["both"]') AS given
  LEFT JOIN coordination_partitions AS p ON p.source_identifier = 'flights|PARTITION' AND p.source_partition_key = given.value
  WHERE p.source_partition_key IS NULL OR (p.deleted = 1 AND p.create_op <> 'op0060')
SELECT source_partition_key, source_partition_status
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND (deleted = 0 OR source_partition_status = 'COMPLETED') AND source_partition_key IN (SELECT value
  FROM json_each('["north", "south"]'))
(as under: create partitions)
WITH given AS MATERIALIZED (SELECT key AS place, json_extract(value, '$[0]') AS key, json_extract(value, '$[1]') AS payload, json_extract(value, '$[2]') AS priority, json_extract(value, '$[3]') AS parents, json_extract(value, '$[4]') AS waits_for
  FROM json_each('[["both", null, 0, "[\"north\",\"south\"]", "[\"north\",\"south\"]"]]')) INSERT INTO coordination_partitions (source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, closed_count, failures, lost_leases, available_at, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, ready, position, parents, waits_for)
  SELECT 'flights|PARTITION', given.key, 'UNASSIGNED', given.payload, given.priority, 7340032 + given.place, 2, 0, 0, 0, CASE WHEN given.waits_for IS NULL THEN T+1322s END, T+1322s, T+1322s, 0, '', 'op0060', 'op0060', 'op0060', 0, 0, CASE WHEN given.waits_for IS NULL THEN 3 END, 7340032 + given.place, given.parents, given.waits_for
  FROM given
  WHERE true
  ORDER BY given.place
  ON CONFLICT (source_identifier, source_partition_key) DO UPDATE
  SET source_partition_status = 'UNASSIGNED', rank = 2, closed_count = 0, failures = 0, lost_leases = 0, partition_progress_state = NULL, last_error = NULL, reopen_at = NULL, partition_owner = NULL, partition_ownership_timeout = NULL, staged = NULL, max_lost_leases = NULL, max_failures = NULL, acquired_at = NULL, owner_details = NULL, accounting = NULL, awaited_op = NULL, wanted_by = NULL, wanted_token = NULL, wanted_until = NULL, last_op = 'op0060', create_op = 'op0060', generation = 'op0060', confirmed = 0, deleted = 0, timed = NULL, due_at = NULL, payload = excluded.payload, priority = excluded.priority, parents = excluded.parents, waits_for = excluded.waits_for, ordinal = excluded.ordinal, position = excluded.position, available_at = excluded.available_at, created_at = excluded.created_at, updated_at = excluded.updated_at, ready = excluded.ready
  WHERE deleted = 1 AND create_op <> 'op0060'
  RETURNING 1
INSERT INTO coordination_children (source_identifier, parent_key, child_hash, child_key)
  VALUES ('flights|PARTITION', 'north', 'ff7772053abf7d817d6eec229a09e14f0d1552f1cb0aeedb2ac73784ac2d2e39', 'both')
  ON CONFLICT DO NOTHING
INSERT INTO coordination_children (source_identifier, parent_key, child_hash, child_key)
  VALUES ('flights|PARTITION', 'south', 'ff7772053abf7d817d6eec229a09e14f0d1552f1cb0aeedb2ac73784ac2d2e39', 'both')
  ON CONFLICT DO NOTHING
UPDATE coordination_partitions
  SET awaited_op = 'op0060'
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'north'
UPDATE coordination_partitions
  SET awaited_op = 'op0060'
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'south'
(as under: create partitions)

## complete one of them
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+1322s, 'completed', 'op0062', 'COMPLETED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'north' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0061' AND last_op = 'op0061' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0061|completed|op0062|op0061|COMPLETED|0|' || T+1322s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+1322s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0062', updated_at = T+1322s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+1322s + NULL, generation = 'op0059', staged = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+1322s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'north' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0061' AND last_op = 'op0061'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
(as under: create partitions)
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'north'
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+1322s, 'completed', 'op0062', 'COMPLETED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'north' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0061' AND last_op = 'op0061' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0061|completed|op0062|op0061|COMPLETED|0|' || T+1322s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+1322s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0062', updated_at = T+1322s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+1322s + NULL, generation = 'op0059', staged = NULL, awaited_op = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+1322s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'north' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0061' AND last_op = 'op0061'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
UPDATE coordination_partitions
  SET waits_for = (SELECT nullif(json_group_array(value), '[]')
  FROM json_each(waits_for)
  WHERE value <> 'north'), rank = 2, available_at = CASE WHEN (SELECT nullif(json_group_array(value), '[]')
  FROM json_each(waits_for)
  WHERE value <> 'north') IS NULL AND source_partition_status = 'UNASSIGNED' THEN T+1322s ELSE available_at END, updated_at = T+1322s, ready = CASE WHEN (SELECT nullif(json_group_array(value), '[]')
  FROM json_each(waits_for)
  WHERE value <> 'north') IS NULL AND source_partition_status = 'UNASSIGNED' THEN 2 ELSE ready END, position = ordinal
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key IN (SELECT child_key
  FROM coordination_children
  WHERE source_identifier = 'flights|PARTITION' AND parent_key = 'north') AND waits_for IS NOT NULL AND EXISTS (SELECT 1
  FROM json_each(waits_for)
  WHERE value = 'north')
  RETURNING 1
(as under: create partitions)

## its children
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key IN (SELECT child_key
  FROM coordination_children
  WHERE source_identifier = 'flights|PARTITION' AND parent_key = 'north' AND child_key > '') AND parents IS NOT NULL AND EXISTS (SELECT 1
  FROM json_each(parents)
  WHERE value = 'north')
  ORDER BY source_partition_key LIMIT 5

## complete the other one and get the next
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+1322s, 'completed', 'op0065', 'COMPLETED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'south' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0063' AND last_op = 'op0063' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0063|completed|op0065|op0063|COMPLETED|0|' || T+1322s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+1322s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0065', updated_at = T+1322s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+1322s + NULL, generation = 'op0059', staged = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+1322s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'south' AND awaited_op IS NULL AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0063' AND last_op = 'op0063'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
(as under: create partitions)
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'south'
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+1322s, 'completed', 'op0065', 'COMPLETED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'south' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0063' AND last_op = 'op0063' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_1 = '1|op0063|completed|op0065|op0063|COMPLETED|0|' || T+1322s, source_partition_status = 'COMPLETED', closed_count = 0, reopen_at = T+1322s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0065', updated_at = T+1322s, failures = 0, lost_leases = 0, last_error = NULL, rank = 2, available_at = T+1322s + NULL, generation = 'op0059', staged = NULL, awaited_op = NULL, ready = NULL, position = ordinal, timed = NULL, due_at = T+1322s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'south' AND source_partition_status = 'ASSIGNED' AND token = 1 AND nonce = 'op0063' AND last_op = 'op0063'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
UPDATE coordination_partitions
  SET waits_for = (SELECT nullif(json_group_array(value), '[]')
  FROM json_each(waits_for)
  WHERE value <> 'south'), rank = 2, available_at = CASE WHEN (SELECT nullif(json_group_array(value), '[]')
  FROM json_each(waits_for)
  WHERE value <> 'south') IS NULL AND source_partition_status = 'UNASSIGNED' THEN T+1322s ELSE available_at END, updated_at = T+1322s, ready = CASE WHEN (SELECT nullif(json_group_array(value), '[]')
  FROM json_each(waits_for)
  WHERE value <> 'south') IS NULL AND source_partition_status = 'UNASSIGNED' THEN 2 ELSE ready END, position = ordinal
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key IN (SELECT child_key
  FROM coordination_children
  WHERE source_identifier = 'flights|PARTITION' AND parent_key = 'south') AND waits_for IS NOT NULL AND EXISTS (SELECT 1
  FROM json_each(waits_for)
  WHERE value = 'south')
  RETURNING 1
SELECT source_partition_key, source_partition_status
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = coalesce((SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 0 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 0 AND source_partition_key <> 'south'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 1 AS timed, priority, partition_ownership_timeout AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 1 AND due_at <= T+1322s AND partition_ownership_timeout <= T+1322s AND lost_leases + 1 < coalesce(max_lost_leases, 2) AND source_partition_key <> 'south'
  ORDER BY priority, partition_ownership_timeout, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 1 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 1 AND source_partition_key <> 'south'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 2 AS timed, priority, reopen_at AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 2 AND due_at <= T+1322s AND source_partition_key <> 'south'
  ORDER BY priority, reopen_at, ordinal LIMIT 1) AS branch_1) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head), (SELECT key
  FROM (SELECT *
  FROM (SELECT *
  FROM (SELECT source_partition_key AS key, token, 2 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 2 AND source_partition_key <> 'south'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_0
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, 3 AS ready, CAST(NULL AS INTEGER) AS timed, priority, position AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND ready = 3 AND source_partition_key <> 'south'
  ORDER BY priority, position, ordinal LIMIT 1) AS branch_1
  UNION ALL
  SELECT *
  FROM (SELECT source_partition_key AS key, token, CAST(NULL AS INTEGER) AS ready, 0 AS timed, priority, ordinal AS position, ordinal, CAST(2147483647 AS INTEGER) AS last, CAST(-4611686018427387904 AS BIGINT) AS low
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND timed = 0 AND due_at <= T+1322s AND source_partition_key <> 'south'
  ORDER BY priority, ordinal, ordinal LIMIT 1) AS branch_2) AS heads
  ORDER BY priority, position, ordinal LIMIT 1) AS head))
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|lost|' || 'op0064' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|lost|' || 'op0064' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|lost|' || 'op0064' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|lost|' || 'op0064' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|lost|' || 'op0064' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|lost|' || 'op0064' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|lost|' || 'op0064' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|lost|' || 'op0064' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1322s ELSE ring_7 END, lost_leases = lost_leases + CASE WHEN source_partition_status = 'ASSIGNED' THEN CASE WHEN confirmed = 0 AND last_op = nonce THEN 0 ELSE 1 END ELSE 0 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0064', last_op = 'op0064', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/task/0/1', owner_task = 'dag/run/task/0', owner_try = 1, partition_ownership_timeout = T+1322s + 600000000, acquired_at = T+1322s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+1322s, ready = NULL, timed = 1, due_at = T+1322s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-10' AND (ready IS NOT NULL OR timed IN (0, 2) AND due_at <= T+1322s OR source_partition_status = 'ASSIGNED' AND partition_ownership_timeout <= T+1322s AND lost_leases + 1 < coalesce(max_lost_leases, 2)) AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)

## explain what waits
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'west'
SELECT T+1322s
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'east'

## finish
(as under: explain what waits)
(as under: create partitions)
UPDATE coordination_partitions
  SET source_partition_status = 'COMPLETED', reopen_at = NULL, available_at = NULL, rank = 2, failures = 0, lost_leases = 0, last_error = NULL, staged = NULL, awaited_op = NULL, last_op = 'op0068', updated_at = T+1322s, ready = NULL, timed = NULL, due_at = NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'east' AND awaited_op IS NULL AND deleted = 0 AND source_partition_status = 'UNASSIGNED' AND token = 0 AND last_op = 'op0066'
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)
(as under: explain what waits)
(as under: create partitions)
UPDATE coordination_partitions
  SET source_partition_status = 'COMPLETED', reopen_at = NULL, available_at = NULL, rank = 2, failures = 0, lost_leases = 0, last_error = NULL, staged = NULL, awaited_op = NULL, last_op = 'op0068', updated_at = T+1322s, ready = NULL, timed = NULL, due_at = NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'east' AND deleted = 0 AND source_partition_status = 'UNASSIGNED' AND token = 0 AND last_op = 'op0066'
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT 'flights|PARTITION', 'east', T+1322s, 'finish', 'ana', 'golden', 'op0068'
UPDATE coordination_partitions
  SET waits_for = (SELECT nullif(json_group_array(value), '[]')
  FROM json_each(waits_for)
  WHERE value <> 'east'), rank = 2, available_at = CASE WHEN (SELECT nullif(json_group_array(value), '[]')
  FROM json_each(waits_for)
  WHERE value <> 'east') IS NULL AND source_partition_status = 'UNASSIGNED' THEN T+1322s ELSE available_at END, updated_at = T+1322s, ready = CASE WHEN (SELECT nullif(json_group_array(value), '[]')
  FROM json_each(waits_for)
  WHERE value <> 'east') IS NULL AND source_partition_status = 'UNASSIGNED' THEN 2 ELSE ready END, position = ordinal
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key IN (SELECT child_key
  FROM coordination_children
  WHERE source_identifier = 'flights|PARTITION' AND parent_key = 'east') AND waits_for IS NOT NULL AND EXISTS (SELECT 1
  FROM json_each(waits_for)
  WHERE value = 'east')
  RETURNING 1
(as under: create partitions)

## clean up what the source knows no more
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key > '' AND deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL) AND source_partition_status = 'COMPLETED'
  ORDER BY source_partition_key LIMIT 1000
(as under: explain what waits)
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key IN (SELECT child_key
  FROM coordination_children
  WHERE source_identifier = 'flights|PARTITION' AND parent_key = 'east' AND child_key > '') AND parents IS NOT NULL AND EXISTS (SELECT 1
  FROM json_each(parents)
  WHERE value = 'east')
  ORDER BY source_partition_key LIMIT 1000
SELECT source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key IN (SELECT child_key
  FROM coordination_children
  WHERE source_identifier = 'flights|PARTITION' AND parent_key = 'east' AND child_key > 'west') AND parents IS NOT NULL AND EXISTS (SELECT 1
  FROM json_each(parents)
  WHERE value = 'east')
  ORDER BY source_partition_key LIMIT 1000
(as under: create partitions)
UPDATE coordination_partitions
  SET token = token + 1, nonce = 'op0069', source_partition_status = 'COMPLETED', reopen_at = NULL, available_at = NULL, deleted = 1, partition_progress_state = NULL, staged = NULL, payload = NULL, parents = NULL, waits_for = NULL, awaited_op = NULL, last_op = 'op0069', updated_at = T+1322s, ready = NULL, timed = NULL, due_at = NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'east' AND deleted = 0 AND source_partition_status = 'COMPLETED' AND token = 0 AND last_op = 'op0068' AND awaited_op IS NULL
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op)
  SELECT 'flights|PARTITION', 'east', T+1322s, 'clean up', 'host/dag/run/task/0/1', 'finished, and its source knows it no more', 'op0069'
(as under: create partitions)

## create a child of what was cleaned up
(as under: create partitions)
SELECT given.value
  FROM json_each('["late"]') AS given
  LEFT JOIN coordination_partitions AS p ON p.source_identifier = 'flights|PARTITION' AND p.source_partition_key = given.value
  WHERE p.source_partition_key IS NULL OR (p.deleted = 1 AND p.create_op <> 'op0070')
SELECT source_partition_key, source_partition_status
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND (deleted = 0 OR source_partition_status = 'COMPLETED') AND source_partition_key IN (SELECT value
  FROM json_each('["east"]'))
(as under: create partitions)
WITH given AS MATERIALIZED (SELECT key AS place, json_extract(value, '$[0]') AS key, json_extract(value, '$[1]') AS payload, json_extract(value, '$[2]') AS priority, json_extract(value, '$[3]') AS parents, json_extract(value, '$[4]') AS waits_for
  FROM json_each('[["late", null, 0, "[\"east\"]", null]]')) INSERT INTO coordination_partitions (source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, closed_count, failures, lost_leases, available_at, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, ready, position, parents, waits_for)
  SELECT 'flights|PARTITION', given.key, 'UNASSIGNED', given.payload, given.priority, 10485760 + given.place, 2, 0, 0, 0, CASE WHEN given.waits_for IS NULL THEN T+1322s END, T+1322s, T+1322s, 0, '', 'op0070', 'op0070', 'op0070', 0, 0, CASE WHEN given.waits_for IS NULL THEN 3 END, 10485760 + given.place, given.parents, given.waits_for
  FROM given
  WHERE true
  ORDER BY given.place
  ON CONFLICT (source_identifier, source_partition_key) DO UPDATE
  SET source_partition_status = 'UNASSIGNED', rank = 2, closed_count = 0, failures = 0, lost_leases = 0, partition_progress_state = NULL, last_error = NULL, reopen_at = NULL, partition_owner = NULL, partition_ownership_timeout = NULL, staged = NULL, max_lost_leases = NULL, max_failures = NULL, acquired_at = NULL, owner_details = NULL, accounting = NULL, awaited_op = NULL, wanted_by = NULL, wanted_token = NULL, wanted_until = NULL, last_op = 'op0070', create_op = 'op0070', generation = 'op0070', confirmed = 0, deleted = 0, timed = NULL, due_at = NULL, payload = excluded.payload, priority = excluded.priority, parents = excluded.parents, waits_for = excluded.waits_for, ordinal = excluded.ordinal, position = excluded.position, available_at = excluded.available_at, created_at = excluded.created_at, updated_at = excluded.updated_at, ready = excluded.ready
  WHERE deleted = 1 AND create_op <> 'op0070'
  RETURNING 1
INSERT INTO coordination_children (source_identifier, parent_key, child_hash, child_key)
  VALUES ('flights|PARTITION', 'east', '089001a35679a33ef3db0ca350db9b9a2f0136e0e327577b04b3b98127470961', 'late')
  ON CONFLICT DO NOTHING
(as under: create partitions)

## ask for a lease
UPDATE coordination_partitions
  SET wanted_by = 'host/dag/run/other/0/1', wanted_token = 2, wanted_until = T+1322s + 60000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-11' AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0071' AND (wanted_token = 2 AND T+1322s < wanted_until) IS NOT TRUE
  RETURNING 1

## hand a lease over
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+1322s, 'handed over', 'op0072', 'UNASSIGNED', 0, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-11' AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0071' AND last_op = 'op0071' AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_2 = '2|op0071|handed over|op0072|op0071|UNASSIGNED|0|' || T+1322s, source_partition_status = 'UNASSIGNED', closed_count = 0, reopen_at = T+1322s + NULL, partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL, acquired_at = NULL, owner_details = NULL, confirmed = 0, last_op = 'op0072', updated_at = T+1322s, failures = 0, lost_leases = 1, last_error = NULL, rank = 2, available_at = T+1322s + 0, generation = 'op0001', ready = 2, position = ordinal, timed = NULL, due_at = T+1322s + NULL
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-11' AND source_partition_status = 'ASSIGNED' AND token = 2 AND nonce = 'op0071' AND last_op = 'op0071'
  RETURNING source_partition_key, EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND failing_error IS NOT NULL)
(as under: create partitions)

## steal a lease
(as under: create partitions)
INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, ended_at, outcome, op, status_after, closed_count, error, row_count, byte_count, accounting)
  SELECT source_identifier, source_partition_key, token, nonce, partition_owner, owner_details, acquired_at, T+1442s, 'stolen', 'op0074', 'ASSIGNED', closed_count, NULL, 0, 0, CASE WHEN substr(accounting, 16, length(generation) + 2) = generation || '",' THEN accounting END
  FROM coordination_partitions
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-12' AND source_partition_status = 'ASSIGNED' AND token = 3 AND nonce = 'op0073' AND T+1442s < partition_ownership_timeout AND wanted_by = 'host/dag/run/other/0/1' AND wanted_token = 3 AND wanted_until <= T+1442s AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1) AND source_partition_status = 'ASSIGNED'
  ON CONFLICT (source_identifier, source_partition_key, token, nonce) DO NOTHING
UPDATE coordination_partitions
  SET ring_0 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 0 THEN token || '|' || nonce || '|stolen|' || 'op0074' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1442s ELSE ring_0 END, ring_1 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 1 THEN token || '|' || nonce || '|stolen|' || 'op0074' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1442s ELSE ring_1 END, ring_2 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 2 THEN token || '|' || nonce || '|stolen|' || 'op0074' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1442s ELSE ring_2 END, ring_3 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 3 THEN token || '|' || nonce || '|stolen|' || 'op0074' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1442s ELSE ring_3 END, ring_4 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 4 THEN token || '|' || nonce || '|stolen|' || 'op0074' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1442s ELSE ring_4 END, ring_5 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 5 THEN token || '|' || nonce || '|stolen|' || 'op0074' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1442s ELSE ring_5 END, ring_6 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 6 THEN token || '|' || nonce || '|stolen|' || 'op0074' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1442s ELSE ring_6 END, ring_7 = CASE WHEN source_partition_status = 'ASSIGNED' AND (token & 7) = 7 THEN token || '|' || nonce || '|stolen|' || 'op0074' || '|' || last_op || '|ASSIGNED|' || closed_count || '|' || T+1442s ELSE ring_7 END, source_partition_status = 'ASSIGNED', token = token + 1, nonce = 'op0074', last_op = 'op0074', max_lost_leases = 2, max_failures = 5, partition_owner = 'host/dag/run/other/0/1', owner_task = 'dag/run/other/0', owner_try = 1, partition_ownership_timeout = T+1442s + 600000000, acquired_at = T+1442s, owner_details = NULL, reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = T+1442s, ready = NULL, timed = 1, due_at = T+1442s + 600000000
  WHERE source_identifier = 'flights|PARTITION' AND source_partition_key = 'day-12' AND source_partition_status = 'ASSIGNED' AND token = 3 AND nonce = 'op0073' AND T+1442s < partition_ownership_timeout AND wanted_by = 'host/dag/run/other/0/1' AND wanted_token = 3 AND wanted_until <= T+1442s AND NOT EXISTS (SELECT 1
  FROM coordination_sources
  WHERE source_identifier = 'flights|PARTITION' AND paused = 1)
  RETURNING source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank, partition_progress_state, closed_count, failures, lost_leases, last_error, reopen_at, available_at, partition_owner, partition_ownership_timeout, created_at, updated_at, token, nonce, last_op, create_op, generation, confirmed, deleted, staged, max_lost_leases, max_failures, acquired_at, owner_details, accounting, parents, waits_for, awaited_op, wanted_by, wanted_token, wanted_until, ring_0, ring_1, ring_2, ring_3, ring_4, ring_5, ring_6, ring_7
(as under: create partitions)
