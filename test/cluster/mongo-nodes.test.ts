// Several nodes on one MongoDB database: what one document decides is decided once, whoever asks; and what a process
// that died left half done is finished or invisible.
import { MongoClient } from 'mongodb';
import { afterAll, describe, expect, inject, it } from 'vitest';
import type { ApprovalRow, ArgsRow } from '../../adapters/mongo/approval-rows.ts';
import { mongoApprovals } from '../../adapters/mongo/approvals.ts';
import { risingIds } from '../../adapters/mongo/uuidv7.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import type { ContractVersion } from '../../src/contract/record.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import {
  aBundle,
  aComposition,
  aContract,
  aDeployment,
  anApproval,
  anItem,
  aRule,
  aSigningKey,
  aTenant,
  aUser,
  firstPage,
  hex128,
  itemsOf,
  parallel,
  t0,
  uuid,
} from '../conformance/fixtures.ts';
import { mongoDatabases } from './stage.ts';

const databases = mongoDatabases();
const client = new MongoClient(inject('mongoUrl'));
afterAll(() => client.close());

async function nodes(n: number, database = databases.newName()) {
  const stores = await parallel(n, () => databases.open(database));
  const at = (i: number): DocumentStore => {
    const store = stores[i % n];
    if (!store) throw new Error('no store');
    return store;
  };
  return { at, db: client.db(database), close: () => Promise.all(stores.map((store) => store.close())) };
}

const founding = () => {
  const tenant = aTenant();
  return { tenant, admin: aUser({ tenantId: tenant.id }), key: aSigningKey({ tenantId: tenant.id }) };
};

describe('mongo, three nodes at once', () => {
  it('of 30 bootstraps and creations one is the first', async () => {
    const { at, close } = await nodes(3);
    const all = Array.from({ length: 30 }, founding);
    const answers = await Promise.all(all.map((f, i) => at(i).tenants.bootstrap(f.tenant, f.admin, f.key)));
    expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
    const winner = all[answers.indexOf('created')];
    expect(await at(1).tenants.listIds()).toEqual([winner?.tenant.id]);
    await close();
  });

  it('versions are counted without gaps and without repeats', async () => {
    const { at, close } = await nodes(3);
    const contract = aContract();
    await at(0).contracts.create(contract);
    const meta = () => ({ id: uuid(), createdBy: 'x', createdAt: t0 });
    const made = (await parallel(30, (i) =>
      at(i).contracts.update(contract.tenantId, contract.contractId, { name: `n${i}` }, meta()),
    )) as (ContractVersion | null)[];
    expect(made.map((v) => v?.version ?? 0).sort((a, b) => a - b)).toEqual(made.map((_, i) => i + 2));
    const history = await at(1).contracts.listVersions(contract.tenantId, contract.contractId);
    expect(history.map((v) => v.version)).toEqual(Array.from({ length: 31 }, (_, i) => 31 - i));
    for (const version of made) {
      const stored = await at(2).contracts.getVersion(
        contract.tenantId,
        contract.contractId,
        version?.version ?? 0,
      );
      expect(stored).toEqual(version);
    }
    const tenantId = uuid();
    const bundles = await parallel(30, (i) => at(i).bundles.upload(aBundle({ tenantId })));
    expect(bundles.map((b) => b.version).sort((a, b) => a - b)).toEqual(bundles.map((_, i) => i + 1));
    await close();
  });

  it('a contract that is removed while another node uses it is either gone or used', async () => {
    const { at, close } = await nodes(2);
    for (let round = 0; round < 15; round++) {
      const c = aContract();
      await at(0).contracts.create(c);
      const composition = aComposition({
        tenantId: c.tenantId,
        items: [anItem({ contractId: c.contractId })],
      });
      const [removed, made] = await Promise.all([
        at(0).contracts.remove(c.tenantId, c.contractId),
        at(1).compositions.create(composition),
      ]);
      if (removed === 'removed') expect(made).toEqual({ unknownContract: c.contractId });
      else expect(removed).toEqual({ usedBy: [composition.name], count: 1 });
    }
    await close();
  });

  it('deployments and rotations at once: each deployment its sequence, all signed by the active key', async () => {
    const { at, close } = await nodes(3);
    const tenantId = uuid();
    const key = aSigningKey({ tenantId });
    await at(0).signing.create(key);
    await at(0).bundles.upload(aBundle({ tenantId }));
    const first = await at(0).deployments.deploy(aDeployment({ tenantId, signingKeyId: key.id }));
    if (typeof first === 'string') throw new Error(first);
    const next = aSigningKey({ tenantId });
    const [rotation, ...added] = await Promise.all([
      at(0).signing.rotate(
        tenantId,
        key.id,
        next,
        [{ deploymentId: first.id, signature: hex128('n'), attestation: hex128('a') }],
        null,
      ),
      ...Array.from({ length: 12 }, (_, i) =>
        at(i).deployments.deploy(aDeployment({ tenantId, signingKeyId: key.id })),
      ),
    ]);
    const active = await at(1).signing.getActive(tenantId);
    for (const d of await at(2).deployments.listAllCurrent(tenantId)) expect(d.signingKeyId).toBe(active?.id);
    const placed = added.flatMap((d) => (typeof d === 'string' ? [] : [d.sequence])).sort((a, b) => a - b);
    expect(new Set(placed).size).toBe(placed.length);
    if (rotation === 'rotated') expect(placed).toEqual([]);
    const listed = await itemsOf(at(1).deployments.list(tenantId, {}, { limit: 100, offset: 0 }));
    expect(listed.map((d) => d.sequence)).toEqual([...placed].reverse().concat(first.sequence));
    await close();
  });

  it('of many decisions on one approval one succeeds', async () => {
    const { at, close } = await nodes(3);
    const approval = anApproval();
    await parallel(6, (i) => at(i).approvals.request(approval));
    const decided = await parallel(30, (i) =>
      i % 2
        ? at(i).approvals.expire(approval.tenantId, approval.id, approval.deadline)
        : at(i).approvals.decide(
            approval.tenantId,
            approval.id,
            { id: `${i}`, approved: true, decidedBy: `${i}`, reason: null, decidedVia: 'console' },
            t0,
          ),
    );
    expect(decided.filter((d) => d !== null && d !== 'not_pending')).toHaveLength(1);
    await close();
  });
});

