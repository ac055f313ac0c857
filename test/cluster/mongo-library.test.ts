// The library and deployments in MongoDB: one document decides about each, so that a large one stays within its size,
// and a process may die beside it.
import { type Collection, type Document, MongoClient } from 'mongodb';
import { afterAll, expect, inject, it, onTestFinished } from 'vitest';
import { type DeploymentRow, mongoDeployments } from '../../adapters/mongo/deployments.ts';
import { compositionPath, type LibraryDocument } from '../../adapters/mongo/library.ts';
import type { SigningDocument } from '../../adapters/mongo/signing.ts';
import {
  aBundle,
  aComposition,
  aContract,
  aDeployment,
  anItem,
  aSigningKey,
  firstPage,
  t0,
  uuid,
} from '../conformance/fixtures.ts';
import { itAtNight } from '../runs.ts';
import { mongoDatabases } from './stage.ts';

const databases = mongoDatabases();
const client = new MongoClient(inject('mongoUrl'));
afterAll(() => client.close());

const perComposition = 50;
const contractIds = Array.from({ length: 2_000 }, (_, i) => `contract-of-some-team-${i}`);

itAtNight(
  'takes 2,000 contracts and 500 compositions of 50 items, and changes them like a small one',
  async () => {
    const name = databases.newName();
    const store = await databases.open(name);
    const tenantId = uuid();
    const itemsAt = (first: number) =>
      Array.from({ length: perComposition }, (_, i) =>
        anItem({ contractId: contractIds[(first + i) % contractIds.length] ?? '', position: i * 10 }),
      );
    const contracts = contractIds.map((contractId) => aContract({ tenantId, contractId }));
    const first = aComposition({ tenantId, name: 'imported', items: itemsAt(0) });
    expect(await store.contracts.importBundle(tenantId, contracts, first)).toMatchObject({
      composition: 'imported',
    });
    // All but the last are written at once: one after the other they would take minutes on a busy machine.
    const documents = client.db(name).collection<LibraryDocument>('libraries');
    const made = (await documents.findOne({ _id: tenantId }))?.compositions?.kimported;
    if (!made) throw new Error('The import made no composition.');
    const more = Array.from({ length: 498 }, (_, i) => ({ ...made, id: uuid(), name: `copy-${i}` }));
    const $set = Object.fromEntries(more.map((entry) => [compositionPath(entry.name), entry]));
    await documents.updateOne({ _id: tenantId }, { $set });
    const last = aComposition({ tenantId, name: 'last', items: itemsAt(1_990) });
    expect(await store.compositions.create(last)).toMatchObject({ name: 'last' });

    const [document] = await client
      .db(name)
      .collection('libraries')
      .aggregate([{ $project: { bytes: { $bsonSize: '$$ROOT' } } }])
      .toArray();
    // MongoDB keeps documents of 16 MiB: there is room for three times as much.
    expect(document?.bytes).toBeGreaterThan(1024 * 1024);
    expect(document?.bytes).toBeLessThan((16 / 3) * 1024 * 1024);

    const changed = contractIds[7] ?? '';
    const place = { id: uuid(), createdBy: 'ada@example.org', createdAt: 1 };
    const added = await store.contracts.update(tenantId, changed, { name: 'Renamed' }, place);
    expect(added).toMatchObject({ contractId: changed, version: 2, name: 'Renamed' });
    const used = await store.contracts.countUsage(tenantId, changed);
    expect(used).toBeGreaterThan(1);
    expect((await store.contracts.listUsage(tenantId, changed, firstPage)).items.length).toBeGreaterThan(0);
    const listed = await store.compositions.list(tenantId, { limit: 1_000, offset: 0 });
    expect(listed.items).toHaveLength(500);
    await store.close();
  },
  120_000,
);

