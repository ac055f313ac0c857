// Every store's promises about runs (run/port): they follow from events and approvals, whatever the order and the
// repeats.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../src/event/record.ts';
import type { RunPlace } from '../../src/run/record.ts';
import { type RunStatus, runStatuses } from '../../src/run/record.ts';
import { runStatus } from '../../src/run/rules/run.ts';
import type { Env } from '../../src/shared/ids.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { runsOf } from '../runs.ts';
import { aBatch } from './events.ts';
import { anApproval, anEvent, hostileTexts, type Open, parallel, sharedStore, t0, uuid } from './fixtures.ts';

const time = { now: t0 + 3_600_000, staleAfterMs: 900_000 };
const all = { env: null };
const page = { limit: 1000, offset: 0 };

const snapshot = {
  name: 'release',
  active_stage: 'review',
  completed_stages: ['implement'],
  pending_approval: { required: false },
};

export const ofSession = (
  session: string,
  over: Partial<EventInput> = {},
  payload: object = {},
): EventInput => anEvent({ ...over, payload: { session_id: session, decision_name: 'rule', ...payload } });

/** The runs without what depends on the order of arrival. */
async function storedRuns(store: DocumentStore, tenantId: string) {
  const { items } = await store.runs.list(tenantId, all, page, time);
  return items.map((run) => ({
    ...run,
    lastEventId: null,
    snapshotEventId: null,
    facts: JSON.parse(
      JSON.stringify(run.facts, (key, value) => (/^(seq|id|appliedSeq)$/.test(key) ? 0 : value)),
    ),
  }));
}

const keyOf = ({ agentId, sessionId }: RunPlace): string => `${agentId}/${sessionId}`;