/** A collection some of whose methods a test takes over. */
const bent = <T extends object>(real: T, over: Partial<T>): T =>
  new Proxy(real, {
    get(target, name) {
      const value = Reflect.get(name in over ? over : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

describe('mongo, while connections break', () => {
  const rows = client.db(databases.newName()).collection<ApprovalRow>('approvals');
  const args = client.db(databases.newName()).collection<ArgsRow>('approvalArgs');
  const store = (over: Partial<typeof rows>) =>
    mongoApprovals(bent(rows, over), args, risingIds(), systemClock, { noteChange: () => {} });
  const decision = { id: 'd', approved: true, decidedBy: 'ada', reason: null, decidedVia: 'console' };

  it('a decision that was written is answered as won although the approval could not be read beside it', async () => {
    let broken = 1;
    const findOne = ((filter: object) => {
      return broken-- > 0 ? Promise.reject(new Error('cut')) : rows.findOne(filter);
    }) as typeof rows.findOne;
    const approvals = store({ findOne });
    const approval = anApproval();
    await approvals.request(approval);
    expect(await approvals.decide(approval.tenantId, approval.id, decision, t0)).toEqual({
      ...approval,
      status: 'approved',
      decidedBy: 'ada',
      decidedAt: t0,
      decidedVia: 'console',
    });
  });

  it('marks that cannot be taken off are asked for once, however often they are announced, and soon given up', async () => {
    let writes = 0;
    const bulkWrite = (() => {
      writes++;
      return Promise.reject(new Error('away'));
    }) as typeof rows.bulkWrite;
    const approvals = store({ bulkWrite });
    const ids = Array.from({ length: 100 }, uuid);
    const tenantId = uuid();
    const five = parallel(5, () => approvals.announced(tenantId, 'pending', ids));
    await expect(five).rejects.toThrow('away');
    await expect(approvals.announced(uuid(), 'pending', [uuid()])).rejects.toThrow('did not answer');
    expect(writes).toBe(1);
  });
});

describe('mongo, after a process died half-way', () => {
  it('a tenant whose founding was not copied is there at the next start, and for a node that runs', async () => {
    const { at, db, close } = await nodes(1);
    const [one, two] = [founding(), founding()];
    await at(0).tenants.bootstrap(one.tenant, one.admin, one.key);
    for (const f of [one, two]) {
      // The state when the process dies after the deciding write.
      const { id: _id, ...tenant } = f.tenant;
      await db.collection<{ _id: string }>('tenants').deleteOne({ _id });
      await db.collection<{ _id: string }>('signing').deleteOne({ _id });
      const { id: userId, ...user } = f.admin;
      await db
        .collection<{ _id: string }>('users')
        .updateOne(
          { _id: userId },
          { $set: { ...user, founding: { tenant: { _id, ...tenant }, key: f.key } } },
          { upsert: true },
        );
    }
    expect(await at(0).signing.getActive(two.tenant.id)).toEqual(two.key);
    expect(await at(0).tenants.createUser(aUser({ tenantId: two.tenant.id }))).toBe('created');
    const restarted = await nodes(1, db.databaseName);
    expect(await restarted.at(0).signing.getActive(one.tenant.id)).toEqual(one.key);
    expect([...(await restarted.at(0).tenants.listIds())].sort()).toEqual(
      [one.tenant.id, two.tenant.id].sort(),
    );
    expect(await db.collection('users').countDocuments({ founding: { $exists: true } })).toBe(0);
    await restarted.close();
    await close();
  });

  it('a deployment that did not reach the history is current, listed, and in the history after the next', async () => {
    const { at, db, close } = await nodes(1);
    const tenantId = uuid();
    const key = aSigningKey({ tenantId });
    await at(0).signing.create(key);
    await at(0).bundles.upload(aBundle({ tenantId }));
    const wanted = aDeployment({ tenantId, signingKeyId: key.id });
    const first = await at(0).deployments.deploy(wanted);
    if (typeof first === 'string') throw new Error(first);
    await db.collection('deployments').deleteMany({ tenantId });
    expect(await itemsOf(at(0).deployments.list(tenantId, {}, { limit: 10, offset: 0 }))).toEqual([first]);
    expect((await at(0).bundles.getVersion(tenantId, 'base', 1))?.signature).toBe(first.signature);
    expect(await itemsOf(at(0).bundles.list(tenantId, 'production', firstPage))).toMatchObject([
      { name: 'base', versionCount: 1 },
    ]);
    expect(await at(0).deployments.deploy(wanted)).toEqual(first);
    const second = await at(0).deployments.deploy(aDeployment({ tenantId, signingKeyId: key.id }));
    expect(await itemsOf(at(0).deployments.list(tenantId, {}, { limit: 10, offset: 0 }))).toEqual([
      second,
      first,
    ]);
    await close();
  });

  it('a deployment without an attestation reads as one, gets it once, and the next goes above it', async () => {
    const { at, db, close } = await nodes(1);
    const tenantId = uuid();
    const key = aSigningKey({ tenantId });
    await at(0).signing.create(key);
    await at(0).bundles.upload(aBundle({ tenantId }));
    const add = (sequence: number) =>
      at(0).deployments.deploy(aDeployment({ tenantId, sequence, signingKeyId: key.id }));
    const attested = await add(2);
    if (typeof attested === 'string') throw new Error(attested);
    const field = 'current.kproduction%3Abase';
    const { modifiedCount } = await db
      .collection<{ _id: string }>('signing')
      .updateOne({ _id: tenantId }, { $set: { [`${field}.attestation`]: null } });
    expect(modifiedCount).toBe(1);
    const { deployments, signing } = at(0);
    expect(await deployments.getCurrent(tenantId, 'production', 'base')).toEqual({
      ...attested,
      attestation: null,
    });
    expect(await deployments.getLastSequence(tenantId, 'production', 'base')).toBe(2);
    expect(await signing.listSuccessions(tenantId)).toEqual([]);
    expect(await add(2)).toBe('stale_sequence');
    await deployments.attest(attested);
    expect(await deployments.getCurrent(tenantId, 'production', 'base')).toEqual(attested);
    expect(await add(3)).toMatchObject({ sequence: 3 });
    await close();
  });

  it('a contract version that the library does not name is not there, and its number is given again', async () => {
    const { at, db, close } = await nodes(1);
    const contract = aContract();
    await at(0).contracts.create(contract);
    const rows = db.collection<{ _id: string; version: number; kept: boolean }>('contracts');
    const row = await rows.findOne({});
    if (!row) throw new Error('no row');
    await rows.insertOne({ ...row, _id: uuid(), version: 2, kept: false });
    const { tenantId, contractId } = contract;
    expect(await at(0).contracts.getVersion(tenantId, contractId, 2)).toBeNull();
    expect(await at(0).contracts.listVersions(tenantId, contractId)).toHaveLength(1);
    const meta = { id: uuid(), createdBy: 'x', createdAt: t0 };
    expect(await at(0).contracts.update(tenantId, contractId, { name: 'real' }, meta)).toMatchObject({
      version: 2,
    });
    expect(await at(0).contracts.update(tenantId, contractId, {}, meta)).toMatchObject({ version: 3 });
    expect(await at(0).contracts.getVersion(tenantId, contractId, 2)).toMatchObject({ name: 'real' });
    expect(await at(0).contracts.listVersions(tenantId, contractId)).toHaveLength(3);
    await close();
  });
});

describe('mongo, an owner that was paused and does not know that another has taken over', () => {
  const stale = { code: 'unavailable' };

  it('cannot deploy over what the new owner deployed', async () => {
    const { at, close } = await nodes(2);
    const { tenant, admin, key } = founding();
    await at(0).tenants.bootstrap(tenant, admin, key);
    const tenantId = tenant.id;
    await at(0).bundles.upload(aBundle({ tenantId }));
    const deployment = () => aDeployment({ tenantId, signingKeyId: key.id });
    const first = await at(0).deployments.deploy(deployment(), 10);
    const second = await at(1).deployments.deploy(deployment(), 20);
    await expect(at(0).deployments.deploy(deployment(), 10)).rejects.toMatchObject(stale);
    expect(await at(0).deployments.listCurrent(tenantId, 'production')).toEqual([second]);
    // Another environment has another owner.
    const elsewhere = { ...deployment(), env: 'staging' as const };
    expect(await at(0).deployments.deploy(elsewhere, 10)).toEqual(elsewhere);
    expect(first).toMatchObject({ tenantId });
    await close();
  });

  it('cannot change or remove a rule that the new owner changed', async () => {
    const { at, close } = await nodes(2);
    const rule = aRule();
    const { tenantId, id } = rule;
    await at(0).rules.create(rule);
    expect(await at(0).rules.update(tenantId, id, { pattern: 'a*' }, 10)).toEqual({ ...rule, pattern: 'a*' });
    await at(1).rules.update(tenantId, id, { pattern: 'b*' }, 20);
    await expect(at(0).rules.update(tenantId, id, { pattern: 'c*' }, 10)).rejects.toMatchObject(stale);
    await expect(at(0).rules.remove(tenantId, id, 10)).rejects.toMatchObject(stale);
    expect(await at(0).rules.list(tenantId)).toEqual([{ ...rule, pattern: 'b*' }]);
    expect(await at(1).rules.remove(tenantId, id, 20)).toEqual({ ...rule, pattern: 'b*' });
    expect(await at(0).rules.update(tenantId, id, { pattern: 'c*' }, 10)).toBe('absent');
    await close();
  });

  it('cannot assign agents that the new owner assigned', async () => {
    const { at, close } = await nodes(2);
    const tenantId = uuid();
    for (const agentId of ['a', 'b'])
      await at(0).agents.noteSeen(tenantId, agentId, 'production', t0, uuid());
    await at(0).agents.assign(tenantId, ['a', 'b'], 'old', 10);
    await at(1).agents.assign(tenantId, ['a'], 'new', 20);
    await expect(at(0).agents.assign(tenantId, ['a'], 'old', 10)).rejects.toMatchObject(stale);
    const { items } = await at(1).agents.list(tenantId, { limit: 9, after: null });
    const bundles = items.map(({ bundleName }) => bundleName);
    expect(bundles).toEqual(['new', 'old']);
    await close();
  });
});
