// Every store's promises about the streams that agents had (agent/port).
import { describe, expect, it } from 'vitest';
import { maxPastStreams, type PastStream } from '../../src/agent/record.ts';
import { hostileTexts, type Open, sharedStore, t0, uuid } from './fixtures.ts';

const minute = 60_000;
const hour = 60 * minute;

export const aStream = (over: Partial<PastStream> = {}): PastStream => ({
  id: uuid(),
  tenantId: uuid(),
  env: 'production',
  agentId: 'agent-1',
  startedAt: t0,
  endedAt: t0 + hour,
  isEndNoticed: true,
  transport: 'sse',
  node: 'node-1',
  ...over,
});

export function agentStreamsContract(name: string, open: Open): void {
  describe(`${name}: streams of agents`, () => {
    const shared = sharedStore(open);

    it('are those that were open within the range, the newest first; repeats change nothing', async () => {
      const { agentStreams } = shared.get();
      const tenantId = uuid();
      const first = aStream({ tenantId, transport: null, isEndNoticed: false });
      const second = aStream({ tenantId, startedAt: t0 + 2 * hour, endedAt: t0 + 3 * hour });
      const others = [aStream({ tenantId, env: 'staging' }), aStream({ tenantId, agentId: 'b' }), aStream()];
      await agentStreams.record([first, second, ...others]);
      await agentStreams.record([
        { ...first, endedAt: t0 + 9 * hour, node: 'other' },
        { ...second, endedAt: null },
      ]);
      const of = (since: number, until: number) =>
        agentStreams.list(tenantId, 'production', 'agent-1', { since, until });
      expect(await of(t0, t0 + 4 * hour)).toEqual([second, first]);
      expect(await of(t0 + hour, t0 + 4 * hour)).toEqual([second]);
      expect(await of(t0, t0 + 2 * hour)).toEqual([first]);
      for (const agentId of hostileTexts.filter((text) => text !== '')) {
        const hostile = aStream({ agentId });
        await agentStreams.record([hostile]);
        const range = { since: 0, until: t0 + hour };
        expect(await agentStreams.list(hostile.tenantId, 'production', agentId, range)).toEqual([hostile]);
      }
    });

    it('are listed while they have no end, by id; an end comes once', async () => {
      const { agentStreams } = shared.get();
      const tenantId = uuid();
      const streams = Array.from({ length: 5 }, () => aStream({ tenantId, endedAt: null }));
      const ids = streams.map(({ id }) => id).sort();
      await agentStreams.record([...streams, aStream({ tenantId }), aStream({ endedAt: null })]);
      const first = await agentStreams.listOpen(tenantId, 'production', 3, null);
      expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 3));
      expect(
        (await agentStreams.listOpen(tenantId, 'production', 9, ids[2] ?? '')).map(({ id }) => id),
      ).toEqual(ids.slice(3));
      const [one] = first;
      if (!one) throw new Error('no stream');
      await agentStreams.record([{ ...one, endedAt: t0 + 5, isEndNoticed: false }]);
      await agentStreams.record([{ ...one, endedAt: t0 + 9 }]);
      expect(await agentStreams.listOpen(tenantId, 'production', 9, null)).toHaveLength(4);
      const range = { since: 0, until: t0 + hour };
      const ended = await agentStreams.list(tenantId, 'production', 'agent-1', range);
      expect(ended.find(({ id }) => id === one.id)).toEqual({ ...one, endedAt: t0 + 5, isEndNoticed: false });
    });

    it('tell which agents were often connected and are away', async () => {
      const { agentStreams } = shared.get();
      const tenantId = uuid();
      const now = t0 + 24 * hour;
      const ended = (agentId: string, from: number, to: number | null) =>
        aStream({
          tenantId,
          agentId,
          startedAt: t0 + from * hour,
          endedAt: to === null ? null : t0 + to * hour,
        });
      const silent = [ended('silent', 1, 5), ended('silent', 10, 12.5)];
      await agentStreams.record([
        ...silent,
        ended('short', 1, 2),
        ended('long-ago', -20, 0.1),
        ended('just-left', 1, 23.99),
        { ...ended('elsewhere', 1, 20), env: 'staging' },
      ]);
      const period = { since: t0, awayBefore: now - 2 * minute, leastMs: 6 * hour };
      const away = await agentStreams.listAway(tenantId, 'production', period, 100);
      expect(away.map(({ agentId }) => agentId)).toEqual(['silent']);
      expect([...(away[0]?.streams ?? [])].sort((a, b) => a.startedAt - b.startedAt)).toEqual(silent);
      expect(
        await agentStreams.listAway(tenantId, 'production', { ...period, leastMs: 7 * hour }, 100),
      ).toEqual([]);
    });

    it('are bounded for each agent, and forgotten by time, some at once', async () => {
      const { agentStreams } = shared.get();
      const tenantId = uuid();
      const many = Array.from({ length: maxPastStreams + 20 }, (_, i) =>
        aStream({ tenantId, startedAt: t0 + i, endedAt: t0 + i + 1 }),
      );
      await agentStreams.record(many.slice(0, 110));
      await agentStreams.record(many.slice(110));
      const range = { since: 0, until: t0 + hour };
      const of = () => agentStreams.list(tenantId, 'production', 'agent-1', range);
      expect(await of()).toEqual(many.slice(20).reverse());
      // Others' streams are older than these, or end later.
      const before = t0 + 120;
      while ((await agentStreams.removeBefore(before, 50)) > 0);
      expect(await of()).toEqual(many.slice(119).reverse());
    });

    it('stay while they are open, however long ago they began', async () => {
      const { agentStreams } = shared.get();
      const tenantId = uuid();
      const open = aStream({ tenantId, endedAt: null });
      await agentStreams.record([open]);
      while ((await agentStreams.removeBefore(t0 + hour, 50)) > 0);
      expect(await agentStreams.listOpen(tenantId, 'production', 9, null)).toEqual([open]);
      await agentStreams.record([{ ...open, endedAt: t0 + 2 * hour }]);
      while ((await agentStreams.removeBefore(t0 + 2 * hour, 50)) > 0);
      const range = { since: 0, until: t0 + hour };
      expect(await agentStreams.list(tenantId, 'production', 'agent-1', range)).toHaveLength(1);
      while ((await agentStreams.removeBefore(t0 + 2 * hour + 1, 50)) > 0);
      expect(await agentStreams.list(tenantId, 'production', 'agent-1', range)).toEqual([]);
    });
  });
}
