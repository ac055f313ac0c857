// Figures of events over time (usage/port): for any batches, repeats, late events and removals, every figure is what a
// recount of the stored events gives.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contractMarks, countedAs, type EventInput, type StoredEvent } from '../../src/event/record.ts';
import { type Env, environments } from '../../src/shared/ids.ts';
import type { AgentTools, ContractUse, FleetUse, ToolUse } from '../../src/usage/port.ts';
import { runsOf, sizeFor } from '../runs.ts';
import { readAll } from './events.ts';
import { anEvent, type Open, sharedStore, t0, uuid } from './fixtures.ts';

const hour = 3_600_000;
const minute = 60_000;
const versions = ['v1', 'v2', 'x'.repeat(255)];
const agentIds = ['a', 'b', 'Agent "c"'];

/** Near the boundaries of hours and minutes, over a few days. */
const time = fc
  .tuple(
    fc.constantFrom(0, 1, 2, 24, 25, 26, 27, 50),
    fc.constantFrom(0, 1, 30, 59),
    fc.integer({ min: -2, max: 2 }),
  )
  .map(([h, m, ms]) => Math.floor(t0 / hour) * hour - h * hour + m * minute + ms / 2);

const event: fc.Arbitrary<EventInput> = fc.record({
  callId: fc.integer({ min: 0, max: 60 }).map((n) => `call-${n}`),
  agentId: fc.constantFrom(...agentIds),
  toolName: fc.constantFrom('read', 'write', 'tool\u0000', '\u0001"'),
  verdict: fc.constantFrom(
    ...['call_allowed', 'call_denied', 'call_would_deny', 'call_executed', 'pending', 'call_approval_denied'],
    'would_block',
  ),
  mode: fc.constantFrom('enforce', 'observe'),
  timestamp: time,
  payload: fc.option(
    fc.record({
      decision_name: fc.constantFrom('x', 'y', 'z\u0000', null),
      policy_version: fc.constantFrom(...versions, 'x'.repeat(256), 7, ''),
    }),
  ),
});

const batch = fc.record({
  env: fc.constantFrom<Env>(...environments),
  receivedAt: fc.integer({ min: 0, max: 6 }).map((n) => t0 + n * 20 * minute),
  events: fc.array(event, { maxLength: 30 }),
});

const versionOf = ({ payload }: EventInput): string | null => {
  const version = payload?.policy_version;
  return typeof version === 'string' && version !== '' && version.length < 256 ? version : null;
};

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function toolsOf(list: readonly StoredEvent[], agentId: string, since: number, until = Infinity): ToolUse[] {
  const found = new Map<string, { -readonly [K in keyof ToolUse]: ToolUse[K] }>();
  for (const e of list) {
    if (e.agentId !== agentId || e.timestamp < since || e.timestamp >= until) continue;
    const key = `${e.env} ${e.toolName}`;
    const fresh = { env: e.env as Env, tool: e.toolName, events: 0, allowed: 0, denied: 0, observed: 0 };
    const use = found.get(key) ?? { ...fresh, lastUsed: e.timestamp };
    found.set(key, use);
    use.events++;
    const as = countedAs(e.verdict, e.mode);
    if (as !== 'pending') use[as]++;
    use.lastUsed = Math.max(use.lastUsed, e.timestamp);
  }
  return [...found.values()].sort(byPlace);
}

const byPlace = (a: ToolUse, b: ToolUse): number => byText(a.env, b.env) || byText(a.tool, b.tool);

/** An agent's environment is left out where two of its events share the newest time. */
function fleetOf(list: readonly StoredEvent[], env: Env | null, since: number, countSince: number) {
  const seen = list.filter((e) => env === null || e.env === env);
  return agentIds.sort(byText).flatMap((agentId) => {
    const own = seen.filter((e) => e.agentId === agentId);
    const within = own.filter((e) => e.timestamp >= since);
    if (within.length === 0) return [];
    const lastSeen = Math.max(...within.map((e) => e.timestamp));
    const envs = new Set(within.filter((e) => e.timestamp === lastSeen).map((e) => e.env));
    return {
      agentId,
      lastSeen,
      env: envs.size === 1 ? [...envs][0] : null,
      tools: [...new Set(within.map((e) => e.toolName))].sort(),
      events: own.filter((e) => e.timestamp >= countSince).length,
    };
  });
}

const shownFleet = (
  { toolSets, agents }: FleetUse<AgentTools>,
  expected: readonly { readonly env: string | null | undefined }[],
) =>
  agents.map((agent, i) => ({
    ...agent,
    env: expected[i]?.env === null ? null : agent.env,
    tools: toolSets[agent.tools],
  }));

/** Two names of one contract, which a call may be told under together. */
const entries = new Map([
  ['x', 'x'],
  ['y', 'x'],
]);

