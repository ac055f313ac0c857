// Every store's promises about agent registrations, reported versions and assignment rules (agent/port).
import { describe, expect, it } from 'vitest';
import type { AgentStore } from '../../src/agent/port.ts';
import { maxReportedBundles } from '../../src/agent/record.ts';
import type { AgentManifest } from '../../src/event/record.ts';
import { aRule, hostileTexts, type Open, parallel, sharedStore, t0, uuid } from './fixtures.ts';

const manifest = (agentId: string, policyVersion = 'v1'): AgentManifest => ({
  agentId,
  policyVersion,
  contracts: [{ id: 'c', type: 'pre', tool: ['a', '$b.c'], mode: 'enforce' }],
});

/** Notes an agent. @returns its whole registration */
const noteAgent = async (agents: AgentStore, ...call: Parameters<AgentStore['noteSeen']>) => {
  const { registration, isNew } = await agents.noteSeen(...call);
  const [tenantId, agentId] = call;
  const whole = await agents.get(tenantId, agentId);
  expect(whole).toMatchObject(registration ?? {});
  return { registration: whole, isNew };
};

const listed = async (agents: AgentStore, tenantId: string) =>
  (await agents.list(tenantId, { limit: 99, after: null })).items.map(({ agentId }) => agentId);

export function agentsContract(name: string, open: Open): void {
  describe(`${name}: agents`, () => {
    const shared = sharedStore(open);

    it('an agent that is seen is registered, once', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const ids = Array.from({ length: 20 }, () => uuid());
      const made = await Promise.all(ids.map((id) => agents.noteSeen(tenantId, 'a', 'production', t0, id)));
      const stored = await agents.get(tenantId, 'a');
      expect(stored).toEqual({
        id: stored?.id,
        tenantId,
        agentId: 'a',
        displayName: null,
        tags: {},
        bundleName: null,
        manifest: null,
        lastEnv: 'production',
        seenEnvs: ['production'],
        lastSeenAt: t0,
        createdAt: t0,
        retiredAt: null,
        lastApi: null,
        loadsAny: false,
      });
      expect(ids).toContain(stored?.id);
      const registration = { bundleName: null, tags: {}, retiredAt: null };
      expect(made.map((one) => one.registration)).toEqual(ids.map(() => registration));
      expect(made.filter((one) => one.isNew)).toHaveLength(1);
      expect(await agents.count(tenantId)).toBe(1);
    });

    it('last seen never goes backwards, nor does the environment with it', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      await agents.noteSeen(tenantId, 'a', 'production', t0 + 10, uuid());
      expect(await noteAgent(agents, tenantId, 'a', 'staging', t0 + 5, uuid())).toMatchObject({
        registration: { lastEnv: 'production', lastSeenAt: t0 + 10 },
        isNew: false,
      });
      expect(await noteAgent(agents, tenantId, 'a', 'staging', t0 + 15, null)).toMatchObject({
        registration: { lastEnv: 'staging', lastSeenAt: t0 + 15, createdAt: t0 + 10 },
        isNew: false,
      });
    });

    it('keeps every environment in which an agent was seen, also of what arrives late', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      await agents.noteSeen(tenantId, 'a', 'staging', t0 + 10, uuid());
      await agents.noteSeen(tenantId, 'a', 'production', t0 + 20, uuid());
      await agents.noteSeen(tenantId, 'a', 'development', t0 + 5, null);
      const seenEnvs = ['production', 'staging', 'development'];
      expect(await agents.get(tenantId, 'a')).toMatchObject({ lastEnv: 'production', seenEnvs });
      await Promise.all([
        agents.noteSeen(tenantId, 'b', 'staging', t0 + 30, uuid()),
        agents.noteSeen(tenantId, 'b', 'development', t0 + 30, uuid()),
      ]);
      const { registration } = await noteAgent(agents, tenantId, 'b', 'staging', t0 + 40, null);
      expect(registration).toMatchObject({ lastEnv: 'staging', seenEnvs: ['staging', 'development'] });
      const { items } = await agents.list(tenantId, { limit: 9, after: null });
      expect(items.map((one) => one.seenEnvs)).toEqual([seenEnvs, ['staging', 'development']]);
    });

    it('lists by agent id', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      for (const agentId of ['b', 'a', 'c'])
        await agents.noteSeen(tenantId, agentId, 'production', t0, uuid());
      const page = async (limit: number, after: string | null) => {
        const { items, more } = await agents.list(tenantId, { limit, after });
        return [items.map(({ agentId }) => agentId).join(), more];
      };
      expect(await page(9, null)).toEqual(['a,b,c', false]);
      expect(await page(2, null)).toEqual(['a,b', true]);
      expect(await page(2, 'b')).toEqual(['c', false]);
      expect(await page(2, 'bb')).toEqual(['c', false]);
      expect(await page(2, 'c')).toEqual(['', false]);
      for (const text of hostileTexts) expect((await page(9, text))[1]).toBe(false);
    });

    it('an agent that may not be registered is not', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const none = { registration: null, isNew: false };
      const seen = (id: string | null) => agents.noteSeen(tenantId, 'a', 'production', t0, id);
      expect(await seen(null)).toEqual(none);
      expect(await agents.updateManifest(tenantId, manifest('a'), t0)).toBe(false);
      await agents.report(tenantId, 'production', {
        agentId: 'a',
        bundleName: null,
        policyVersion: 'v1',
        at: t0,
      });
      expect(await agents.get(tenantId, 'a')).toBeNull();
      expect(await agents.listReports(tenantId, 'production', 9)).toEqual([]);
      // One of those who see it at the same moment may register it.
      const id = uuid();
      const all = await Promise.all([seen(null), seen(id), seen(null)]);
      expect(all.filter(({ isNew }) => isNew)).toHaveLength(1);
      expect(all[1]?.registration).toEqual({ bundleName: null, tags: {}, retiredAt: null });
      expect((await agents.get(tenantId, 'a'))?.id).toBe(id);
    });

    it('one that is retired is in no list, keeps what people said of it, and comes back as it was', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const old = t0 - 2_000_000_000;
      for (const agentId of ['a', 'b', 'kept', 'young']) {
        await agents.noteSeen(tenantId, agentId, 'production', agentId === 'young' ? old + 10 : old, uuid());
      }
      await agents.update(tenantId, 'a', { displayName: 'A', tags: { team: 'x' } });
      await agents.assign(tenantId, ['kept'], 'base');
      for (const agentId of ['a', 'young']) {
        const report = { agentId, bundleName: null, policyVersion: 'v1', at: old };
        await agents.report(tenantId, 'production', report);
      }
      const before = await agents.get(tenantId, 'a');
      expect(await agents.retire(old, t0, 9)).toBe(0);
      expect(await agents.retire(old + 10, t0, 1)).toBe(1);
      expect(await agents.retire(old + 10, t0, 9)).toBe(1);
      expect(await agents.retire(old + 10, t0, 9)).toBe(0);
      expect(await listed(agents, tenantId)).toEqual(['kept', 'young']);
      expect(await agents.count(tenantId)).toBe(2);
      expect(await agents.listReports(tenantId, 'production', 9)).toMatchObject([{ agentId: 'young' }]);
      const retired = { ...before, retiredAt: t0 };
      expect(await agents.get(tenantId, 'a')).toEqual(retired);
      expect(await noteAgent(agents, tenantId, 'a', 'staging', t0 + 1, null)).toEqual({
        registration: retired,
        isNew: false,
      });
      const back = await Promise.all(
        [1, 2, 3].map((n) => agents.noteSeen(tenantId, 'a', 'staging', t0 + n, uuid())),
      );
      expect(back.filter(({ isNew }) => isNew)).toHaveLength(1);
      expect(await agents.get(tenantId, 'a')).toEqual({
        ...before,
        lastEnv: 'staging',
        seenEnvs: ['production', 'staging'],
        lastSeenAt: t0 + 3,
      });
      expect(await agents.assign(tenantId, ['b'], 'base')).toEqual(['b']);
      expect(await listed(agents, tenantId)).toEqual(['a', 'b', 'kept', 'young']);
      expect(await agents.removeBefore(old + 11, 9)).toBe(1);
    });

    it('counts agents that were left out by hour', async () => {
      const { agents } = shared.get();
      const [tenantId, other] = [uuid(), uuid()];
      await Promise.all([1, 2, 3].map((n) => agents.addLeftOut(tenantId, 7, n)));
      await agents.addLeftOut(tenantId, 8, 1);
      await agents.addLeftOut(other, 7, 99);
      expect(await Promise.all([6, 7, 8].map((hour) => agents.countLeftOut(tenantId, hour)))).toEqual([
        0, 6, 1,
      ]);
      expect(await agents.removeLeftOut(8)).toBeGreaterThanOrEqual(2);
      expect(await agents.countLeftOut(tenantId, 7)).toBe(0);
      expect(await agents.countLeftOut(tenantId, 8)).toBe(1);
    });

    it('hostile texts are agent ids and tags like any other', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      for (const text of hostileTexts) {
        await agents.noteSeen(tenantId, text, 'production', t0, uuid());
        const tags = JSON.parse(`{"__proto__":"p",${JSON.stringify(`k${text}`)}:${JSON.stringify(text)}}`);
        await agents.update(tenantId, text, { displayName: text, tags });
        const stored = await agents.get(tenantId, text);
        expect(stored).toMatchObject({ agentId: text, displayName: text });
        expect(JSON.stringify(stored?.tags)).toBe(JSON.stringify(tags));
      }
      expect(await agents.count(tenantId)).toBe(hostileTexts.length);
    });

    it('an update changes what the patch names', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const { registration: first } = await noteAgent(agents, tenantId, 'a', 'production', t0, uuid());
      const patch = { displayName: 'Agent A', tags: { team: 'x' }, bundleName: 'base' };
      expect(await agents.update(tenantId, 'a', patch)).toEqual({ ...first, ...patch });
      expect(await agents.update(tenantId, 'a', { bundleName: null })).toEqual({
        ...first,
        ...patch,
        bundleName: null,
      });
      expect(await agents.update(tenantId, 'a', { displayName: null })).toMatchObject({ displayName: null });
      expect(await agents.update(tenantId, 'nobody', patch)).toBeNull();
    });

    it('assigns those that are registered', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      for (const agentId of ['a', 'b', 'c'])
        await agents.noteSeen(tenantId, agentId, 'production', t0, uuid());
      const assigned = await agents.assign(tenantId, ['a', 'ghost', 'c', 'a'], 'base');
      expect([...assigned].sort()).toEqual(['a', 'c']);
      const { items } = await agents.list(tenantId, { limit: 9, after: null });
      expect(items.map((r) => r.bundleName)).toEqual(['base', null, 'base']);
      expect(await agents.assign(tenantId, ['a'], null)).toEqual(['a']);
      expect((await agents.get(tenantId, 'a'))?.bundleName).toBeNull();
      expect(await agents.assign(tenantId, [], 'base')).toEqual([]);
    });

    it('a manifest is of an agent that is registered, and the next replaces it', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      await agents.noteSeen(tenantId, 'a', 'staging', t0, uuid());
      expect(await agents.updateManifest(tenantId, manifest('a'), t0)).toBe(true);
      expect(await agents.get(tenantId, 'a')).toMatchObject({
        manifest: { ...manifest('a'), updatedAt: t0 },
        createdAt: t0,
      });
      await agents.update(tenantId, 'a', { bundleName: 'base' });
      await agents.updateManifest(tenantId, manifest('a', 'v2'), t0 + 5);
      expect(await agents.get(tenantId, 'a')).toMatchObject({
        manifest: { ...manifest('a', 'v2'), updatedAt: t0 + 5 },
        bundleName: 'base',
        createdAt: t0,
      });
      expect(await agents.count(tenantId)).toBe(1);
    });

    it('keeps the newest report per environment, agent and bundle', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const report = (bundleName: string | null, policyVersion: string, at: number) => ({
        agentId: 'a',
        bundleName,
        policyVersion,
        at,
      });
      await agents.noteSeen(tenantId, 'a', 'production', t0, uuid());
      await agents.report(tenantId, 'production', report('base', 'two', t0 + 2));
      await agents.report(tenantId, 'production', report('base', 'one', t0 + 1));
      await agents.report(tenantId, 'production', report('base', 'three', t0 + 3));
      await agents.report(tenantId, 'production', report(null, 'unnamed', t0));
      await agents.report(tenantId, 'production', report('other', 'o', t0));
      await agents.report(tenantId, 'staging', report('base', 's', t0));
      const reports = await agents.listReports(tenantId, 'production', 9);
      expect(reports).toHaveLength(3);
      expect(reports).toEqual(
        expect.arrayContaining([
          report('base', 'three', t0 + 3),
          report(null, 'unnamed', t0),
          report('other', 'o', t0),
        ]),
      );
      expect(reports.at(-1)).toEqual(report('base', 'three', t0 + 3));
      expect(await agents.listReports(tenantId, 'production', 1)).toEqual([report('base', 'three', t0 + 3)]);
      expect(await agents.listReports(tenantId, 'staging', 9)).toEqual([report('base', 's', t0)]);
      expect(await agents.listReports(uuid(), 'production', 9)).toEqual([]);
    });

    it('keeps the reports of the newest bundles of an agent', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      await agents.noteSeen(tenantId, 'a', 'production', t0, uuid());
      for (let n = 0; n < maxReportedBundles + 3; n++) {
        const report = { agentId: 'a', bundleName: `b${n}`, policyVersion: 'v1', at: t0 + n };
        await agents.report(tenantId, 'production', report);
      }
      const kept = (await agents.listReports(tenantId, 'production', 99)).map(({ bundleName }) => bundleName);
      expect(kept).toEqual(Array.from({ length: maxReportedBundles }, (_, i) => `b${i + 3}`));
    });

    it('of parallel reports the newest stays', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      await agents.noteSeen(tenantId, 'a', 'production', t0, uuid());
      await parallel(30, (i) =>
        agents.report(tenantId, 'production', {
          agentId: 'a',
          bundleName: null,
          policyVersion: `v${(i * 7) % 30}`,
          at: t0 + ((i * 7) % 30),
        }),
      );
      expect(await agents.listReports(tenantId, 'production', 9)).toEqual([
        { agentId: 'a', bundleName: null, policyVersion: 'v29', at: t0 + 29 },
      ]);
    });

    it('forgets agents not seen for long, unless they are assigned', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const old = t0 - 1_000_000_000;
      for (const agentId of ['a', 'b', 'c', 'kept']) {
        await agents.noteSeen(tenantId, agentId, 'production', old, uuid());
      }
      await agents.noteSeen(tenantId, 'young', 'production', old + 10, uuid());
      await agents.assign(tenantId, ['kept'], 'base');
      expect(await agents.removeBefore(old, 10)).toBe(0);
      expect(await agents.removeBefore(old + 10, 2)).toBe(2);
      expect(await agents.removeBefore(old + 10, 2)).toBe(1);
      expect(await agents.removeBefore(old + 10, 2)).toBe(0);
      expect(await listed(agents, tenantId)).toEqual(['kept', 'young']);
      await agents.removeBefore(old + 11, 10);
    });

    it('tenants do not see or change each other', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const { registration: mine } = await noteAgent(agents, tenantId, 'a', 'production', t0, uuid());
      const stranger = uuid();
      expect(await agents.get(stranger, 'a')).toBeNull();
      expect(await listed(agents, stranger)).toEqual([]);
      expect(await agents.count(stranger)).toBe(0);
      expect(await agents.update(stranger, 'a', { displayName: 'x' })).toBeNull();
      expect(await agents.assign(stranger, ['a'], 'x')).toEqual([]);
      await agents.noteSeen(stranger, 'a', 'staging', t0 + 99, uuid());
      await agents.updateManifest(stranger, manifest('a'), t0 + 99);
      expect(await agents.get(tenantId, 'a')).toEqual(mine);
    });
  });
}

