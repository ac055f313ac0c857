// What every store promises of agent registrations, reported versions and assignment rules (ports/agents).
import { describe, expect, it } from 'vitest';
import type { AgentManifest } from '../../src/domain/event.ts';
import { aRule, hostileTexts, type Open, parallel, sharedStore, t0, uuid } from './fixtures.ts';

const manifest = (agentId: string, policyVersion = 'v1'): AgentManifest => ({
  agent_id: agentId,
  policy_version: policyVersion,
  contracts: [{ id: 'c', type: 'pre', tool: ['a', '$b.c'], mode: 'enforce' }],
});

export function agentsContract(name: string, open: Open): void {
  describe(`${name}: agents`, () => {
    const shared = sharedStore(open);

    it('an agent that is seen is registered, once', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const ids = Array.from({ length: 20 }, () => uuid());
      const made = await Promise.all(ids.map((id) => agents.seen(tenantId, 'a', 'production', t0, id)));
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
        lastSeenAt: t0,
        createdAt: t0,
      });
      expect(ids).toContain(stored?.id);
      expect(made.every((r) => r.id === stored?.id)).toBe(true);
      expect(await agents.count(tenantId)).toBe(1);
    });

    it('last seen never goes backwards, nor does the environment with it', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      await agents.seen(tenantId, 'a', 'production', t0 + 10, uuid());
      expect(await agents.seen(tenantId, 'a', 'staging', t0 + 5, uuid())).toMatchObject({
        lastEnv: 'production',
        lastSeenAt: t0 + 10,
      });
      expect(await agents.seen(tenantId, 'a', 'staging', t0 + 15, uuid())).toMatchObject({
        lastEnv: 'staging',
        lastSeenAt: t0 + 15,
        createdAt: t0 + 10,
      });
    });

    it('lists by agent id', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      for (const agentId of ['b', 'a', 'c']) await agents.seen(tenantId, agentId, 'production', t0, uuid());
      expect((await agents.list(tenantId)).map((r) => r.agentId)).toEqual(['a', 'b', 'c']);
    });

    it('hostile texts are agent ids and tags like any other', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      for (const text of hostileTexts) {
        await agents.seen(tenantId, text, 'production', t0, uuid());
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
      const first = await agents.seen(tenantId, 'a', 'production', t0, uuid());
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
      for (const agentId of ['a', 'b', 'c']) await agents.seen(tenantId, agentId, 'production', t0, uuid());
      const assigned = await agents.assign(tenantId, ['a', 'ghost', 'c'], 'base');
      expect([...assigned].sort()).toEqual(['a', 'c']);
      expect((await agents.list(tenantId)).map((r) => r.bundleName)).toEqual(['base', null, 'base']);
      expect(await agents.assign(tenantId, ['a'], null)).toEqual(['a']);
      expect((await agents.get(tenantId, 'a'))?.bundleName).toBeNull();
      expect(await agents.assign(tenantId, [], 'base')).toEqual([]);
    });

    it('a manifest registers the agent, and the next replaces it', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      await agents.putManifest(tenantId, 'staging', manifest('a'), t0, uuid());
      expect(await agents.get(tenantId, 'a')).toMatchObject({
        manifest: { ...manifest('a'), updatedAt: t0 },
        createdAt: t0,
      });
      await agents.update(tenantId, 'a', { bundleName: 'base' });
      await agents.putManifest(tenantId, 'staging', manifest('a', 'v2'), t0 + 5, uuid());
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
      await agents.report(tenantId, 'production', report('base', 'two', t0 + 2));
      await agents.report(tenantId, 'production', report('base', 'one', t0 + 1));
      await agents.report(tenantId, 'production', report('base', 'three', t0 + 3));
      await agents.report(tenantId, 'production', report(null, 'unnamed', t0));
      await agents.report(tenantId, 'production', report('other', 'o', t0));
      await agents.report(tenantId, 'staging', report('base', 's', t0));
      const reports = await agents.reports(tenantId, 'production');
      expect(reports).toHaveLength(3);
      expect(reports).toEqual(
        expect.arrayContaining([
          report('base', 'three', t0 + 3),
          report(null, 'unnamed', t0),
          report('other', 'o', t0),
        ]),
      );
      expect(await agents.reports(tenantId, 'staging')).toEqual([report('base', 's', t0)]);
      expect(await agents.reports(uuid(), 'production')).toEqual([]);
    });

    it('of parallel reports the newest stays', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      await parallel(30, (i) =>
        agents.report(tenantId, 'production', {
          agentId: 'a',
          bundleName: null,
          policyVersion: `v${(i * 7) % 30}`,
          at: t0 + ((i * 7) % 30),
        }),
      );
      expect(await agents.reports(tenantId, 'production')).toEqual([
        { agentId: 'a', bundleName: null, policyVersion: 'v29', at: t0 + 29 },
      ]);
    });

    it('forgets agents not seen for long, unless they are assigned', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const old = t0 - 1_000_000_000;
      for (const agentId of ['a', 'b', 'c', 'kept']) {
        await agents.seen(tenantId, agentId, 'production', old, uuid());
      }
      await agents.seen(tenantId, 'young', 'production', old + 10, uuid());
      await agents.assign(tenantId, ['kept'], 'base');
      expect(await agents.forget(old, 10)).toBe(0);
      expect(await agents.forget(old + 10, 2)).toBe(2);
      expect(await agents.forget(old + 10, 2)).toBe(1);
      expect(await agents.forget(old + 10, 2)).toBe(0);
      expect((await agents.list(tenantId)).map((r) => r.agentId)).toEqual(['kept', 'young']);
      await agents.forget(old + 11, 10);
    });

    it('tenants do not see or change each other', async () => {
      const { agents } = shared.get();
      const tenantId = uuid();
      const mine = await agents.seen(tenantId, 'a', 'production', t0, uuid());
      const stranger = uuid();
      expect(await agents.get(stranger, 'a')).toBeNull();
      expect(await agents.list(stranger)).toEqual([]);
      expect(await agents.count(stranger)).toBe(0);
      expect(await agents.update(stranger, 'a', { displayName: 'x' })).toBeNull();
      expect(await agents.assign(stranger, ['a'], 'x')).toEqual([]);
      await agents.seen(stranger, 'a', 'staging', t0 + 99, uuid());
      await agents.putManifest(stranger, 'staging', manifest('a'), t0 + 99, uuid());
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