it('refuses what would make the library larger than its document may be, says so, and keeps what it has', async () => {
  const name = databases.newName();
  const store = await databases.open(name);
  const tenantId = uuid();
  const contract = aContract({ tenantId });
  const { contractId } = contract;
  await store.contracts.create(contract);
  const documents = client.db(name).collection<{ _id: string }>('libraries');
  // A library that is nearly full; nothing reads this field.
  const left = 2_000;
  const [document] = await documents.aggregate([{ $project: { bytes: { $bsonSize: '$$ROOT' } } }]).toArray();
  const filler = 'x'.repeat(16 * 1024 * 1024 - (document?.bytes ?? 0) - left);
  await documents.updateOne({ _id: tenantId }, { $set: { filler } });

  const items = Array.from({ length: perComposition }, (_, i) => anItem({ contractId, position: i }));
  const composition = aComposition({ tenantId, items });
  const full = {
    code: 'unprocessable',
    message: expect.stringMatching(/tenant's library is full.*16 MiB/),
  };
  await expect(store.compositions.create(composition)).rejects.toMatchObject(full);
  expect(await store.contracts.get(tenantId, contractId)).toEqual(contract);
  expect((await store.compositions.list(tenantId, firstPage)).items).toEqual([]);
  await store.close();
}, 60_000);

const end = { at: t0 + 5_000, by: 'ada@example.org' };

/** A running deployment, and collections whose next update fails where `dies` says. */
async function aRunningDeployment(dies: (collection: string, isRunning: boolean) => boolean) {
  const name = databases.newName();
  const { signing, bundles, deployments, close } = await databases.open(name);
  onTestFinished(close);
  const [tenantId, signingKeyId] = [uuid(), uuid()];
  await signing.create(aSigningKey({ id: signingKeyId, tenantId }));
  const { name: bundleName } = await bundles.upload(aBundle({ tenantId }));
  const deployment = aDeployment({ tenantId, bundleName, version: 1, signingKeyId, createdAt: t0 });
  await deployments.deploy(deployment);
  const isRunning = async () => (await deployments.getCurrent(tenantId, deployment.env, bundleName)) !== null;
  const dying = <D extends Document>(collection: Collection<D>) =>
    new Proxy(collection, {
      get: (target, method) => {
        if (method !== 'updateOne') return Reflect.get(target, method);
        return async (...args: Parameters<Collection<D>['updateOne']>) => {
          if (dies(target.collectionName, await isRunning())) throw new Error('The process died.');
          return target.updateOne(...args);
        };
      },
    });
  const db = client.db(name);
  const collections = {
    signing: dying(db.collection<SigningDocument>('signing')),
    deployments: dying(db.collection<DeploymentRow>('deployments')),
  };
  const { undeploy } = mongoDeployments(
    collections,
    (_key, task) => task(),
    async () => true,
  );
  await undeploy(tenantId, deployment.env, bundleName, 0, end).catch(() => null);
  return { deployments, deployment, isRunning };
}

it('keeps the end of a deployment when the process dies right after it took the bundle away', async () => {
  const { deployments, deployment, isRunning } = await aRunningDeployment((_, isRunning) => !isRunning);
  expect(await isRunning()).toBe(false);
  const { tenantId, id } = deployment;
  const ended = { id, undeployedAt: end.at, undeployedBy: end.by };
  expect(await deployments.get(tenantId, id)).toMatchObject(ended);
  const range = { env: null, since: end.at, until: end.at + 1 };
  expect((await deployments.list(tenantId, range, firstPage)).items).toMatchObject([ended]);
});

it('shows no end of a deployment that was never decided on, and keeps none', async () => {
  const { deployments, deployment, isRunning } = await aRunningDeployment((name) => name === 'signing');
  expect(await isRunning()).toBe(true);
  const { tenantId, id, sequence } = deployment;
  const running = { id, undeployedAt: null, undeployedBy: null };
  const range = { env: null, since: end.at };
  expect((await deployments.list(tenantId, { env: null }, firstPage)).items).toMatchObject([running]);
  for (const one of (await deployments.list(tenantId, range, firstPage)).items)
    expect(one).toMatchObject(running);
  await deployments.deploy({ ...deployment, id: uuid(), sequence: sequence + 1 });
  expect(await deployments.get(tenantId, id)).toMatchObject(running);
});