export function rulesContract(name: string, open: Open): void {
  describe(`${name}: assignment rules`, () => {
    const shared = sharedStore(open);

    it('lists by priority', async () => {
      const { rules } = shared.get();
      const tenantId = uuid();
      const made = [30, 0, 20].map((priority) => aRule({ tenantId, priority }));
      for (const rule of made) expect(await rules.create(rule)).toBe('created');
      expect(await rules.list(tenantId)).toEqual([made[1], made[2], made[0]]);
    });

    it('a priority is taken once per tenant, also in parallel', async () => {
      const { rules } = shared.get();
      const tenantId = uuid();
      const envs = ['production', 'staging'] as const;
      const answers = await parallel(20, (i) =>
        rules.create(aRule({ tenantId, env: envs[i % 2] ?? 'production' })),
      );
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
      expect(await rules.list(tenantId)).toHaveLength(1);
      expect(await rules.create(aRule())).toBe('created');
    });

    it('an update changes what the patch names', async () => {
      const { rules } = shared.get();
      const rule = aRule();
      await rules.create(rule);
      const { tenantId, id } = rule;
      expect(await rules.update(tenantId, id, { pattern: '*' })).toEqual({ ...rule, pattern: '*' });
      const rest = { priority: 5, tagMatch: null, bundleName: 'new', env: 'staging' } as const;
      expect(await rules.update(tenantId, id, rest)).toEqual({ ...rule, pattern: '*', ...rest });
      expect(await rules.list(tenantId)).toEqual([{ ...rule, pattern: '*', ...rest }]);
      expect(await rules.update(tenantId, uuid(), { pattern: '*' })).toBe('absent');
    });

    it('an update to a priority that is taken changes nothing, to its own it may', async () => {
      const { rules } = shared.get();
      const tenantId = uuid();
      const [a, b] = [aRule({ tenantId, priority: 1 }), aRule({ tenantId, priority: 2 })];
      await rules.create(a);
      await rules.create(b);
      expect(await rules.update(tenantId, b.id, { priority: 1, pattern: 'x' })).toBe('priority_taken');
      expect(await rules.list(tenantId)).toEqual([a, b]);
      expect(await rules.update(tenantId, b.id, { priority: 2, pattern: 'x' })).toEqual({
        ...b,
        pattern: 'x',
      });
    });

    it('removing gives back the rule, once, and frees its priority', async () => {
      const { rules } = shared.get();
      const rule = aRule();
      await rules.create(rule);
      const answers = await parallel(10, () => rules.remove(rule.tenantId, rule.id));
      expect(answers.filter((answer) => answer !== null)).toEqual([rule]);
      expect(await rules.create({ ...rule, id: uuid() })).toBe('created');
    });

    it('hostile texts come back as they went in', async () => {
      const { rules } = shared.get();
      const tenantId = uuid();
      const made = hostileTexts.map((text, priority) =>
        aRule({ tenantId, priority, pattern: text, bundleName: text, tagMatch: { [`k${text}`]: text } }),
      );
      for (const rule of made) await rules.create(rule);
      expect(await rules.list(tenantId)).toEqual(made);
    });

    it('tenants do not see or change each other', async () => {
      const { rules } = shared.get();
      const rule = aRule();
      await rules.create(rule);
      const stranger = uuid();
      expect(await rules.list(stranger)).toEqual([]);
      expect(await rules.update(stranger, rule.id, { pattern: 'x' })).toBe('absent');
      expect(await rules.remove(stranger, rule.id)).toBeNull();
      expect(await rules.list(rule.tenantId)).toEqual([rule]);
    });
  });
}
