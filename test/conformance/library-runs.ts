// Every store's promises about calls that the agent library governs: a run with each call once, and how each ended.
import { describe, expect, it } from 'vitest';
import { Guard, type GuardOptions, localApproval, toWire } from '../../packages/agent/src/index.ts';
import { durationsByTool, measuredCalls } from '../../src/agent/rules/tool-durations.ts';
import { repairEitherForm } from '../../src/event/console/forms.ts';
import type { EventInput } from '../../src/event/record.ts';
import { rowsFor } from '../runs.ts';
import { aBatch, everything, readAll } from './events.ts';
import { anEvent, type Open, sha256, sharedStore, t0, uuid } from './fixtures.ts';

const time = t0 + 3_600_000;

const contracts = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - { id: no-env, type: pre, tool: read, when: { args.path: { contains: .env } },
      then: { effect: deny, message: "no" } }
  - { id: ask, type: pre, tool: deploy, when: { args.to: { exists: true } }, then: { effect: approve, message: "?" } }
  - { id: watched, type: pre, mode: observe, tool: write, when: { args.path: { exists: true } },
      then: { effect: deny, message: "watched" } }
  - { id: also, type: pre, mode: observe, tool: write, when: { args.path: { equals: a } },
      then: { effect: deny, message: "also watched" } }
