import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxPending, request as requestOf } from '../../actors/approvals.ts';
import { dueApprovals } from '../../actors/kinds.ts';
import { startSweep } from '../../actors/runtime/deadlines.ts';
import { BoundedMap } from '../../src/shared/concurrency/bounded-map.ts';
import { settled } from '../clock.ts';
import { uuid } from '../conformance/fixtures.ts';
import { aHub, allStreams, headersOf } from './hub.ts';

let decisions = 0;
const aDecision = () => ({
  id: `decision-${++decisions}`,
  approved: true,
  decidedBy: 'ann@example.org',
  reason: 'fine',
  decidedVia: 'console',
});

type Hub = Awaited<ReturnType<typeof aHub>>;
const request = (hub: Hub, approval: ReturnType<Hub['approval']>, actors = hub.actors) =>
  actors.ask('environment', hub.keyOf(), 'requestApproval', { approval });
const decide = (hub: Hub, id: string, actors = hub.actors, decision = aDecision()) =>
  actors.ask('environment', hub.keyOf(), 'decideApproval', { id, decision });
const refusal = ({ code }: { code: string }) => code;
const expire = (hub: Hub, id: string, actors = hub.actors) =>
  actors.ask('environment', hub.keyOf(), 'expireApproval', { id });

describe('requesting', () => {
  it('stores the approval and tells the dashboards alone', async () => {
    const hub = await aHub();
    const approval = hub.approval(300);
    expect(await request(hub, approval)).toEqual(approval);
    expect(await hub.store.approvals.get(hub.tenantId, approval.id)).toEqual(approval);
    const frames = await hub.announced();
    expect(headersOf(frames)).toEqual(['dashboards approval_created']);
    expect(frames[0]?.data).toEqual({
      type: 'approval_created',
      approval_id: approval.id,
      agent_id: approval.agentId,
      tool_name: approval.toolName,
      message: approval.message,
    });
  });

  it('the same id again is announced once, and answers what is stored', async () => {
    const hub = await aHub();
    const approval = hub.approval(300);
    await Promise.all([request(hub, approval), request(hub, approval)]);
    expect(headersOf(await hub.announced())).toEqual(['dashboards approval_created']);
    const decided = await decide(hub, approval.id);
    await hub.announced();
    expect(await request(hub, approval)).toEqual(decided);
    expect(await hub.announced()).toEqual([]);
  });

  it('the same id again after its deadline, which no owner saw, times it out', async () => {
    const hub = await aHub();
    const approval = hub.approval(5);
    await request(hub, approval);
    await hub.actors.stop();
    await hub.announced();
    hub.clock.advance(5_000);
    const other = hub.start();
    const now = hub.clock.now();
    const repeat = { ...approval, createdAt: now, deadline: now + 5_000 };
    expect(await request(hub, repeat, other)).toMatchObject({ id: approval.id, status: 'timeout' });
    expect(await request(hub, repeat, other)).toMatchObject({ id: approval.id, status: 'timeout' });
    expect(headersOf(await hub.announced())).toEqual(['dashboards approval_timeout']);
    await hub.clock.advanceAsync(5_000);
    expect(await hub.announced()).toEqual([]);
    await other.stop();
  });

  it('the same id again after its deadline, while the sweep times it out, is answered with the timeout', async () => {
    let isRaced = false;
    const hub = await aHub({
      wrap: (store) => ({
        ...store,
        noting(noting) {
          const { approvals, ...noted } = store.noting(noting);
          const expire: typeof approvals.expire = async (...args) => {
            const expired = await approvals.expire(...args);
            return isRaced ? null : expired;
          };
          return { ...noted, approvals: { ...approvals, expire } };
        },
      }),
    });
    const approval = hub.approval(5);
    await hub.store.approvals.request(approval);
    hub.clock.advance(5_000);
    isRaced = true;
    expect(await request(hub, approval)).toMatchObject({ status: 'timeout', decidedVia: 'system' });
    expect(await hub.announced()).toEqual([]);
  });
});

