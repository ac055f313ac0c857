// Every store's promises about bundles that are taken away: from an environment, and altogether (bundle/port,
// deployment/port).
import { describe, expect, it } from 'vitest';
import { nextSequence } from '../../src/deployment/record.ts';
import type { Env } from '../../src/shared/ids.ts';
import { rowsFor } from '../runs.ts';
import {
  aBundle,
  aDeployment,
  aSigningKey,
  firstPage,
  hostileTexts,
  itemsOf,
  type Open,
  parallel,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

export function takingAwayContract(name: string, open: Open): void {
  const shared = sharedStore(open);

  /** A tenant with a key, two versions of `base`, and a way to deploy. */
  async function tenant() {
    const { bundles, deployments, signing } = shared.get();
    const tenantId = uuid();
    const key = aSigningKey({ tenantId });
    await signing.create(key);
    for (let i = 0; i < 2; i++) await bundles.upload(aBundle({ tenantId }));
    const add = async (version: number, env: Env = 'production', bundleName = 'base') => {
      const sequence = nextSequence(await deployments.getLastSequence(tenantId, env, bundleName), t0);
      return deployments.deploy(
        aDeployment({ tenantId, env, bundleName, version, sequence, signingKeyId: key.id }),
      );
    };
    const deploy = async (...of: Parameters<typeof add>) => {
      const made = await add(...of);
      if (typeof made === 'string') throw new Error(made);
      return made;
    };
    return { bundles, deployments, signing, tenantId, key, add, deploy };
  }

  describe(`${name}: undeploying`, () => {
    it('ends the current deployment of one environment; history and sequence stay', async () => {
      const { bundles, deployments, tenantId, deploy } = await tenant();
      const first = await deploy(1);
      const second = await deploy(2);
      const staging = await deploy(2, 'staging');
      expect(await deployments.undeploy(tenantId, 'production', 'base')).toEqual(second);
      expect(await deployments.getCurrent(tenantId, 'production', 'base')).toBeNull();
      expect(await deployments.listCurrent(tenantId, 'production')).toEqual([]);
      expect(await deployments.listAllCurrent(tenantId)).toEqual([staging]);
      expect(await itemsOf(deployments.list(tenantId, {}, firstPage))).toEqual([staging, second, first]);
      expect(await deployments.getLastSequence(tenantId, 'production', 'base')).toBe(second.sequence);
      expect(await itemsOf(bundles.list(tenantId, null, firstPage))).toMatchObject([
        { name: 'base', deployedEnvs: ['staging'], lastDeployedAt: t0 },
      ]);
      expect((await deploy(1)).sequence).toBeGreaterThan(second.sequence);
    });

    it('keeps when and by whom; lists have a range and go on behind a deployment; roll-backs are told apart', async () => {
      const { deployments, tenantId, deploy } = await tenant();
      const first = await deploy(1);
      const second = await deploy(2);
      const again = await deploy(2);
      const back = await deploy(1);
      const elsewhere = await deploy(1, 'staging');
      const end = { at: t0 + 50, by: 'ada' };
      expect(await deployments.undeploy(tenantId, 'production', 'base', 0, end)).toEqual(back);
      const ended = { ...back, undeployedAt: end.at, undeployedBy: 'ada' };
      expect(await deployments.get(tenantId, back.id)).toEqual(ended);
      const all = [elsewhere, ended, again, second, first];
      const list = (filter: object, page: object = {}) =>
        itemsOf(deployments.list(tenantId, filter, { ...firstPage, ...page }));
      expect(await list({})).toEqual(all);
      expect(await list({}, { after: ended.id })).toEqual(all.slice(2));
      expect(await list({ env: 'production' }, { after: elsewhere.id, limit: 2 })).toEqual(all.slice(1, 3));
      expect(await list({}, { after: uuid() })).toEqual([]);
      expect(await list({ since: t0 + 50, until: t0 + 51 })).toEqual([ended]);
      expect(await list({ since: t0, until: t0 + 1 })).toEqual(all);
      expect(await list({ until: t0 })).toEqual([]);
      expect([...(await deployments.listRollbacks(tenantId, all))]).toEqual([back.id]);
      const afterwards = await deploy(1);
      // Nothing ran between: it is the same version again.
      expect((await deployments.listRollbacks(tenantId, [afterwards])).size).toBe(0);
    });

    it('answers null where nothing is deployed, and the second time', async () => {
      const { deployments, tenantId, deploy } = await tenant();
      expect(await deployments.undeploy(tenantId, 'production', 'base')).toBeNull();
      expect(await deployments.undeploy(uuid(), 'production', 'base')).toBeNull();
      const made = await deploy(1);
      const answers = await parallel(5, () => deployments.undeploy(tenantId, 'production', 'base'));
      expect(answers.filter((answer) => answer !== null)).toEqual([made]);
      expect(await deployments.undeploy(tenantId, 'production', 'base')).toBeNull();
      expect(await itemsOf(deployments.list(tenantId, {}, firstPage))).toEqual([made]);
    });

    it('a late repeat of the deployment does not bring it back', async () => {
      const { deployments, tenantId, key } = await tenant();
      const given = aDeployment({ tenantId, sequence: 7, signingKeyId: key.id });
      await deployments.deploy(given);
      await deployments.undeploy(tenantId, 'production', 'base');
      expect(await deployments.deploy(given)).toEqual(given);
      expect(await deployments.getCurrent(tenantId, 'production', 'base')).toBeNull();
      expect(await deployments.deploy(aDeployment({ tenantId, sequence: 7, signingKeyId: key.id }))).toBe(
        'stale_sequence',
      );
    });

    it('what is not deployed is not signed again', async () => {
      const { deployments, signing, tenantId, key, deploy } = await tenant();
      await deploy(1);
      await deployments.undeploy(tenantId, 'production', 'base');
      const next = aSigningKey({ tenantId });
      expect(await signing.rotate(tenantId, key.id, next, [], null)).toBe('rotated');
    });

    it('knows what was ever deployed where', async () => {
      const { deployments, tenantId, deploy } = await tenant();
      const was = (version: number, env: Env = 'production') =>
        deployments.wasDeployed(tenantId, env, 'base', version);
      expect(await was(1)).toBe(false);
      await deploy(1);
      expect([await was(1), await was(2), await was(1, 'staging')]).toEqual([true, false, false]);
      await deploy(2);
      await deployments.undeploy(tenantId, 'production', 'base');
      expect([await was(1), await was(2)]).toEqual([true, true]);
      expect(await deployments.wasDeployed(uuid(), 'production', 'base', 1)).toBe(false);
    });

    it('knows the newest deployment of a version, also when it runs nowhere', async () => {
      const { deployments, tenantId, deploy } = await tenant();
      const last = (version: number, of = tenantId) => deployments.getLast(of, 'base', version);
      expect(await last(1)).toBeNull();
      const first = await deploy(1);
      expect(await last(1)).toEqual(first);
      const second = await deploy(2);
      expect([await last(1), await last(2)]).toEqual([first, second]);
      const again = await deploy(1);
      await deployments.undeploy(tenantId, 'production', 'base');
      expect([await last(1), await last(2)]).toEqual([again, second]);
      expect(await last(1, uuid())).toBeNull();
    });

    it('keeps that a deployment was forced, and why', async () => {
      const { deployments, tenantId, key } = await tenant();
      const given = aDeployment({
        tenantId,
        signingKeyId: key.id,
        forced: true,
        reason: "half the fleet's é",
      });
      expect(await deployments.deploy(given)).toEqual(given);
      expect(await itemsOf(deployments.list(tenantId, {}, firstPage))).toEqual([given]);
      expect(await deployments.getCurrent(tenantId, 'production', 'base')).toEqual(given);
    });
  });

  describe(`${name}: deleting a bundle`, () => {
    it('hides all versions and goes on numbering', async () => {
      const { bundles, deployments, tenantId, deploy, add } = await tenant();
      const made = await deploy(1);
      await deployments.undeploy(tenantId, 'production', 'base');
      await bundles.upload(aBundle({ tenantId, name: 'other' }));
      expect(await bundles.remove(tenantId, 'base', t0 + 1)).toBe('removed');
      expect(await bundles.getVersion(tenantId, 'base', 1)).toBeNull();
      expect(await bundles.getYaml(tenantId, 'base', 2)).toBeNull();
      expect(await itemsOf(bundles.listVersions(tenantId, 'base', firstPage))).toEqual([]);
      expect(await itemsOf(bundles.list(tenantId, null, firstPage))).toMatchObject([{ name: 'other' }]);
      expect(await itemsOf(bundles.list(tenantId, 'production', firstPage))).toEqual([]);
      expect(await itemsOf(deployments.list(tenantId, {}, firstPage))).toEqual([made]);
      expect(await add(1)).toBe('no_version');
      const next = await bundles.upload(aBundle({ tenantId }));
      expect(next.version).toBe(3);
      expect(await itemsOf(bundles.listVersions(tenantId, 'base', firstPage))).toEqual([next]);
      expect(await itemsOf(bundles.list(tenantId, null, firstPage))).toMatchObject(
        expect.arrayContaining([
          expect.objectContaining({ name: 'base', latestVersion: 3, versionCount: 1 }),
        ]),
      );
      expect(await deploy(3)).toMatchObject({ version: 3 });
    });

    it('is refused while a version is deployed anywhere, and where there is none', async () => {
      const { bundles, deployments, tenantId, deploy } = await tenant();
      await deploy(1, 'development');
      expect(await bundles.remove(tenantId, 'base', t0)).toBe('deployed');
      expect(await bundles.getYaml(tenantId, 'base', 1)).not.toBeNull();
      await deployments.undeploy(tenantId, 'development', 'base');
      expect(await bundles.remove(uuid(), 'base', t0)).toBe('absent');
      expect(await bundles.remove(tenantId, 'nothing', t0)).toBe('absent');
      expect(await bundles.remove(tenantId, 'base', t0, 1)).toBe('changed');
      expect(await bundles.remove(tenantId, 'base', t0, 2)).toBe('removed');
      expect(await bundles.remove(tenantId, 'base', t0, 2)).toBe('absent');
    });

    it('against parallel deployments either wins whole', async () => {
      for (let i = 0; i < 10; i++) {
        const { bundles, deployments, tenantId, key } = await tenant();
        const given = aDeployment({ tenantId, sequence: 1, signingKeyId: key.id });
        const early = i % 2 === 0 ? deployments.deploy(given) : null;
        const removing = bundles.remove(tenantId, 'base', t0);
        const [removed, added] = await Promise.all([removing, early ?? deployments.deploy(given)]);
        if (added === 'no_version') expect(removed).toBe('removed');
        else expect({ removed, added }).toEqual({ removed: 'deployed', added: given });
        const bytes = await bundles.getYaml(tenantId, 'base', 1);
        expect(bytes === null).toBe(removed === 'removed');
      }
    });

    it('works for hostile names, and for a tenant that has no signing key', async () => {
      const { bundles } = shared.get();
      const tenantId = uuid();
      for (const text of hostileTexts) {
        await bundles.upload(aBundle({ tenantId, name: text }));
        expect(await bundles.remove(tenantId, text, t0)).toBe('removed');
        expect((await bundles.upload(aBundle({ tenantId, name: text }))).version).toBe(2);
      }
      const keyed = await tenant();
      for (const text of rowsFor(name, hostileTexts, 5)) {
        await bundles.upload(aBundle({ tenantId: keyed.tenantId, name: text }));
        await keyed.deploy(1, 'staging', text);
        expect(await bundles.remove(keyed.tenantId, text, t0)).toBe('deployed');
        await keyed.deployments.undeploy(keyed.tenantId, 'staging', text);
        expect(await bundles.remove(keyed.tenantId, text, t0)).toBe('removed');
      }
    });
  });
}