function contractsOf(
  list: readonly StoredEvent[],
  env: Env | null,
  since: number,
  until: number,
  names?: ReadonlyMap<string, string>,
) {
  const within = list.filter(
    (e) => (env === null || e.env === env) && e.timestamp >= since && e.timestamp < until,
  );
  const found = new Map<string, { -readonly [K in keyof ContractUse]: ContractUse[K] }>();
  for (const e of within) {
    const name = typeof e.payload?.decision_name === 'string' ? e.payload.decision_name : null;
    const event = { name, verdict: e.verdict, mode: e.mode };
    for (const [contract, mark] of contractMarks(event, e.outcomes, names)) {
      const fresh = { name: contract, calls: 0, denials: 0, warnings: 0, lastTriggered: e.timestamp };
      const use = found.get(contract) ?? fresh;
      found.set(contract, use);
      use.calls++;
      if (mark.denied) use.denials++;
      if (mark.observed) use.warnings++;
      use.lastTriggered = Math.max(use.lastTriggered, e.timestamp);
    }
  }
  const contracts = [...found.values()].sort((a, b) => b.calls - a.calls || byText(a.name, b.name));
  return { events: within.length, contracts };
}

/** Earlier figures are left out where two events share the newest time. */
function versionAt(list: readonly StoredEvent[], agentId: string, version: string, since: number) {
  const own = list.filter((e) => e.agentId === agentId && e.env === 'production');
  const later = own.filter((e) => e.timestamp >= since && versionOf(e) === version).map((e) => e.timestamp);
  const before = own.filter((e) => e.timestamp < since);
  const newest = Math.max(...before.map((e) => e.timestamp));
  const last = new Set(before.filter((e) => e.timestamp === newest).map(versionOf));
  const [known = null] = last;
  return { firstAt: later.length > 0 ? Math.min(...later) : null, before: last.size > 1 ? undefined : known };
}

