// Every store's promises about signing keys and their rotation (signing/port).
import { describe, expect, it } from 'vitest';
import type { NewSignature } from '../../src/signing/port.ts';
import { type KeySuccession, maxSuccessions } from '../../src/signing/record.ts';
import {
  aBundle,
  aDeployment,
  aSigningKey,
  aSuccession,
  firstPage,
  hex128,
  type Open,
  sharedStore,
  uuid,
} from './fixtures.ts';

const signed = (deploymentId: string, by = 'x'): NewSignature => ({
  deploymentId,
  signature: hex128(`${by} ${deploymentId}`),
  attestation: hex128(`${by} attests ${deploymentId}`),
});

export function signingContract(name: string, open: Open): void {
  describe(`${name}: signing keys`, () => {
    const shared = sharedStore(open);

    /** A tenant with an active key and version 1 of two bundles deployed by it. */
    async function deployed() {
      const store = shared.get();
      const tenantId = uuid();
      const key = aSigningKey({ tenantId });
      await store.signing.create(key);
      const current = [];
      for (const bundleName of ['base', 'extra']) {
        const bundle = await store.bundles.upload(aBundle({ tenantId, name: bundleName }));
        const deployment = await store.deployments.deploy(
          aDeployment({ tenantId, bundleName, signingKeyId: key.id, revisionHash: bundle.revisionHash }),
        );
        if (typeof deployment === 'string') throw new Error(deployment);
        current.push(deployment);
      }
      return { tenantId, key, current };
    }

    it('of 20 parallel first keys one is created', async () => {
      const { signing } = shared.get();
      const tenantId = uuid();
      expect(await signing.getActive(tenantId)).toBeNull();
      const keys = Array.from({ length: 20 }, () => aSigningKey({ tenantId }));
      const answers = await Promise.all(keys.map((key) => signing.create(key)));
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
      expect(await signing.getActive(tenantId)).toEqual(keys[answers.indexOf('created')]);
    });

    it('a rotation changes the active key and signs the current deployments anew', async () => {
      const store = shared.get();
      const { tenantId, key, current } = await deployed();
      const next = aSigningKey({ tenantId });
      const signatures = current.map((d) => signed(d.id, 'new'));
      expect(await store.signing.rotate(tenantId, key.id, next, signatures, null)).toBe('rotated');
      expect(await store.signing.getActive(tenantId)).toEqual(next);
      expect(await store.deployments.listAllCurrent(tenantId)).toEqual(
        current.map((d) => ({
          ...d,
          signature: signed(d.id, 'new').signature,
          attestation: signed(d.id, 'new').attestation,
          publicKey: next.publicKey,
          signingKeyId: next.id,
        })),
      );
      const version = await store.bundles.getVersion(tenantId, 'base', 1);
      expect(version?.signature).toBe(signed(current[0]?.id ?? '', 'new').signature);
    });

    it('a version has the new signature wherever it runs, also if another one replaced it elsewhere since', async () => {
      const store = shared.get();
      const { tenantId, key } = await deployed();
      await store.bundles.upload(aBundle({ tenantId }));
      for (const version of [1, 2]) {
        const deployment = aDeployment({ tenantId, env: 'staging', version, signingKeyId: key.id });
        expect(await store.deployments.deploy(deployment)).toEqual(deployment);
      }
      const current = await store.deployments.listAllCurrent(tenantId);
      const signatures = current.map((d) => signed(d.id, 'new'));
      const next = aSigningKey({ tenantId });
      expect(await store.signing.rotate(tenantId, key.id, next, signatures, null)).toBe('rotated');
      const running = current.find(({ version }) => version === 1);
      const { signature } = signed(running?.id ?? '', 'new');
      expect((await store.bundles.getVersion(tenantId, 'base', 1))?.signature).toBe(signature);
      const { items } = await store.bundles.listVersions(tenantId, 'base', firstPage);
      expect(items.find(({ version }) => version === 1)?.signature).toBe(signature);
    });

    it('keeps the newest successions in order, and none once a rotation brings none', async () => {
      const store = shared.get();
      const tenantId = uuid();
      let key = aSigningKey({ tenantId });
      await store.signing.create(key);
      expect(await store.signing.listSuccessions(tenantId)).toEqual([]);
      const made: KeySuccession[] = [];
      const rotate = async (succession: KeySuccession | null) => {
        const next = aSigningKey({ tenantId });
        expect(await store.signing.rotate(tenantId, key.id, next, [], succession)).toBe('rotated');
        key = next;
      };
      for (let i = 0; i < maxSuccessions + 3; i++) {
        made.push(aSuccession({ rotatedAt: i }));
        await rotate(made[i] ?? null);
      }
      expect(await store.signing.listSuccessions(tenantId)).toEqual(made.slice(3));
      expect(await store.signing.rotate(tenantId, uuid(), aSigningKey({ tenantId }), [], null)).toBe(
        'changed',
      );
      expect(await store.signing.listSuccessions(uuid())).toEqual([]);
      expect(await store.signing.listSuccessions(tenantId)).toHaveLength(maxSuccessions);
      await rotate(null);
      expect(await store.signing.listSuccessions(tenantId)).toEqual([]);
      const first = aSuccession();
      await rotate(first);
      expect(await store.signing.listSuccessions(tenantId)).toEqual([first]);
    });

    it('writes nothing when the active key is another', async () => {
      const store = shared.get();
      const { tenantId, key, current } = await deployed();
      const signatures = current.map((d) => signed(d.id));
      expect(await store.signing.rotate(tenantId, uuid(), aSigningKey({ tenantId }), signatures, null)).toBe(
        'changed',
      );
      expect(await store.signing.getActive(tenantId)).toEqual(key);
      expect(await store.deployments.listAllCurrent(tenantId)).toEqual(current);
    });

    it('writes nothing when the signatures are not exactly those of the current deployments', async () => {
      const store = shared.get();
      const { tenantId, key, current } = await deployed();
      const [first, second] = current.map((d) => signed(d.id));
      if (!first || !second) throw new Error('two deployments expected');
      const stranger = signed(uuid());
      for (const wrong of [[], [first], [first, first], [first, stranger], [first, second, stranger]]) {
        expect(await store.signing.rotate(tenantId, key.id, aSigningKey({ tenantId }), wrong, null)).toBe(
          'changed',
        );
      }
      expect(await store.signing.getActive(tenantId)).toEqual(key);
      expect(await store.deployments.listAllCurrent(tenantId)).toEqual(current);
    });

    it('of 10 parallel rotations one happens, and one key is active', async () => {
      const store = shared.get();
      const { tenantId, key, current } = await deployed();
      const keys = Array.from({ length: 10 }, () => aSigningKey({ tenantId }));
      const answers = await Promise.all(
        keys.map((next) =>
          store.signing.rotate(
            tenantId,
            key.id,
            next,
            current.map((d) => signed(d.id, next.id)),
            null,
          ),
        ),
      );
      expect(answers.filter((answer) => answer === 'rotated')).toHaveLength(1);
      const winner = keys[answers.indexOf('rotated')];
      expect(await store.signing.getActive(tenantId)).toEqual(winner);
      for (const d of await store.deployments.listAllCurrent(tenantId)) {
        expect(d.signature).toBe(signed(d.id, winner?.id).signature);
      }
    });

    it('a deployment signed by a key that was rotated away is refused, even when both run at once', async () => {
      const store = shared.get();
      const { tenantId, key, current } = await deployed();
      const next = aSigningKey({ tenantId });
      const signatures = current.map((d) => signed(d.id, 'new'));
      const [rotation, ...added] = await Promise.all([
        store.signing.rotate(tenantId, key.id, next, signatures, null),
        ...Array.from({ length: 5 }, () =>
          store.deployments.deploy(aDeployment({ tenantId, bundleName: 'base', signingKeyId: key.id })),
        ),
      ]);
      const active = await store.signing.getActive(tenantId);
      for (const d of await store.deployments.listAllCurrent(tenantId))
        expect(d.signingKeyId).toBe(active?.id);
      if (rotation === 'rotated') expect(added).toEqual(added.map(() => 'stale_key'));
      else expect(active).toEqual(key);
    });

    it('a rotation in one tenant leaves another alone', async () => {
      const store = shared.get();
      const [mine, other] = [await deployed(), await deployed()];
      const theirs = other.current.map((d) => signed(d.id));
      const next = aSigningKey({ tenantId: mine.tenantId });
      expect(await store.signing.rotate(mine.tenantId, mine.key.id, next, theirs, null)).toBe('changed');
      expect(await store.signing.rotate(mine.tenantId, other.key.id, next, theirs, null)).toBe('changed');
      expect(await store.signing.getActive(other.tenantId)).toEqual(other.key);
    });
  });
}