export function runsContract(name: string, open: Open): void {
  describe(`${name}: runs`, () => {
    const shared = sharedStore(open);
    const get = (tenantId: string, sessionId: string, agentId = 'agent-1') =>
      shared.get().runs.get(tenantId, { agentId, sessionId }, time.now);

    it('a run is there as soon as its first event is acknowledged, and says what its newest says', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = [
        ofSession('s', { timestamp: t0 }, { run_id: 'r1', policy_version: 'v1', workflow: snapshot }),
        ofSession(
          's',
          { timestamp: t0 + 5, verdict: 'call_blocked' },
          { run_id: 'r2', parent_session_id: 'p' },
        ),
      ];
      await store.events.ingest(aBatch(tenantId, events, { env: 'staging' }));
      const run = await get(tenantId, 's');
      const stored = await store.events.search(tenantId, { ...all, sessionId: 's' }, 10, null);
      expect(run).toMatchObject({
        agentId: 'agent-1',
        sessionId: 's',
        env: 'staging',
        startedAt: t0,
        lastActivityAt: t0 + 5,
        standing: 'blocked',
        pendingApprovals: 0,
        oldestPending: null,
        sample: false,
        lastEventId: stored.events[0]?.id,
        snapshotEventId: stored.events[1]?.id,
      });
      expect(run?.facts).toMatchObject({
        runId: 'r2',
        parentSessionId: 'p',
        counts: { allow: 1, block: 1 },
        calls: 2,
        version: { policyVersion: 'v1' },
        snapshot: { value: snapshot },
        last: { action: 'call_blocked', decisionName: 'rule' },
      });
    });

    it('counts a call once that is refused after a person approved it', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const reports = ['call_approval_requested', 'call_approval_granted', 'call_denied'].map((verdict, i) =>
        ofSession(
          's',
          { callId: `${tenantId}/asked`, verdict, timestamp: t0 + i },
          verdict === 'call_denied' ? { follows_decision: true } : {},
        ),
      );
      for (const report of reports.toReversed()) await store.events.ingest(aBatch(tenantId, [report]));
      expect((await get(tenantId, 's'))?.facts).toMatchObject({
        counts: { ask: 1, allow: 1, block: 1 },
        calls: 1,
        steps: { asked: 1, granted: 1, deniedLater: 1 },
      });
    });

    it('events without a session belong to no run; the run id stands in for it', async () => {
      const store = shared.get();
      const tenantId = uuid();
      await store.events.ingest(aBatch(tenantId, [anEvent(), anEvent({ payload: { run_id: 'only' } })]));
      const { items, total } = await store.runs.list(tenantId, all, page, time);
      expect([items.map((run) => run.sessionId), total]).toEqual([['only'], 1]);
    });

    it('any order, any grouping and any repetition of events give the same runs', async () => {
      const store = shared.get();
      const event = fc.record({
        session: fc.constantFrom('s1', 's2'),
        agent: fc.constantFrom('a', 'b'),
        verdict: fc.constantFrom('call_allowed', 'call_denied', 'call_executed', 'workflow_completed', 'odd'),
        carries: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(event, { minLength: 1, maxLength: 12 }),
          fc.array(fc.array(fc.nat(11), { minLength: 1, maxLength: 8 }), { maxLength: 6 }),
          async (given, repeats) => {
            // Each at a time of its own: of two at one time the later arrival is the newer.
            const events = given.map(({ session, agent, verdict, carries }, i) =>
              ofSession(
                session,
                { agentId: agent, verdict, timestamp: t0 + i },
                carries
                  ? { workflow: { ...snapshot, active_stage: `stage-${i}` }, policy_version: `v${i}` }
                  : {},
              ),
            );
            const [straight, mixed] = [uuid(), uuid()];
            await store.events.ingest(aBatch(straight, events));
            for (const places of [...repeats, [...events.keys()].reverse()]) {
              const some = places.flatMap((place) => events[place] ?? []);
              if (some.length > 0) await store.events.ingest(aBatch(mixed, some));
            }
            expect(await storedRuns(store, mixed)).toEqual(await storedRuns(store, straight));
          },
        ),
        { numRuns: runsOf(25, 4) },
      );
    }, 120_000);

    it('a call told by one id says of its runs what its reports say, in any order, grouping and repetition', async () => {
      const store = shared.get();
      const report = fc.record({
        call: fc.constantFrom('c1', 'c2', 'c3'),
        session: fc.constantFrom('s1', 's1', 's2'),
        verdict: fc.constantFrom(
          'call_approval_requested',
          'call_approval_granted',
          'call_allowed',
          'call_executed',
          'call_denied',
          'workflow_completed',
        ),
        name: fc.constantFrom('rule', 'other'),
        carries: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(report, {
            minLength: 1,
            maxLength: 10,
            selector: ({ call, verdict, name }) => `${call} ${verdict} ${name}`,
          }),
          fc.array(fc.array(fc.nat(9), { minLength: 1, maxLength: 8 }), { maxLength: 5 }),
          async (given, repeats) => {
            const of = (tenantId: string, byCall: boolean) =>
              given.map(({ call, session, verdict, name, carries }, i) =>
                ofSession(
                  session,
                  { callId: byCall ? `${tenantId}/${call}` : uuid(), verdict, timestamp: t0 + i },
                  {
                    decision_name: name,
                    ...(carries
                      ? { workflow: { ...snapshot, active_stage: `stage-${i}` }, policy_version: `v${i}` }
                      : {}),
                  },
                ),
              );
            const [apart, byCall] = [uuid(), uuid()];
            await store.events.ingest(aBatch(apart, of(apart, false)));
            const events = of(byCall, true);
            for (const places of [...repeats, [...events.keys()].reverse()]) {
              const some = places.flatMap((place) => events[place] ?? []);
              if (some.length > 0) await store.events.ingest(aBatch(byCall, some));
            }
            expect(await storedRuns(store, byCall)).toEqual(await storedRuns(store, apart));
          },
        ),
        { numRuns: runsOf(25, 4) },
      );
    }, 120_000);

    it('records decisions of runs in the audit chain, once each, those of a batch as one link', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const told = (verdict: string, i: number, over: Partial<EventInput> = {}) =>
        ofSession('s', { callId: `${tenantId}/${i}`, verdict, timestamp: t0 + i, ...over });
      const events = [
        told('call_allowed', 1),
        told('call_denied', 2),
        told('call_denied', 3, { mode: 'observe' }),
        told('call_asked', 4),
        told('call_would_block', 5),
        told('workflow_completed', 6),
        told('call_executed', 7),
        anEvent({ verdict: 'call_denied', payload: null }),
      ];
      const granted = told('call_approval_granted', 4);
      await store.events.ingest(aBatch(tenantId, events));
      // Again, in other groups, and with what became of the approval.
      await store.events.ingest(aBatch(tenantId, events.slice(2, 5)));
      await store.events.ingest(aBatch(tenantId, [...events, granted, granted]));
      await store.events.ingest(aBatch(tenantId, [granted]));
      const none = { from: null, to: null, actor: null, actions: null, subjects: null };
      const entries = (await store.audit.list(tenantId, none, null, 100)).map(({ entry }) => entry);
      expect(entries.map(({ action_type }) => action_type).reverse()).toEqual([
        'run.blocked',
        'run.would_block',
        'run.asked',
        'run.would_block',
        'run.completed',
        'run.approval_granted',
      ]);
      expect(entries.at(-1)).toMatchObject({
        actor: { type: 'agent', id: 'agent-1' },
        subject: { type: 'run', id: 'agent-1/s' },
        agent_id: 'agent-1',
        session_id: 's',
        details: { env: 'production', rule: 'rule', call_id: `${tenantId}/2` },
      });
      expect(JSON.stringify(entries)).not.toContain('args');
      expect(await store.audit.listLinks(tenantId, 1, 100, 1 << 20)).toHaveLength(2);
    });

    it('records no decision again whose event was purged and is sent again', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const asked = ofSession('s', { callId: `${tenantId}/1`, verdict: 'call_asked', timestamp: t0 });
      const denied = ofSession('s', { callId: `${tenantId}/2`, verdict: 'call_denied', timestamp: t0 });
      const granted = { ...asked, verdict: 'call_approval_granted' };
      const send = async () => {
        await store.events.ingest(aBatch(tenantId, [asked, denied], { receivedAt: t0 }));
        await store.events.ingest(aBatch(tenantId, [granted], { receivedAt: t0 }));
      };
      const none = { from: null, to: null, actor: null, actions: null, subjects: null };
      await send();
      const entries = await store.audit.list(tenantId, none, null, 9);
      while ((await store.events.removeBefore(tenantId, t0 + 10, 100)) > 0);
      await send();
      expect(entries).toHaveLength(3);
      expect(await store.audit.list(tenantId, none, null, 9)).toEqual(entries);
    });

    it('records no decision of a repeat from another environment, which adds nothing to its call', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const call = ofSession('s', { callId: `${tenantId}/1`, verdict: 'call_allowed', timestamp: t0 });
      const denied = { ...call, verdict: 'call_denied' };
      const none = { from: null, to: null, actor: null, actions: null, subjects: null };
      const entries = async () => (await store.audit.list(tenantId, none, null, 9)).map(({ entry }) => entry);
      await store.events.ingest(aBatch(tenantId, [call]));
      await store.events.ingest(aBatch(tenantId, [denied], { env: 'development' }));
      expect(await entries()).toEqual([]);
      await store.events.ingest(aBatch(tenantId, [denied]));
      expect(await entries()).toMatchObject([{ action_type: 'run.blocked', details: { env: 'production' } }]);
    });

    it('records which key reported a decision, whatever agent the event names', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const told = (verdict: string) =>
        ofSession('s', { callId: `${tenantId}/1`, agentId: 'ann@example.com', verdict, timestamp: t0 });
      const [first, second] = ['k1', 'k2'].map((keyId) => ({ keyId, prefix: `svk_${keyId}` }));
      const batch = aBatch(tenantId, [told('call_asked')]);
      await store.events.ingest({ ...batch, ...(first && { reporter: first }) });
      const repeat = aBatch(tenantId, [told('call_approval_granted')]);
      await store.events.ingest({ ...repeat, ...(second && { reporter: second }) });
      const none = { from: null, to: null, actor: null, actions: null, subjects: null };
      const entries = (await store.audit.list(tenantId, none, null, 9)).map(({ entry }) => entry);
      expect(entries).toMatchObject([
        {
          actor: { type: 'key', id: 'k2', display: 'svk_k2' },
          action_type: 'run.approval_granted',
          summary: `Reported by key svk_k2: a call of ${told('call_asked').toolName} by agent ann@example.com was approved.`,
          details: { key_id: 'k2' },
          agent_id: 'ann@example.com',
        },
        { actor: { type: 'key', id: 'k1', display: 'svk_k1' }, details: { key_id: 'k1' } },
      ]);
      const session = await storedRuns(store, tenantId);
      expect(JSON.stringify(session)).not.toContain('svk_');
    });

    it('parallel batches of one run lose no count', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = Array.from({ length: 60 }, (_, i) => ofSession('s', { timestamp: t0 + i }));
      // Every event twice, in other batches.
      await parallel(24, async (i) => {
        const from = (i * 5) % 60;
        await store.events.ingest(aBatch(tenantId, events.slice(from, from + 5)));
      });
      const run = await get(tenantId, 's');
      expect(run?.facts).toMatchObject({ counts: { allow: 60 }, calls: 60 });
    });

    it('hostile names of agents and sessions are runs of their own', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const texts = hostileTexts.filter((text) => text.length > 0 && text.length <= 255);
      await store.events.ingest(
        aBatch(
          tenantId,
          texts.map((text) => ofSession(text, { agentId: text })),
        ),
      );
      for (const text of texts) {
        const run = await get(tenantId, text, text);
        expect(run).toMatchObject({ agentId: text, sessionId: text, facts: { counts: { allow: 1 } } });
      }
      expect((await store.runs.list(tenantId, all, page, time)).total).toBe(new Set(texts).size);
    });

    it('runs of another tenant are none', async () => {
      const store = shared.get();
      const tenantId = uuid();
      await store.events.ingest(aBatch(tenantId, [ofSession('s')]));
      expect(await get(uuid(), 's')).toBeNull();
      expect((await store.runs.list(uuid(), all, page, time)).total).toBe(0);
      expect(
        await store.runs.listRecent(
          uuid(),
          { agentIds: ['agent-1'], env: null, since: 0, limit: 10 },
          time.now,
        ),
      ).toEqual([]);
    });

    it('lists what comes after a run, however many were before it', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const names = ['a', 'b', 'c'].flatMap((agent) =>
        ['1', '2', 'é'].map((session) => ({ agent, session })),
      );
      for (const [i, { agent, session }] of names.entries()) {
        const at = t0 + Math.floor(i / 4) + 0.25;
        await store.events.ingest(aBatch(tenantId, [ofSession(session, { agentId: agent, timestamp: at })]));
      }
      const whole = (await store.runs.list(tenantId, all, page, time)).items.map(keyOf);
      const seen: string[] = [];
      let after: RunPlace | undefined;
      for (let more = true; more; ) {
        const found = await store.runs.list(
          tenantId,
          all,
          { limit: 2, offset: 0, ...(after ? { after } : {}) },
          time,
        );
        expect(found.total).toBe(names.length);
        seen.push(...found.items.map(keyOf));
        after = found.items.at(-1);
        more = found.more;
        // Newer ones shift nothing.
        const events = [ofSession('new', { agentId: `n${seen.length}`, timestamp: t0 + 100 })];
        if (seen.length === 2) names.push({ agent: 'n2', session: 'new' });
        if (seen.length === 2) await store.events.ingest(aBatch(tenantId, events));
      }
      expect(seen).toEqual(whole);
    });

    it('lists newest first, in pages, with their number', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = [3, 1, 4, 1, 5].map((n, i) =>
        ofSession(`s${i}`, { agentId: i < 3 ? 'b' : 'a', timestamp: t0 + n }),
      );
      await store.events.ingest(aBatch(tenantId, events));
      const seen: string[] = [];
      for (let offset = 0; ; offset += 2) {
        const { items, more, total } = await store.runs.list(tenantId, all, { limit: 2, offset }, time);
        expect(total).toBe(5);
        seen.push(...items.map(({ agentId, sessionId }) => `${agentId}/${sessionId}`));
        if (!more) break;
      }
      expect(seen).toEqual(['a/s4', 'b/s2', 'b/s0', 'a/s3', 'b/s1']);
    });

    it('filters by agent, session, environment and status as a reader sees it', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const late = time.now - 1000;
      await store.events.ingest(
        aBatch(
          tenantId,
          [
            ofSession('active', { timestamp: late }),
            ofSession('stale', { timestamp: t0 }),
            ofSession('blocked', { verdict: 'call_denied', timestamp: t0 }),
            ofSession('completed', { verdict: 'workflow_completed', timestamp: late }),
            ofSession(
              'asking',
              { timestamp: late },
              { workflow: { ...snapshot, pending_approval: { required: true } } },
            ),
            ofSession('waiting', { verdict: 'call_blocked', timestamp: t0 }),
          ],
          { receivedAt: late },
        ),
      );
      await store.events.ingest(
        aBatch(tenantId, [ofSession('active', { agentId: 'other' })], { env: 'staging' }),
      );
      const asked = anApproval({ tenantId, sessionId: 'waiting', createdAt: late, toolArgs: null });
      await store.approvals.request(asked);
      await store.approvals.request({ ...asked, id: uuid(), createdAt: late + 1 });
      await store.approvals.request(
        anApproval({ tenantId, sessionId: 'stale', createdAt: t0, timeoutSeconds: 1 }),
      );

      const sessions = async (filter: object) =>
        (await store.runs.list(tenantId, { ...all, ...filter }, page, time)).items
          .map((run) => run.sessionId)
          .sort();
      expect(await sessions({ agentId: 'other' })).toEqual(['active']);
      expect(await sessions({ sessionId: 'active' })).toEqual(['active', 'active']);
      expect(await sessions({ env: 'staging' })).toEqual(['active']);
      const { items } = await store.runs.list(tenantId, all, page, time);
      const seen = new Map<RunStatus, string[]>();
      for (const run of items) {
        const status = runStatus(run, run.pendingApprovals, time);
        seen.set(status, [...(seen.get(status) ?? []), run.sessionId].sort());
      }
      expect(seen.get('approval_pending')).toEqual(['asking', 'waiting']);
      for (const status of runStatuses)
        expect(await sessions({ statuses: [status] })).toEqual(seen.get(status));
      expect(await sessions({ statuses: [...runStatuses] })).toHaveLength(7);
      const waiting = await get(tenantId, 'waiting');
      expect(waiting).toMatchObject({
        pendingApprovals: 2,
        oldestPending: { id: asked.id, sessionId: 'waiting' },
      });
    });

    it('an approval makes a run and moves its activity, never back', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const asked = (createdAt: number) =>
        anApproval({ tenantId, sessionId: 's', env: 'staging', createdAt, timeoutSeconds: 10 });
      const [first, second] = [asked(t0 + 5), asked(t0 + 3)];
      for (const approval of [first, second, first]) await store.approvals.request(approval);
      await store.approvals.request(anApproval({ tenantId, sessionId: null }));
      expect(await storedRuns(store, tenantId)).toMatchObject([
        {
          sessionId: 's',
          env: 'staging',
          startedAt: t0 + 3,
          lastActivityAt: t0 + 5,
          standing: 'open',
          facts: null,
        },
      ]);
      await store.events.ingest(
        aBatch(tenantId, [ofSession('s', { timestamp: t0, verdict: 'call_blocked' })]),
      );
      expect(await get(tenantId, 's')).toMatchObject({
        env: 'production',
        startedAt: t0,
        lastActivityAt: t0 + 5,
        standing: 'blocked',
      });
      const decision = { id: uuid(), approved: true, decidedBy: 'ada', reason: null, decidedVia: 'console' };
      await store.approvals.decide(tenantId, first.id, decision, t0 + 8);
      expect(await get(tenantId, 's')).toMatchObject({ lastActivityAt: t0 + 8 });
      await store.approvals.expire(tenantId, second.id, t0 + 20_000);
      expect(await get(tenantId, 's')).toMatchObject({ lastActivityAt: t0 + 10_003 });
    });

    it('glances at the newest runs of agents', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = ['a', 'b', 'c'].flatMap((agentId) =>
        [1, 2, 3].map((n) =>
          ofSession(`s${n}`, {
            agentId,
            timestamp: t0 + n,
            verdict: n === 3 ? 'call_blocked' : 'call_allowed',
          }),
        ),
      );
      await store.events.ingest(aBatch(tenantId, events));
      await store.approvals.request(
        anApproval({ tenantId, agentId: 'b', sessionId: 's2', createdAt: t0, timeoutSeconds: 86_400 }),
      );
      const three = { agentIds: ['a', 'b', 'none'], env: null };
      const found = await store.runs.listRecent(tenantId, { ...three, since: t0 + 2, limit: 2 }, time.now);
      await store.approvals.request(
        anApproval({ tenantId, agentId: 'b', sessionId: null, createdAt: t0, timeoutSeconds: 86_400 }),
      );
      await store.approvals.request(anApproval({ tenantId, agentId: 'a', createdAt: t0, timeoutSeconds: 1 }));
      expect(await store.runs.countPending(tenantId, three, time.now)).toEqual([['b', 2]]);
      expect(await store.runs.countPending(uuid(), three, time.now)).toEqual([]);
      expect(found).toEqual(
        ['a', 'b'].flatMap((agentId) => [
          { agentId, sessionId: 's3', standing: 'blocked', lastActivityAt: t0 + 3, pendingApprovals: 0 },
          {
            agentId,
            sessionId: 's2',
            standing: 'open',
            lastActivityAt: t0 + 2,
            pendingApprovals: agentId === 'b' ? 1 : 0,
          },
        ]),
      );
    });

    it('has no approval of another environment, though agent and session are the same', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const ofRun = { tenantId, agentId: 'agent-1', sessionId: 's', createdAt: t0, timeoutSeconds: 86_400 };
      await store.events.ingest(aBatch(tenantId, [ofSession('s')], { env: 'development' }));
      await store.approvals.request(anApproval({ ...ofRun, env: 'staging' }));
      const statusesOf = async (status: RunStatus) =>
        (await store.runs.list(tenantId, { env: null, statuses: [status] }, page, time)).total;
      const agentIds = ['agent-1'];
      const pendingIn = (env: Env) => store.runs.countPending(tenantId, { agentIds, env }, time.now);
      const recentIn = (env: Env) =>
        store.runs.listRecent(tenantId, { agentIds, env, since: 0, limit: 10 }, time.now);
      expect(await get(tenantId, 's')).toMatchObject({ pendingApprovals: 0, oldestPending: null });
      expect([await statusesOf('approval_pending'), await statusesOf('stale')]).toEqual([0, 1]);
      expect([await pendingIn('development'), await pendingIn('staging')]).toEqual([[], [['agent-1', 1]]]);
      expect(await recentIn('staging')).toEqual([]);
      expect(await recentIn('development')).toMatchObject([{ sessionId: 's', pendingApprovals: 0 }]);
      const approval = anApproval({ ...ofRun, env: 'development' });
      await store.approvals.request(approval);
      expect(await get(tenantId, 's')).toMatchObject({
        pendingApprovals: 1,
        oldestPending: { id: approval.id },
      });
      expect([await statusesOf('approval_pending'), await statusesOf('stale')]).toEqual([1, 0]);
    });

    it('goes with its events when they are purged, and not before', async () => {
      const store = shared.get();
      const tenantId = uuid();
      await store.events.ingest(aBatch(tenantId, [ofSession('old'), ofSession('kept')], { receivedAt: t0 }));
      await store.events.ingest(
        aBatch(tenantId, [ofSession('kept', { timestamp: t0 - 5 })], { receivedAt: t0 + 10 }),
      );
      while ((await store.events.removeBefore(tenantId, t0 + 10, 100)) > 0);
      expect(await store.events.removeIdleRuns(tenantId, t0 + 10, 100)).toBe(1);
      expect((await storedRuns(store, tenantId)).map((run) => run.sessionId)).toEqual(['kept']);
    });

    it('goes in bounded steps when there are many, and stays if something came for it', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = Array.from({ length: 25 }, (_, i) => ofSession(`s${i}`, { callId: `c${i}` }));
      await store.events.ingest(aBatch(tenantId, events, { receivedAt: t0 }));
      await store.approvals.request(anApproval({ tenantId, sessionId: 's3', createdAt: t0 + 20 }));
      while ((await store.events.removeBefore(tenantId, t0 + 10, 10)) > 0);
      await store.events.ingest(aBatch(tenantId, [ofSession('s5')], { receivedAt: t0 + 30 }));
      let removed = 0;
      for (let step = -1; step !== 0; removed += step) {
        step = await store.events.removeIdleRuns(tenantId, t0 + 10, 10);
        expect(step).toBeLessThanOrEqual(10);
      }
      expect(removed).toBe(23);
      expect((await storedRuns(store, tenantId)).map((run) => run.sessionId).sort()).toEqual(['s3', 's5']);
      expect(await get(tenantId, 's5')).toMatchObject({ isTrimmed: true });
    });

    it('the sample run is shown, counted nowhere, and can be removed alone', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const sample = [
        ofSession('sample', { agentId: 'sample-agent' }),
        ofSession('sample', { agentId: 'sample-agent', verdict: 'call_denied' }),
      ];
      await store.events.ingest(aBatch(tenantId, sample, { sample: true }));
      await store.events.ingest(aBatch(tenantId, [ofSession('s')]));
      const found = await store.events.search(tenantId, { ...all, agentId: 'sample-agent' }, 10, null);
      expect(found.events.map((event) => event.sample)).toEqual([true, true]);
      expect(await get(tenantId, 'sample', 'sample-agent')).toMatchObject({ sample: true });
      expect(await store.events.counts(tenantId, null, 0, 0)).toMatchObject({
        events: 1,
        denials: 0,
        activeAgents: 1,
      });
      const buckets = await store.events.histogram(tenantId, all, 60_000);
      expect(buckets.map(({ allowed, denied }) => [allowed, denied])).toEqual([[1, 0]]);
      expect(
        await store.runs.listRecent(
          tenantId,
          { agentIds: ['sample-agent'], env: null, since: 0, limit: 10 },
          time.now,
        ),
      ).toEqual([]);
      for (let i = 0; i < 2; i++) await store.events.removeSample(tenantId);
      const left = await store.events.search(tenantId, all, 10, null);
      expect(left.events).toHaveLength(1);
      expect((await storedRuns(store, tenantId)).map((run) => run.sessionId)).toEqual(['s']);
      await store.events.ingest(aBatch(tenantId, sample, { sample: true }));
      expect(await get(tenantId, 'sample', 'sample-agent')).toMatchObject({
        facts: { counts: { allow: 1, block: 1 } },
      });
    });
  });
}
