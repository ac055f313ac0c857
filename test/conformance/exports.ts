// Every store's promises about exports (export/port.ts): each line once, in one order, whatever happens between reads.
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../src/event/record.ts';
import type { ExportLine, OrderedKind } from '../../src/export/record.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { sizeFor } from '../runs.ts';
import { aBatch } from './events.ts';
import { anApproval, anEvent, type Open, parallel, sharedStore, t0, uuid } from './fixtures.ts';
import { removeAll } from './retention.ts';

/** Reads on from a place until the end. */
export async function readLines(
  store: DocumentStore,
  tenantId: string,
  kind: OrderedKind,
  { after = null, limit = 7 }: { readonly after?: string | null; readonly limit?: number } = {},
): Promise<{ readonly lines: readonly ExportLine[]; readonly end: string | null }> {
  const lines: ExportLine[] = [];
  let end = after;
  for (;;) {
    const page = await store.exports.list(tenantId, kind, end, limit);
    expect(page.lines.length).toBeLessThanOrEqual(limit);
    lines.push(...page.lines);
    end = page.end;
    if (!page.hasMore) return { lines, end };
  }
}

/** Reads until there are `count` lines: where nodes share the store, lines follow their writes. */
export async function waitForLines(
  store: DocumentStore,
  tenantId: string,
  kind: OrderedKind,
  count: number,
  after: string | null = null,
): Promise<readonly ExportLine[]> {
  // As long as it takes until the lines of a writer that could not append them are appended.
  const until = performance.now() + 40_000;
  for (;;) {
    const { lines } = await readLines(store, tenantId, kind, { after });
    if (lines.length >= count || performance.now() > until) return lines;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const wordOf = (line: ExportLine): string => {
  if (line.type === 'audit_entry') return 'audit';
  if (line.type === 'event') return line.event.callId;
  if (line.type === 'outcome') return `${line.event.callId}: ${line.outcome.verdict}`;
  return `${line.approval.id}: ${line.type.slice('approval_'.length)} ${line.approval.status}`;
};
const wordsOf = (lines: readonly ExportLine[]): string[] => lines.map(wordOf);

const repeatOf = (event: EventInput, verdict: string): EventInput => ({
  ...event,
  verdict,
  payload: { decision_name: 'r', reason: verdict },
});

export function exportsContract(name: string, open: Open): void {
  describe(`${name}: exports`, () => {
    const shared = sharedStore(open);
    const ingest = (tenantId: string, events: readonly EventInput[], receivedAt = t0) =>
      shared.get().events.ingest(aBatch(tenantId, events, { receivedAt }));

    it('gives events and later outcomes as lines, in the order of commits, from any line on', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const [first, second] = [anEvent({ callId: 'c1' }), anEvent({ callId: 'c2', agentId: 'agent-2' })];
      await ingest(tenantId, [first]);
      await waitForLines(store, tenantId, 'events', 1);
      await ingest(tenantId, [repeatOf(first, 'call_executed'), second]);
      await waitForLines(store, tenantId, 'events', 3);
      await ingest(tenantId, [first, second]);
      await ingest(tenantId, [repeatOf(second, 'call_failed')]);
      const lines = await waitForLines(store, tenantId, 'events', 4);
      expect(wordsOf(lines).sort()).toEqual(['c1', 'c1: call_executed', 'c2', 'c2: call_failed']);
      expect(wordsOf(lines)[0]).toBe('c1');
      expect(wordsOf(lines)[3]).toBe('c2: call_failed');
      const [line] = lines;
      expect(line?.type === 'event' && line.event).toMatchObject({ outcomes: [], env: 'production' });
      for (const [i, { place }] of lines.entries()) {
        const rest = await readLines(store, tenantId, 'events', { after: place, limit: 1 });
        expect(wordsOf(rest.lines)).toEqual(wordsOf(lines.slice(i + 1)));
      }
      expect((await readLines(store, uuid(), 'events')).lines).toEqual([]);
    });

    it('keeps one order while batches, repeats and other tenants come at once', async () => {
      const store = shared.get();
      const [tenantId, other] = [uuid(), uuid()];
      const rounds = sizeFor(name, 5, 2);
      const seen: string[] = [];
      let place: string | null = null;
      const readOn = async () => {
        const { lines, end } = await readLines(store, tenantId, 'events', { after: place, limit: 13 });
        seen.push(...wordsOf(lines));
        place = lines.at(-1)?.place ?? end;
      };
      const senders = parallel(6, async (sender) => {
        for (let n = 0; n < rounds; n++) {
          const events = Array.from({ length: 9 }, (_, i) =>
            anEvent({ callId: `${sender}-${n}-${i}`, agentId: `agent-${i % 3}`, timestamp: t0 - n * 1e7 }),
          );
          await ingest(tenantId, events);
          await ingest(other, [anEvent()]);
          await ingest(tenantId, [...events.slice(0, 3).map((event) => repeatOf(event, 'call_executed'))]);
          if (n % 2 === 0) await ingest(tenantId, events);
        }
      });
      let isDone = false;
      const following = (async () => {
        while (!isDone) await readOn();
      })();
      await senders;
      isDone = true;
      await following;
      const all = 6 * rounds * (9 + 3);
      const whole = wordsOf(await waitForLines(store, tenantId, 'events', all));
      await readOn();
      expect(new Set(seen).size).toBe(all);
      expect(seen).toEqual(whole);
      for (const word of whole.filter((one) => one.includes(':')))
        expect(whole.indexOf(word.split(':')[0] ?? '')).toBeLessThan(whole.indexOf(word));
    });

    it('refuses a place that another store gave', async () => {
      for (const kind of ['events', 'approvals'] as const)
        await expect(shared.get().exports.list(randomUUID(), kind, '1.2.3.4', 10)).rejects.toMatchObject({
          code: 'bad_request',
        });
    });

    it('gives changes of approvals as lines of their own', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const insert = async (id: string) => {
        await store.approvals.request(anApproval({ id, tenantId, createdAt: t0, deadline: t0 + 5 }));
        return id;
      };
      const [a, b] = [await insert(uuid()), await insert(uuid())];
      await store.approvals.request(anApproval({ id: a, tenantId, createdAt: t0 + 1 }));
      await waitForLines(store, tenantId, 'approvals', 2);
      const decision = {
        id: uuid(),
        approved: true,
        decidedBy: 'ada',
        reason: null,
        decidedVia: 'console',
      } as const;
      await store.approvals.decide(tenantId, a, decision, t0 + 1);
      await store.approvals.decide(tenantId, a, decision, t0 + 1);
      await waitForLines(store, tenantId, 'approvals', 3);
      await store.approvals.expire(tenantId, b, t0 + 6);
      await store.approvals.expire(tenantId, b, t0 + 7);
      const lines = await waitForLines(store, tenantId, 'approvals', 4);
      expect(wordsOf(lines).slice(0, 2).sort()).toEqual(
        [`${a}: requested pending`, `${b}: requested pending`].sort(),
      );
      expect(wordsOf(lines).slice(2)).toEqual([`${a}: decided approved`, `${b}: expired timeout`]);
      const rest = await readLines(store, tenantId, 'approvals', { after: lines[2]?.place ?? null });
      expect(wordsOf(rest.lines)).toEqual([`${b}: expired timeout`]);
    });

    it('tells a reader whose place removal has passed, and how many lines are gone', async () => {
      const store = shared.get();
      const tenantId = uuid();
      for (let i = 0; i < 4; i++) await ingest(tenantId, [anEvent({ callId: `c${i}` })], t0 + i);
      const event = anEvent({ callId: 'c1' });
      await ingest(tenantId, [repeatOf(event, 'call_executed')], t0 + 9);
      const lines = await waitForLines(store, tenantId, 'events', 5);
      const [first, , third] = lines;
      const after = await store.exports.list(tenantId, 'events', first?.place ?? null, 10);
      expect(after).toMatchObject({ removed: 0, isTrimmed: false });
      await removeAll(store, tenantId, 'events', t0 + 1);
      const behind = await store.exports.list(tenantId, 'events', first?.place ?? null, 10);
      expect(behind).toMatchObject({ removed: 1, isTrimmed: false });
      await removeAll(store, tenantId, 'events', t0 + 2);
      const trimmed = await store.exports.list(tenantId, 'events', first?.place ?? null, 10);
      expect(trimmed).toMatchObject({ removed: 3, isTrimmed: true });
      expect(wordsOf(trimmed.lines)).toEqual(['c2', 'c3']);
      expect(await store.exports.list(tenantId, 'events', null, 10)).toMatchObject({
        removed: 3,
        isTrimmed: false,
      });
      // Its event was third; the outcome that is gone came later.
      const later = await store.exports.list(tenantId, 'events', third?.place ?? null, 10);
      expect(later).toMatchObject({ isTrimmed: true });
    });

    it('gives no line twice, and misses none, when the newest outcome is removed before the next comes', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const [old, fresh] = [anEvent({ callId: 'old' }), anEvent({ callId: 'new' })];
      await ingest(tenantId, [old], t0);
      await ingest(tenantId, [fresh], t0 + 50);
      await ingest(tenantId, [repeatOf(old, 'call_executed')], t0 + 50);
      await waitForLines(store, tenantId, 'events', 3);
      const { end } = await readLines(store, tenantId, 'events');
      await removeAll(store, tenantId, 'events', t0 + 50);
      await ingest(tenantId, [repeatOf(fresh, 'call_failed')], t0 + 51);
      const lines = await waitForLines(store, tenantId, 'events', 1, end);
      expect(wordsOf(lines)).toEqual(['new: call_failed']);
    });

    it('leaves the sample run out', async () => {
      const store = shared.get();
      const tenantId = uuid();
      await store.events.ingest(aBatch(tenantId, [anEvent({ callId: 's' })], { sample: true }));
      await ingest(tenantId, [anEvent({ callId: 'real' })]);
      expect(wordsOf(await waitForLines(store, tenantId, 'events', 1))).toEqual(['real']);
      const { end } = await readLines(store, tenantId, 'events');
      await store.events.removeSample(tenantId);
      expect(await store.exports.list(tenantId, 'events', end, 10)).toMatchObject({ removed: 0 });
    });
  });
}
