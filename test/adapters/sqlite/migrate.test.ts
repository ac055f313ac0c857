// A file that an older version of the hub wrote: what its deployments, signing keys and API keys become.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Database } from '../../../adapters/sqlite/database.ts';
import { deploymentStore } from '../../../adapters/sqlite/deployments.ts';
import { keyStore } from '../../../adapters/sqlite/keys.ts';
import { migrate } from '../../../adapters/sqlite/schema/index.ts';
import { signingStore } from '../../../adapters/sqlite/signing.ts';
import { aDeployment, t0, uuid } from '../../conformance/fixtures.ts';

/** The newest version whose deployments had no attestation and counted from 1. */
const before = 5;

let db: Database;
beforeEach(() => {
  db = new Database(':memory:');
  migrate(db, before);
});
afterEach(() => db.close());

it('keeps the API keys of an older file for every agent, without an end', () => {
  const row = ['k1', 't1', 'staging', null, 'svk_staging_12345678', 'hash', 'ann', t0, null, null];
  db.run(`INSERT INTO keys VALUES (${row.map(() => '?')})`, row);
  migrate(db);
  expect(keyStore(db).byHash('hash')).toMatchObject({ id: 'k1', agentPattern: null, expiresAt: null });
});

it('keeps the deployments of an older file, goes on above their sequences, and forgets retired seeds', () => {
  const tenantId = uuid();
  const insertKey = (id: string, active: number) =>
    db.run('INSERT INTO signing_keys VALUES (?, ?, ?, ?, ?, ?)', [id, tenantId, 'aa', 'sealed', active, t0]);
  insertKey('old', 0);
  insertKey('new', 1);
  const bundle = [uuid(), tenantId, 'base', 1, 'hash', 1, 5, 'ann', t0, null, null, null];
  db.run(`INSERT INTO bundles VALUES (${bundle.map(() => '?')})`, bundle);
  for (const [sequence, isCurrent] of [
    [1, 0],
    [2, 1],
  ] as const) {
    const row = ['production', 'base', 1, 'hash', sequence, 'sig', 'aa', 'new', 'ann', t0, isCurrent];
    const values = [`d${sequence}`, tenantId, ...row];
    db.run(`INSERT INTO deployments VALUES (${values.map(() => '?')})`, values);
  }
  migrate(db);

  const deployments = deploymentStore(db);
  expect(deployments.currentOf(tenantId, 'production', 'base')).toMatchObject({
    id: 'd2',
    sequence: 2,
    attestation: null,
  });
  expect(deployments.lastSequence(tenantId, 'production', 'base')).toBe(2);
  const next = (sequence: number) =>
    deployments.add(aDeployment({ tenantId, sequence, signingKeyId: 'new', revisionHash: 'hash' }));
  expect(next(2)).toBe('stale_sequence');
  expect(next(3)).toMatchObject({ sequence: 3 });
  expect(signingStore(db).successions(tenantId)).toEqual([]);
  expect(db.all('SELECT id, sealed_seed FROM signing_keys ORDER BY id')).toEqual([
    ['new', 'sealed'],
    ['old', ''],
  ]);
});
