// What every store promises of signing keys and their rotation (ports/identity, SigningStore).
import { describe, expect, it } from 'vitest';
import { aBundle, aDeployment, aSigningKey, hex128, type Open, sharedStore, uuid } from './fixtures.ts';

export function signingContract(name: string, open: Open): void {
  describe(`${name}: signing keys`, () => {
    const shared = sharedStore(open);

    /** A tenant with an active key and version 1 of two bundles deployed by it. */
    async function deployed() {
      const store = shared.get();
      const tenantId = uuid();
      const key = aSigningKey({ tenantId });
      await store.signing.add(key);
      const current = [];
      for (const bundleName of ['base', 'extra']) {
        const bundle = await store.bundles.addVersion(aBundle({ tenantId, name: bundleName }));
        const deployment = await store.deployments.add(
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
      expect(await signing.active(tenantId)).toBeNull();
      const keys = Array.from({ length: 20 }, () => aSigningKey({ tenantId }));
      const answers = await Promise.all(keys.map((key) => signing.add(key)));
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
      expect(await signing.active(tenantId)).toEqual(keys[answers.indexOf('created')]);
    });

    it('a rotation changes the active key and signs the current deployments anew', async () => {
      const store = shared.get();
      const { tenantId, key, current } = await deployed();
      const next = aSigningKey({ tenantId });
      const signatures = current.map((d) => ({ deploymentId: d.id, signature: hex128(`new ${d.id}`) }));
      expect(await store.signing.rotate(tenantId, key.id, next, signatures)).toBe('rotated');
      expect(await store.signing.active(tenantId)).toEqual(next);
      expect(await store.deployments.currentAll(tenantId)).toEqual(
        current.map((d) => ({
          ...d,
          signature: hex128(`new ${d.id}`),
          publicKey: next.publicKey,
          signingKeyId: next.id,
        })),
      );
      const version = await store.bundles.version(tenantId, 'base', 1);
      expect(version?.signature).toBe(hex128(`new ${current[0]?.id}`));
    });

    it('writes nothing when the active key is another', async () => {
      const store = shared.get();
      const { tenantId, key, current } = await deployed();
      const signatures = current.map((d) => ({ deploymentId: d.id, signature: hex128('x') }));
      expect(await store.signing.rotate(tenantId, uuid(), aSigningKey({ tenantId }), signatures)).toBe(
        'changed',
      );
      expect(await store.signing.active(tenantId)).toEqual(key);
      expect(await store.deployments.currentAll(tenantId)).toEqual(current);
    });

    it('writes nothing when the signatures are not exactly those of the current deployments', async () => {
      const store = shared.get();
      const { tenantId, key, current } = await deployed();
      const [first, second] = current.map((d) => ({ deploymentId: d.id, signature: hex128('x') }));
      if (!first || !second) throw new Error('two deployments expected');
      const stranger = { deploymentId: uuid(), signature: hex128('x') };
      for (const wrong of [[], [first], [first, first], [first, stranger], [first, second, stranger]]) {
        expect(await store.signing.rotate(tenantId, key.id, aSigningKey({ tenantId }), wrong)).toBe(
          'changed',
        );
      }
      expect(await store.signing.active(tenantId)).toEqual(key);
      expect(await store.deployments.currentAll(tenantId)).toEqual(current);
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
            current.map((d) => ({ deploymentId: d.id, signature: hex128(next.id + d.id) })),
          ),
        ),
      );
      expect(answers.filter((answer) => answer === 'rotated')).toHaveLength(1);
      const winner = keys[answers.indexOf('rotated')];
      expect(await store.signing.active(tenantId)).toEqual(winner);
      for (const d of await store.deployments.currentAll(tenantId)) {
        expect(d.signature).toBe(hex128(`${winner?.id}${d.id}`));
      }
    });

    it('a deployment signed by a key that was rotated away is refused, even when both run at once', async () => {
      const store = shared.get();
      const { tenantId, key, current } = await deployed();
      const next = aSigningKey({ tenantId });
      const signatures = current.map((d) => ({ deploymentId: d.id, signature: hex128(`new ${d.id}`) }));
      const [rotation, ...added] = await Promise.all([
        store.signing.rotate(tenantId, key.id, next, signatures),
        ...Array.from({ length: 5 }, () =>
          store.deployments.add(aDeployment({ tenantId, bundleName: 'base', signingKeyId: key.id })),
        ),
      ]);
      const active = await store.signing.active(tenantId);
      for (const d of await store.deployments.currentAll(tenantId)) expect(d.signingKeyId).toBe(active?.id);
      if (rotation === 'rotated') expect(added).toEqual(added.map(() => 'stale_key'));
      else expect(active).toEqual(key);
    });

    it('a rotation in one tenant leaves another alone', async () => {
      const store = shared.get();
      const [mine, other] = [await deployed(), await deployed()];
      const theirs = other.current.map((d) => ({ deploymentId: d.id, signature: hex128('x') }));
      const next = aSigningKey({ tenantId: mine.tenantId });
      expect(await store.signing.rotate(mine.tenantId, mine.key.id, next, theirs)).toBe('changed');
      expect(await store.signing.rotate(mine.tenantId, other.key.id, next, theirs)).toBe('changed');
      expect(await store.signing.active(other.tenantId)).toEqual(other.key);
    });
  });
}
