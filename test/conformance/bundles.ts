// Every store's promises about bundle versions and deployments (bundle/port, deployment/port).
import { describe, expect, it } from 'vitest';
import type { Deployment } from '../../src/deployment/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import {
  aBundle,
  aDeployment,
  aSigningKey,
  firstPage,
  hex128,
  hostileTexts,
  itemsOf,
  type Open,
  parallel,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

export function bundlesContract(name: string, open: Open): void {
  describe(`${name}: bundles`, () => {
    const shared = sharedStore(open);

    it('finds versions by the hash of their bytes, newest upload first, of any name', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const yaml = new TextEncoder().encode('kind: Ruleset\n');
      const first = await store.bundles.upload(aBundle({ tenantId, name: 'a', yaml, createdAt: t0 }));
      await store.bundles.upload(aBundle({ tenantId, name: 'a', createdAt: t0 + 1 }));
      await store.bundles.upload(aBundle({ tenantId, name: 'b', yaml, createdAt: t0 + 2 }));
      const { revisionHash } = first;
      expect(await store.bundles.listByRevision(tenantId, revisionHash)).toEqual([
        { name: 'b', version: 1 },
        { name: 'a', version: 1 },
      ]);
      await store.bundles.remove(tenantId, 'b', t0 + 3);
      expect(await store.bundles.listByRevision(tenantId, revisionHash)).toEqual([{ name: 'a', version: 1 }]);
      expect(await store.bundles.listByRevision(uuid(), revisionHash)).toEqual([]);
    });

    it('saves a version after the newest one only: of parallel calls one is saved', async () => {
      const { bundles } = shared.get();
      const [tenantId, name] = [uuid(), 'team'];
      const addAfter = (version: number) => bundles.uploadAfter(aBundle({ tenantId, name }), version);
      expect(await addAfter(1)).toBe('changed');
      const first = await parallel(10, () => addAfter(0));
      expect(first.filter((answer) => answer !== 'changed')).toMatchObject([{ version: 1 }]);
      expect(await addAfter(0)).toBe('changed');
      expect(await addAfter(1)).toMatchObject({ version: 2 });
      expect(await bundles.remove(tenantId, name, t0)).toBe('removed');
      expect(await addAfter(2)).toBe('changed');
      expect(await addAfter(0)).toMatchObject({ version: 3 });
    });

    it('versions count from 1 per name and keep the bytes as uploaded', async () => {
      const { bundles } = shared.get();
      const tenantId = uuid();
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
      const given = aBundle({
        tenantId,
        yaml: bytes,
        compositionId: uuid(),
        snapshot: [{ contract_id: 'a', version: 3, mode: 'enforce', observe: false }],
      });
      const { yaml: _, ...rest } = given;
      const first = await bundles.upload(given);
      expect(first).toEqual({ ...rest, version: 1, signature: null });
      const second = await bundles.upload(
        aBundle({ tenantId, contractCount: null, mode: null, description: null }),
      );
      expect(second.version).toBe(2);
      expect((await bundles.upload(aBundle({ tenantId, name: 'other' }))).version).toBe(1);
      expect(await bundles.getVersion(tenantId, 'base', 1)).toEqual(first);
      expect(await itemsOf(bundles.listVersions(tenantId, 'base', firstPage))).toEqual([second, first]);
      const stored = await bundles.getYaml(tenantId, 'base', 1);
      expect(stored).toBeInstanceOf(Uint8Array);
      expect([...(stored ?? [])]).toEqual([...bytes]);
      expect(await bundles.getVersion(tenantId, 'base', 3)).toBeNull();
      expect(await bundles.getYaml(tenantId, 'base', 3)).toBeNull();
      expect(await itemsOf(bundles.listVersions(tenantId, 'nothing', firstPage))).toEqual([]);
    });

    it('30 parallel uploads get 30 versions', async () => {
      const { bundles } = shared.get();
      const tenantId = uuid();
      const made = await parallel(30, () => bundles.upload(aBundle({ tenantId })));
      expect(made.map((b) => b.version).sort((a, b) => a - b)).toEqual(made.map((_, i) => i + 1));
    });

    it('a repeat of the same id is the same version', async () => {
      const { bundles } = shared.get();
      const given = aBundle();
      const made = await parallel(5, () => bundles.upload(given));
      expect(made).toEqual(made.map(() => made[0]));
      await bundles.upload(aBundle({ tenantId: given.tenantId }));
      expect(await bundles.upload(given)).toEqual(made[0]);
      expect(await itemsOf(bundles.listVersions(given.tenantId, 'base', firstPage))).toHaveLength(2);
    });

    it('tenants have names and versions of their own', async () => {
      const { bundles } = shared.get();
      const mine = aBundle();
      await bundles.upload(mine);
      const stranger = uuid();
      expect(await bundles.getVersion(stranger, 'base', 1)).toBeNull();
      expect(await itemsOf(bundles.listVersions(stranger, 'base', firstPage))).toEqual([]);
      expect(await bundles.getYaml(stranger, 'base', 1)).toBeNull();
      expect(await itemsOf(bundles.list(stranger, null, firstPage))).toEqual([]);
      expect((await bundles.upload(aBundle({ tenantId: stranger }))).version).toBe(1);
    });

    it('hostile texts are names like any other', async () => {
      const { bundles } = shared.get();
      const tenantId = uuid();
      for (const text of hostileTexts) {
        const made = await bundles.upload(aBundle({ tenantId, name: text, uploadedBy: text }));
        expect(made).toMatchObject({ name: text, version: 1, uploadedBy: text });
        expect(await bundles.getVersion(tenantId, text, 1)).toEqual(made);
      }
    });

    it('summaries show all bundles, newest upload first, and where they were deployed', async () => {
      const { store, tenantId, deploy } = await withKey(shared.get());
      const upload = (bundle: string, createdAt: number, contractCount: number | null) =>
        store.bundles.upload(aBundle({ tenantId, name: bundle, createdAt, contractCount }));
      await upload('a', t0 + 1, 1);
      await upload('b', t0 + 2, 7);
      await upload('a', t0 + 3, 2);
      await upload('a', t0 + 4, null);
      await upload('b', t0 + 5, 8);
      await upload('c', t0 + 3, 9);
      await deploy('staging', 'a', 1, t0 + 10);
      await deploy('production', 'a', 2, t0 + 11);
      await deploy('production', 'a', 1, t0 + 12);
      const never = { deployedEnvs: [], lastDeployedAt: null };
      expect(await itemsOf(store.bundles.list(tenantId, null, firstPage))).toEqual([
        { name: 'b', latestVersion: 2, versionCount: 2, lastUpdated: t0 + 5, contractCount: 8, ...never },
        {
          name: 'a',
          latestVersion: 3,
          versionCount: 3,
          lastUpdated: t0 + 4,
          contractCount: null,
          deployedEnvs: ['production', 'staging'],
          lastDeployedAt: t0 + 12,
        },
        { name: 'c', latestVersion: 1, versionCount: 1, lastUpdated: t0 + 3, contractCount: 9, ...never },
      ]);
      expect(await itemsOf(store.bundles.list(tenantId, 'production', firstPage))).toEqual([
        {
          name: 'a',
          latestVersion: 2,
          versionCount: 2,
          lastUpdated: t0 + 3,
          contractCount: 2,
          deployedEnvs: ['production'],
          lastDeployedAt: t0 + 12,
        },
      ]);
      expect(await itemsOf(store.bundles.list(tenantId, 'development', firstPage))).toEqual([]);
    });
  });
}