it('more than 100,000 pending ones of an environment are refused, a repeat is not', async () => {
  const hub = await aHub();
  const approval = hub.approval(300);
  const waiting = new Map(Array.from({ length: maxPending - 1 }, (_, i) => [`${i}`, 0]));
  const memory = () => new BoundedMap<string>(10);
  const memories = { recent: memory(), decided: memory(), traces: memory() };
  const pending = { tenantId: hub.tenantId, env: approval.env, waiting, ...memories };
  const context = {
    now: () => 0,
    ports: { store: hub.store },
    setTimer: () => {},
  } as unknown as Parameters<typeof requestOf>[2];
  expect((await requestOf(pending, approval, context)).reply).toEqual(approval);
  expect((await requestOf(pending, approval, context)).reply).toEqual(approval);
  await expect(requestOf(pending, hub.approval(300), context)).rejects.toMatchObject({
    code: 'quota_exceeded',
    message: expect.stringContaining(`'${approval.env}'`),
  });
});

describe('deciding', () => {
  it('tells the agent itself and the dashboards', async () => {
    const hub = await aHub();
    const approval = hub.approval(300);
    await request(hub, approval);
    await hub.announced();
    expect(await decide(hub, approval.id)).toMatchObject({ status: 'approved', decidedAt: hub.clock.now() });
    const frames = await hub.announced();
    expect(headersOf(frames)).toEqual(['agents/production approval_decided', 'dashboards approval_decided']);
    expect(frames.map((f) => f.agent)).toEqual([approval.agentId, undefined]);
    expect(frames[0]?.data).toEqual({
      type: 'approval_decided',
      approval_id: approval.id,
      status: 'approved',
      decided_by: 'ann@example.org',
    });
  });

  it('answers not_found for an unknown id, conflict when decided, and conflict at its deadline', async () => {
    const hub = await aHub();
    await expect(decide(hub, 'nobody')).rejects.toMatchObject({ code: 'not_found' });
    const [one, two] = [hub.approval(10), hub.approval(10)];
    await request(hub, one);
    await request(hub, two);
    await decide(hub, one.id);
    await expect(decide(hub, one.id)).rejects.toMatchObject({ code: 'conflict' });
    hub.clock.advance(10_000);
    await expect(decide(hub, two.id)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('has one winner of 500 at once, and asks the store for no more than the winner', async () => {
    let reads = 0;
    const hub = await aHub({
      wrap: (store) => ({
        ...store,
        approvals: {
          ...store.approvals,
          get(...of) {
            reads++;
            return store.approvals.get(...of);
          },
        },
      }),
    });
    const approval = hub.approval(300);
    await request(hub, approval);
    const decisions = Array.from({ length: 500 }, () => decide(hub, approval.id).then(() => 'won', refusal));
    const outcomes = await Promise.all(decisions);
    expect(outcomes.filter((outcome) => outcome === 'won')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(499);
    expect(reads).toBe(1);
  });
});

it('a decision that comes again, its answer lost with its owner, is told that it won, and announced once', async () => {
  const hub = await aHub();
  const approval = hub.approval(10);
  await request(hub, approval);
  await hub.announced();
  const decision = aDecision();
  const decided = await decide(hub, approval.id, hub.actors, decision);
  hub.clock.advance(11_000);
  expect(await decide(hub, approval.id, hub.start(), decision)).toEqual(decided);
  const frames = await hub.announced();
  expect(headersOf(frames)).toEqual(['agents/production approval_decided', 'dashboards approval_decided']);
  await expect(decide(hub, approval.id)).rejects.toMatchObject({ code: 'conflict' });
});

describe('timing out', () => {
  it('happens at the deadline, not before, and is told to the dashboards once', async () => {
    const hub = await aHub();
    const approval = hub.approval(30);
    await request(hub, approval);
    await hub.announced();
    await hub.clock.advanceAsync(29_999);
    expect(await expire(hub, approval.id)).toBe(false);
    expect(await hub.announced()).toEqual([]);
    await hub.clock.advanceAsync(1);
    const frames = await hub.announced();
    expect(headersOf(frames)).toEqual(['dashboards approval_timeout']);
    expect(frames[0]?.data).toEqual({
      type: 'approval_timeout',
      approval_id: approval.id,
      agent_id: approval.agentId,
      tool_name: approval.toolName,
    });
    expect(await hub.store.approvals.get(hub.tenantId, approval.id)).toMatchObject({
      status: 'timeout',
      decidedVia: 'system',
      decidedBy: null,
    });
    expect(await expire(hub, approval.id)).toBe(false);
    expect(await hub.announced()).toEqual([]);
  });

  it('of many at once needs no message each, and leaves no timer', async () => {
    const hub = await aHub();
    const before = hub.clock.pending;
    for (let i = 0; i < 450; i++) await request(hub, hub.approval(30));
    await hub.announced();
    await hub.clock.advanceAsync(30_000);
    expect(await hub.announced()).toHaveLength(450);
    // The timer of the asks' time limit may still stand.
    expect(hub.clock.pending).toBeLessThanOrEqual(before + 1);
  });

  it('survives the loss of the activation: a new one loads the deadlines', async () => {
    const hub = await aHub();
    const approval = hub.approval(30);
    await request(hub, approval);
    await hub.actors.stop();
    await hub.announced();
    const other = hub.start();
    await hub.clock.advanceAsync(60_000);
    expect(await hub.announced()).toEqual([]);
    await other.ask('environment', hub.keyOf(), 'status', allStreams);
    await hub.clock.advanceAsync(1);
    expect(headersOf(await hub.announced())).toEqual(['dashboards approval_timeout']);
    await other.stop();
  });

  it('is done by the sweep where no actor is awake, at most 2 s late', async () => {
    const hub = await aHub();
    await hub.store.approvals.request(hub.approval(30));
    const sweep = startSweep({
      clock: hub.clock,
      log: hub.log,
      mine: () => true,
      due: dueApprovals(hub.store),
      tell: (tell) => hub.actors.receive(tell),
    });
    await hub.clock.advanceAsync(29_900, 100);
    // Nobody had told of the request either.
    expect(headersOf(await hub.announced())).toEqual(['dashboards approval_created']);
    await hub.clock.advanceAsync(2100, 100);
    expect(headersOf(await hub.announced())).toEqual(['dashboards approval_timeout']);
    await sweep.stop();
  });

  it('is told once although its owner dies between writing and telling', async () => {
    const hub = await aHub();
    const [late, decided] = [hub.approval(30), hub.approval(300)];
    await request(hub, late);
    await request(hub, decided);
    await hub.announced();
    // Work of the actor of a process that is killed here: the write, and nothing after it.
    hub.bus.cut = true;
    await hub.clock.advanceAsync(30_000);
    await expect(decide(hub, decided.id)).rejects.toMatchObject({ code: 'unavailable' });
    await hub.actors.stop();
    expect(await hub.announced()).toEqual([]);
    expect(await hub.store.approvals.get(hub.tenantId, late.id)).toMatchObject({ status: 'timeout' });
    hub.bus.cut = false;
    const other = hub.start();
    const sweep = startSweep({
      clock: hub.clock,
      log: hub.log,
      mine: () => true,
      due: dueApprovals(hub.store),
      tell: (tell) => other.receive(tell),
    });
    await hub.clock.advanceAsync(5000, 100);
    expect(headersOf(await hub.announced()).sort()).toEqual([
      'agents/production approval_decided',
      'dashboards approval_decided',
      'dashboards approval_timeout',
    ]);
    await hub.clock.advanceAsync(10_000, 100);
    expect(await hub.announced()).toEqual([]);
    await sweep.stop();
    await other.stop();
  });

  it('is done by the sweep for one tenant while many older ones of another cannot be handled', async () => {
    const hub = await aHub();
    const stuck = uuid();
    for (let i = 0; i < 35; i++) await hub.store.approvals.request(hub.approval(5, { tenantId: stuck }));
    const own = hub.approval(10);
    await hub.store.approvals.request(own);
    const sweep = startSweep({
      clock: hub.clock,
      log: hub.log,
      mine: () => true,
      due: dueApprovals(hub.store, 10),
      tell: (tell) =>
        tell.key.startsWith(stuck) ? Promise.reject(new Error('stuck')) : hub.actors.send(tell),
    });
    await hub.clock.advanceAsync(20_000, 100);
    expect(headersOf(await hub.announced())).toEqual([
      'dashboards approval_created',
      'dashboards approval_timeout',
    ]);
    expect(await hub.store.approvals.listDue(hub.clock.now(), 100)).toHaveLength(35);
    await sweep.stop();
  });

  it('is told once although that it was told could not be written down', async () => {
    let broken = true;
    const hub = await aHub({
      wrap: (store) => ({
        ...store,
        approvals: {
          ...store.approvals,
          announced: (...args) =>
            broken ? Promise.reject(new Error('disk')) : store.approvals.announced(...args),
        },
      }),
    });
    await hub.store.approvals.request(hub.approval(10));
    const sweep = startSweep({
      clock: hub.clock,
      log: hub.log,
      mine: () => true,
      due: dueApprovals(hub.store),
      tell: (tell) => hub.actors.receive(tell),
    });
    await hub.clock.advanceAsync(20_000, 100);
    broken = false;
    await hub.clock.advanceAsync(5000, 100);
    expect(headersOf(await hub.announced())).toEqual([
      'dashboards approval_created',
      'dashboards approval_timeout',
    ]);
    expect(await hub.store.approvals.listUnannounced(hub.clock.now() + 1, 10)).toEqual([]);
    await sweep.stop();
  });

  it('is tried again after a second when the store fails', async () => {
    let broken = true;
    const hub = await aHub({
      wrap: (store) => ({
        ...store,
        noting: (noting) => {
          const noted = store.noting(noting);
          return {
            ...noted,
            approvals: {
              ...noted.approvals,
              expire: (...args) =>
                broken ? Promise.reject(new Error('disk')) : noted.approvals.expire(...args),
            },
          };
        },
      }),
    });
    await request(hub, hub.approval(30));
    await hub.announced();
    await hub.clock.advanceAsync(30_000);
    expect(await hub.announced()).toEqual([]);
    broken = false;
    await hub.clock.advanceAsync(1000);
    expect(headersOf(await hub.announced())).toEqual(['dashboards approval_timeout']);
  });
});

it('whatever is tried, by two nodes and the sweep, in any order: one terminal state, one announcement, never early', async () => {
  const step = fc.record({
    what: fc.constantFrom('decide', 'expire', 'sweep', 'repeat', 'wait'),
    node: fc.integer({ min: 0, max: 1 }),
    ms: fc.integer({ min: 0, max: 6000 }),
    parallel: fc.boolean(),
  });
  const hub = await aHub();
  const other = hub.start();
  // The clock may jump past an asker's time limit while its message waits.
  const refused = (error: { code: string }) => {
    if (error.code !== 'conflict' && error.code !== 'unavailable') throw error;
    return null;
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const approval = hub.approval(10);
      await request(hub, approval);
      await hub.announced();
      const work: Promise<unknown>[] = [];
      const decisions: Promise<unknown>[] = [];
      for (const { what, node, ms, parallel } of steps) {
        const actors = node === 0 ? hub.actors : other;
        if (what === 'decide') decisions.push(decide(hub, approval.id, actors).catch(refused));
        if (what === 'expire') work.push(expire(hub, approval.id, actors).catch(refused));
        if (what === 'repeat') work.push(request(hub, approval).catch(refused));
        if (what === 'sweep') {
          const tells = await dueApprovals(hub.store)(hub.clock.now());
          work.push(...tells.map((tell) => actors.send(tell)));
        }
        if (what === 'wait') hub.clock.advance(ms);
        if (!parallel) await settled();
      }
      await Promise.all(work);
      const won = (await Promise.all(decisions)).filter((decided) => decided !== null);
      const ended = (type: string) => type === 'approval_decided' || type === 'approval_timeout';
      const told = async () =>
        (await hub.announced())
          .filter(
            (f) => f.data.approval_id === approval.id && f.audience.startsWith('dashboards') && ended(f.type),
          )
          .map((f) => f.type);
      const early = await told();
      if (hub.clock.now() < approval.deadline) expect(early).not.toContain('approval_timeout');
      await hub.clock.advanceAsync(12_000, 4000);
      const stored = await hub.store.approvals.get(hub.tenantId, approval.id);
      expect([...early, ...(await told())]).toEqual([
        stored?.status === 'approved' ? 'approval_decided' : 'approval_timeout',
      ]);
      expect(['approved', 'timeout']).toContain(stored?.status);
      expect(won.length).toBeLessThanOrEqual(stored?.status === 'approved' ? 1 : 0);
      expect(stored?.decidedAt ?? 0).toBeLessThan(approval.deadline);
    }),
    { numRuns: 60 },
  );
  await other.stop();
});