`;

/** Events of eleven calls as the hub gets them: allowed, failed, denied, approved, refused by a person, watched. */
async function elevenCalls(options: GuardOptions = {}): Promise<EventInput[]> {
  const guard = Guard.fromYaml(contracts, {
    openTelemetry: null,
    sessionId: 'run-1',
    approvals: localApproval(async ({ args }) => args.to === 'staging'),
    ...options,
  });
  const call = (tool: string, args: object, tools = (): unknown => 'ok') =>
    guard.run(tool, args, tools).catch(() => null);
  for (let i = 0; i < 5; i++) await call('read', { path: `${i}.txt` });
  await call('read', { path: '.env' });
  await call('read', { path: 'gone' }, () => {
    throw new Error('gone');
  });
  await call('deploy', { to: 'staging' });
  await call('deploy', { to: 'production' });
  await call('write', { path: 'a' });
  await call('write', { path: 'b' });
  const repaired = guard.events.events.map((record) =>
    repairEitherForm(toWire(record, 'agent-1', 'guardrails'), { agentId: 'agent-1', now: t0, sha256 }),
  );
  return repaired.map((one) => {
    if (!('event' in one)) throw new Error(one.detail);
    return one.event;
  });
}

export function libraryRunsContract(name: string, open: Open): void {
  describe(`${name}: runs of the agent library`, () => {
    const shared = sharedStore(open);
    const calls = (tenantId: string) =>
      shared
        .get()
        .runs.get(tenantId, { agentId: 'agent-1', sessionId: 'run-1' }, time)
        .then((run) => run?.facts?.calls);

    it('eleven calls are a run of eleven calls, and eleven events, however they are batched', async () => {
      const events = await elevenCalls();
      const batches: readonly (readonly EventInput[])[][] = [
        [events],
        [events.slice(0, 7), events.slice(5), events],
        events.map((event) => [event]),
      ];
      for (const parts of rowsFor(name, batches, 2)) {
        const tenantId = uuid();
        for (const part of parts) await shared.get().events.ingest(aBatch(tenantId, part));
        expect(await calls(tenantId)).toBe(11);
        expect(await readAll(shared.get(), tenantId)).toHaveLength(11);
      }
    });

    it('eleven calls of a guard that only watches are a run of eleven calls', async () => {
      const tenantId = uuid();
      await shared.get().events.ingest(aBatch(tenantId, await elevenCalls({ mode: 'observe' })));
      expect(await calls(tenantId)).toBe(11);
    });

    it('an event says how its call went on: how long the tool ran, how it failed, which conditions fired', async () => {
      const tenantId = uuid();
      await shared.get().events.ingest(aBatch(tenantId, await elevenCalls()));
      const stored = await readAll(shared.get(), tenantId);
      const byArgument = (path: string) =>
        stored.find(({ payload }) => (payload?.tool_args as { path?: string } | undefined)?.path === path);
      expect(byArgument('gone')?.outcomes).toMatchObject([
        { verdict: 'call_failed', toolSuccess: false, error: 'gone', durationMs: expect.any(Number) },
      ]);
      expect(byArgument('.env')?.payload).toMatchObject({
        call_index: 5,
        conditions: [
          { path: 'args.path', operator: 'contains', expected: '.env', actual: '.env', result: 'yes' },
        ],
      });
      const [also, allowed, executed] = byArgument('a')?.outcomes ?? [];
      expect(byArgument('a')).toMatchObject({
        verdict: 'call_would_deny',
        payload: { decision_name: 'watched' },
      });
      expect(also).toMatchObject({ verdict: 'call_would_deny', decisionName: 'also' });
      expect(JSON.parse(also?.conditions ?? '')).toEqual([
        { path: 'args.path', operator: 'equals', expected: 'a', actual: 'a', result: 'yes' },
      ]);
      expect(allowed).toMatchObject({ verdict: 'call_allowed' });
      expect(allowed).not.toHaveProperty('toolSuccess');
      expect(executed).toMatchObject({ verdict: 'call_executed', toolSuccess: true });
    });

    it('the newest events of an agent tell how long each of its tools ran', async () => {
      const tenantId = uuid();
      const { events } = shared.get();
      const durations = async () => {
        const filter = { env: null, agentId: 'agent-1', since: t0 };
        return durationsByTool((await events.search(tenantId, filter, measuredCalls, null)).events);
      };
      // The library's own: a denied call did not run.
      const calls = (await elevenCalls()).map((event) => ({ ...event, timestamp: t0 }));
      await events.ingest(aBatch(tenantId, calls));
      const runs = [...(await durations())].map(([tool, { runs: size }]) => [tool, size]);
      expect(Object.fromEntries(runs)).toEqual({ read: 6, deploy: 1, write: 2 });
      // Of times that are known: at the end of a call, told by a repeat, and by an event of its own.
      const ran = (duration_ms: number) => ({ tool_success: true, duration_ms });
      const call = (toolName: string, over: Partial<EventInput> = {}) =>
        anEvent({ agentId: 'agent-1', toolName, timestamp: t0, ...over });
      const begun = [5, 250, 40].map((ms) => [call('list'), ms] as const);
      await events.ingest(aBatch(tenantId, [...begun.map(([event]) => event), call('never')]));
      const ended = begun.map(([event, ms]) => ({ ...event, verdict: 'call_executed', payload: ran(ms) }));
      const own = call('send', { verdict: 'call_executed', payload: ran(7) });
      const others = [
        call('send', { agentId: 'agent-2', verdict: 'call_executed', payload: ran(900) }),
        call('send', { timestamp: t0 - 1, verdict: 'call_executed', payload: ran(900) }),
      ];
      await events.ingest(aBatch(tenantId, [...ended, own, ...others]));
      const ofSample = [call('send', { verdict: 'call_executed', payload: ran(900) })];
      await events.ingest(aBatch(tenantId, ofSample, { sample: true }));
      const byTool = await durations();
      expect(byTool.get('list')).toEqual({ runs: 3, p50Ms: 40, p95Ms: 250, maxMs: 250 });
      expect(byTool.get('send')).toEqual({ runs: 1, p50Ms: 7, p95Ms: 7, maxMs: 7 });
      expect(byTool.get('never')).toBeUndefined();
    });

    it('what a repeat says besides is kept only in its form', async () => {
      const tenantId = uuid();
      const [first] = await elevenCalls();
      if (!first) throw new Error('no event');
      const odd = {
        tool_success: 'yes',
        duration_ms: -1,
        error: { a: 1 },
        policy_error: 'no',
        conditions: [
          7,
          null,
          { path: 1 },
          { path: 'args.$a', operator: 'gt', actual: { '$where.x': 1 }, result: 'yes' },
        ],
      };
      await shared.get().events.ingest(aBatch(tenantId, [first]));
      await shared
        .get()
        .events.ingest(
          aBatch(tenantId, [{ ...first, verdict: 'call_executed', payload: { ...first.payload, ...odd } }]),
        );
      const [stored] = await readAll(shared.get(), tenantId, everything);
      expect(Object.keys(stored?.outcomes[0] ?? {}).sort()).toEqual([
        'conditions',
        'decisionName',
        'decisionSource',
        'reason',
        'sentBy',
        'timestamp',
        'verdict',
      ]);
      expect(JSON.parse(stored?.outcomes[0]?.conditions ?? '')).toEqual([
        { path: 'args.$a', operator: 'gt', expected: null, actual: { '$where.x': 1 }, result: 'yes' },
      ]);
    });
  });
}