/** A tenant with an active key and a way to deploy. */
async function withKey(store: Awaited<ReturnType<Open>>) {
  const tenantId = uuid();
  const key = aSigningKey({ tenantId });
  await store.signing.create(key);
  const deploy = async (
    env: Env,
    bundleName: string,
    version: number,
    createdAt = t0,
  ): Promise<Deployment> => {
    const given = aDeployment({ tenantId, env, bundleName, version, createdAt, signingKeyId: key.id });
    const made = await store.deployments.deploy(given);
    if (typeof made === 'string') throw new Error(made);
    return made;
  };
  return { store, tenantId, key, deploy };
}

export function deploymentsContract(name: string, open: Open): void {
  describe(`${name}: deployments`, () => {
    const shared = sharedStore(open);

    it('counts per environment and bundle, and the newest is the current one', async () => {
      const { store, tenantId, deploy } = await withKey(shared.get());
      for (let i = 0; i < 2; i++) await store.bundles.upload(aBundle({ tenantId }));
      await store.bundles.upload(aBundle({ tenantId, name: 'zeta' }));
      const first = await deploy('production', 'base', 2);
      const rollback = await deploy('production', 'base', 1);
      const staging = await deploy('staging', 'base', 2);
      const zeta = await deploy('production', 'zeta', 1);
      const { getLastSequence } = store.deployments;
      expect(await getLastSequence(tenantId, 'production', 'base')).toBe(rollback.sequence);
      expect(await getLastSequence(tenantId, 'staging', 'base')).toBe(staging.sequence);
      expect(await getLastSequence(tenantId, 'development', 'base')).toBe(0);
      expect(rollback.sequence).toBeGreaterThan(first.sequence);
      expect(await store.deployments.listCurrent(tenantId, 'production')).toEqual([rollback, zeta]);
      expect(await store.deployments.getCurrent(tenantId, 'production', 'base')).toEqual(rollback);
      expect(await store.deployments.getCurrent(tenantId, 'development', 'base')).toBeNull();
      expect(await store.deployments.listCurrent(tenantId, 'development')).toEqual([]);
      for (const one of [first, rollback, zeta])
        expect(await store.deployments.get(tenantId, one.id)).toEqual(one);
      expect(await store.deployments.get(uuid(), zeta.id)).toBeNull();
      expect(await store.deployments.get(tenantId, uuid())).toBeNull();
      const all = await store.deployments.listAllCurrent(tenantId);
      expect(all).toHaveLength(3);
      expect(all).toEqual(expect.arrayContaining([rollback, staging, zeta]));
    });

    it('gives the bundle version the signature of its newest deployment', async () => {
      const { store, tenantId, deploy } = await withKey(shared.get());
      await store.bundles.upload(aBundle({ tenantId }));
      await deploy('production', 'base', 1);
      const second = await deploy('staging', 'base', 1);
      expect((await store.bundles.getVersion(tenantId, 'base', 1))?.signature).toBe(second.signature);
      expect(
        (await itemsOf(store.bundles.listVersions(tenantId, 'base', firstPage))).map((b) => b.signature),
      ).toEqual([second.signature]);
    });

    it('refuses a version that does not exist and a key that is not active', async () => {
      const { store, tenantId, key } = await withKey(shared.get());
      await store.bundles.upload(aBundle({ tenantId }));
      const given = aDeployment({ tenantId, signingKeyId: key.id });
      expect(await store.deployments.deploy({ ...given, version: 2 })).toBe('no_version');
      expect(await store.deployments.deploy({ ...given, bundleName: 'other' })).toBe('no_version');
      expect(await store.deployments.deploy({ ...given, signingKeyId: uuid() })).toBe('stale_key');
      expect(await store.deployments.listAllCurrent(tenantId)).toEqual([]);
      expect((await store.bundles.getVersion(tenantId, 'base', 1))?.signature).toBeNull();
    });

    it('a repeat of the same id is the same deployment', async () => {
      const { store, tenantId, key, deploy } = await withKey(shared.get());
      await store.bundles.upload(aBundle({ tenantId }));
      const given = aDeployment({ tenantId, signingKeyId: key.id });
      const made = await parallel(5, () => store.deployments.deploy(given));
      expect(made).toEqual(made.map(() => given));
      const later = await deploy('production', 'base', 1);
      expect(await store.deployments.deploy(given)).toEqual(given);
      expect(await store.deployments.getCurrent(tenantId, 'production', 'base')).toEqual(later);
    });

    it('refuses a sequence that is not above the last one of the bundle in the environment', async () => {
      const { store, tenantId, key } = await withKey(shared.get());
      await store.bundles.upload(aBundle({ tenantId }));
      const add = (sequence: number, env: Env = 'production') =>
        store.deployments.deploy(aDeployment({ tenantId, env, sequence, signingKeyId: key.id }));
      const tenth = await add(10);
      expect(await add(10)).toBe('stale_sequence');
      expect(await add(9)).toBe('stale_sequence');
      expect(await add(9, 'staging')).toMatchObject({ sequence: 9 });
      expect(await store.deployments.listCurrent(tenantId, 'production')).toEqual([tenth]);
      expect(await add(1_700_000_000_000)).toMatchObject({ sequence: 1_700_000_000_000 });
      expect(await add(11)).toBe('stale_sequence');
    });

    it('of 30 parallel deployments with one sequence one is stored, and it is current', async () => {
      const { store, tenantId, key } = await withKey(shared.get());
      await store.bundles.upload(aBundle({ tenantId }));
      const answers = await parallel(30, () =>
        store.deployments.deploy(aDeployment({ tenantId, sequence: 7, signingKeyId: key.id })),
      );
      const stored = answers.filter((answer) => answer !== 'stale_sequence');
      expect(stored).toHaveLength(1);
      const current = await store.deployments.listCurrent(tenantId, 'production');
      expect(current).toEqual(stored);
      expect((await store.bundles.getVersion(tenantId, 'base', 1))?.signature).toBe(current[0]?.signature);
    });

    it('attests a current deployment that has no attestation, once, and only while its key is the same', async () => {
      const { store, tenantId, key } = await withKey(shared.get());
      await store.bundles.upload(aBundle({ tenantId }));
      const given = aDeployment({ tenantId, signingKeyId: key.id, attestation: null });
      expect(await store.deployments.deploy(given)).toEqual(given);
      await store.deployments.attest({ ...given, signingKeyId: uuid(), attestation: hex128('other key') });
      expect(await store.deployments.getCurrent(tenantId, 'production', 'base')).toEqual(given);
      const attested = { ...given, attestation: hex128('first') };
      await store.deployments.attest(attested);
      await store.deployments.attest({ ...given, attestation: hex128('second') });
      expect(await store.deployments.getCurrent(tenantId, 'production', 'base')).toEqual(attested);
      const next = await store.deployments.deploy(aDeployment({ tenantId, signingKeyId: key.id }));
      await store.deployments.attest(attested);
      expect(await itemsOf(store.deployments.list(tenantId, {}, firstPage))).toEqual([next, attested]);
    });

    it('lists newest first, by environment, by bundle, up to a limit', async () => {
      const { store, tenantId, deploy } = await withKey(shared.get());
      await store.bundles.upload(aBundle({ tenantId }));
      await store.bundles.upload(aBundle({ tenantId, name: 'other' }));
      const a = await deploy('production', 'base', 1, t0 + 1);
      const b = await deploy('staging', 'base', 1, t0 + 2);
      const c = await deploy('production', 'other', 1, t0 + 3);
      const d = await deploy('production', 'base', 1, t0 + 4);
      const { deployments } = store;
      expect(await itemsOf(deployments.list(tenantId, {}, { limit: 50, offset: 0 }))).toEqual([d, c, b, a]);
      expect(await itemsOf(deployments.list(tenantId, {}, { limit: 2, offset: 0 }))).toEqual([d, c]);
      expect(await itemsOf(deployments.list(tenantId, { env: 'production' }, firstPage))).toEqual([d, c, a]);
      expect(await itemsOf(deployments.list(tenantId, { bundleName: 'base' }, firstPage))).toEqual([d, b, a]);
      expect(
        await itemsOf(deployments.list(tenantId, { env: 'staging', bundleName: 'other' }, firstPage)),
      ).toEqual([]);
      expect(await itemsOf(deployments.list(tenantId, { bundleName: '{"$gt":""}' }, firstPage))).toEqual([]);
    });

    it('tenants do not see each other, nor deploy with the version or key of another', async () => {
      const { store, tenantId, key, deploy } = await withKey(shared.get());
      await store.bundles.upload(aBundle({ tenantId }));
      await deploy('production', 'base', 1);
      const other = await withKey(store);
      expect(await store.deployments.listCurrent(other.tenantId, 'production')).toEqual([]);
      expect(await store.deployments.listAllCurrent(other.tenantId)).toEqual([]);
      expect(await store.deployments.getCurrent(other.tenantId, 'production', 'base')).toBeNull();
      expect(await itemsOf(store.deployments.list(other.tenantId, {}, firstPage))).toEqual([]);
      const theirs = aDeployment({ tenantId: other.tenantId, signingKeyId: other.key.id });
      expect(await store.deployments.deploy(theirs)).toBe('no_version');
      await store.bundles.upload(aBundle({ tenantId: other.tenantId }));
      expect(await store.deployments.deploy({ ...theirs, signingKeyId: key.id })).toBe('stale_key');
    });
  });
}