export function usageContract(name: string, open: Open): void {
  describe(`${name}: what events say over time`, () => {
    const shared = sharedStore(open);

    it('any batches, repeats, late events and removals are counted as a recount counts them', async () => {
      const store = shared.get();
      await fc.assert(
        fc.asyncProperty(
          fc.array(batch, { minLength: 1, maxLength: 8 }),
          fc.array(fc.tuple(time, time), { minLength: 2, maxLength: 4 }),
          fc.integer({ min: 0, max: 7 }),
          fc.integer({ min: 1, max: 20 }),
          async (batches, times, purgeBefore, limit) => {
            const tenantId = uuid();
            async function compare(): Promise<void> {
              const list = await readAll(store, tenantId);
              for (const [since, other] of times) {
                for (const agentId of agentIds) {
                  const tools = await store.usage.listTools(tenantId, agentId, since);
                  expect([...tools].sort(byPlace)).toEqual(toolsOf(list, agentId, since));
                  const within = await store.usage.listTools(tenantId, agentId, since, other);
                  expect([...within].sort(byPlace)).toEqual(toolsOf(list, agentId, since, other));
                  const questions = versions.map((version) => ({ version, since }));
                  const answers = await store.usage.listVersionsAt(
                    tenantId,
                    agentId,
                    'production',
                    questions,
                  );
                  for (const [i, answer] of answers.entries()) {
                    const { firstAt, before } = versionAt(list, agentId, versions[i] ?? '', since);
                    expect(answer).toEqual({
                      firstAt,
                      before: before === undefined ? answer.before : before,
                    });
                  }
                }
                for (const env of [null, 'production'] as const) {
                  const expected = fleetOf(list, env, since, other);
                  const fleet = await store.usage.fleet(tenantId, env, since, other);
                  expect(shownFleet(fleet, expected)).toEqual(expected);
                  const asked = ['b', 'Agent "c"', 'nobody'];
                  const some = await store.usage.listToolsOfAgents(tenantId, env, since, asked);
                  const those = expected.filter(({ agentId }) => asked.includes(agentId));
                  expect(shownFleet(some, those)).toEqual(those.map(({ events: _, ...agent }) => agent));
                  const [from, to] = [Math.min(since, other), Math.max(since, other)];
                  expect(await store.usage.listContracts(tenantId, env, from, to)).toEqual(
                    contractsOf(list, env, from, to),
                  );
                  const names = { entries, mayOverlap: true };
                  expect(await store.usage.listContracts(tenantId, env, from, to, names)).toEqual(
                    contractsOf(list, env, from, to, entries),
                  );
                }
              }
            }
            for (const given of batches) await store.events.ingest({ ...given, tenantId });
            await compare();
            const before = t0 + purgeBefore * 20 * minute;
            for (let n = -1; n !== 0; ) n = await store.events.removeBefore(tenantId, before, limit);
            await compare();
            // Removed events may come again.
            for (const given of batches) await store.events.ingest({ ...given, tenantId });
            await compare();
          },
        ),
        { numRuns: sizeFor(name, runsOf(15, 3), 1) },
      );
    }, 240_000);

    it('a call counts once for a contract, and for each contract that its reports name', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const ingest = (...events: EventInput[]) =>
        store.events.ingest({ tenantId, env: 'production', receivedAt: t0 + 60_000, events });
      const call = anEvent({ timestamp: t0, verdict: 'call_allowed', payload: { decision_name: 'x' } });
      const told = (verdict: string, decision_name: string | null) => ({
        ...call,
        verdict,
        payload: { decision_name },
      });
      await ingest(call);
      await ingest(told('call_executed', 'x'), told('call_would_deny', 'y'), told('call_denied', 'x'));
      await ingest(told('deny', 'x'), told('call_failed', null));
      const use = (contract: string, denials: number, warnings: number) => ({
        name: contract,
        calls: 1,
        denials,
        warnings,
        lastTriggered: t0,
      });
      expect(await store.usage.listContracts(tenantId, null, t0, t0 + 1)).toEqual({
        events: 1,
        contracts: [use('x', 1, 0), use('y', 0, 1)],
      });
      const names = { entries: new Map([['y', 'x']]), mayOverlap: true };
      expect(await store.usage.listContracts(tenantId, null, t0, t0 + 1, names)).toEqual({
        events: 1,
        contracts: [use('x', 1, 1)],
      });
      // Over whole hours as well, where sums are kept for each name.
      const [from, to] = [Math.floor(t0 / hour) * hour, Math.ceil((t0 + 1) / hour) * hour];
      expect((await store.usage.listContracts(tenantId, null, from, to, names)).contracts).toEqual([
        use('x', 1, 1),
      ]);
      const counts = (entries?: ReadonlyMap<string, string>) =>
        store.events.counts(tenantId, null, t0, t0, entries);
      expect([(await counts()).contractsTriggered, (await counts(names.entries)).contractsTriggered]).toEqual(
        [2, 1],
      );
      expect(await store.usage.listContracts(tenantId, null, t0 + 1, t0 + hour)).toEqual({
        events: 0,
        contracts: [],
      });
      expect(await store.usage.listContracts(uuid(), null, 0, t0 + hour)).toEqual({
        events: 0,
        contracts: [],
      });
    });

    it('says when an agent was first heard of, and which versions it ran when', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const at = (minutes: number, policy_version: string | null, env: Env = 'production') =>
        store.events.ingest({
          tenantId,
          env,
          receivedAt: t0 + 10 * hour,
          events: [anEvent({ agentId: 'a', timestamp: t0 + minutes * minute, payload: { policy_version } })],
        });
      for (const [minutes, version] of [
        [200, 'v2'],
        [10, 'v1'],
        [20, null],
        [30, 'v1'],
        [90, 'v1'],
        [250, 'v2'],
      ] as const) {
        await at(minutes, version);
      }
      await at(5, 'v9', 'staging');
      expect(await store.usage.getSpan(tenantId, 'a', null)).toEqual({
        firstAt: t0 + 5 * minute,
        firstEnv: 'staging',
        env: 'production',
      });
      const inProduction = { firstAt: t0 + 10 * minute, firstEnv: 'production', env: 'production' };
      expect(await store.usage.getSpan(tenantId, 'a', 'production')).toEqual(inProduction);
      const inStaging = { firstAt: t0 + 5 * minute, firstEnv: 'staging', env: 'staging' };
      expect(await store.usage.getSpan(tenantId, 'a', ['staging', 'development'])).toEqual(inStaging);
      expect(await store.usage.getSpan(tenantId, 'a', 'development')).toBeNull();
      expect(await store.usage.getSpan(tenantId, 'b', null)).toBeNull();
      expect(await store.usage.getSpan(uuid(), 'a', null)).toBeNull();
      const ask = async (version: string, minutes: number) => {
        const question = { version, since: t0 + minutes * minute };
        const [answer] = await store.usage.listVersionsAt(tenantId, 'a', 'production', [question]);
        return [answer?.firstAt == null ? null : (answer.firstAt - t0) / minute, answer?.before];
      };
      expect(await ask('v1', 0)).toEqual([10, null]);
      expect(await ask('v1', 10)).toEqual([10, null]);
      expect(await ask('v1', 11)).toEqual([30, 'v1']);
      expect(await ask('v1', 25)).toEqual([30, null]);
      expect(await ask('v1', 91)).toEqual([null, 'v1']);
      expect(await ask('v2', 0)).toEqual([200, null]);
      expect(await ask('v2', 201)).toEqual([250, 'v2']);
      expect(await ask('v9', 0)).toEqual([null, null]);
      expect(await ask('v2', 100_000)).toEqual([null, 'v2']);
    });
  });
}
