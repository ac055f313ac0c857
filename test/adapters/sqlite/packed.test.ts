// Large batches are stored packed. Every read and every later write of their events is as with any other batch.
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Database } from '../../../adapters/sqlite/database.ts';
import { packJson, unpackedText } from '../../../adapters/sqlite/events/body.ts';
import { CallIndex } from '../../../adapters/sqlite/events/calls.ts';
import { callKey, encodeBatch } from '../../../adapters/sqlite/events/encode.ts';
import { eventWriter } from '../../../adapters/sqlite/events/ingest.ts';
import { eventPages } from '../../../adapters/sqlite/events/search.ts';
import { readPage } from '../../../adapters/sqlite/events/stored-page.ts';
import { configure, migrate } from '../../../adapters/sqlite/schema/index.ts';
import { finish } from '../../../adapters/sqlite/sync.ts';
import { UsageWriter } from '../../../adapters/sqlite/usage/write.ts';
import { toEventJson } from '../../../src/event/record/json.ts';
import type { EventInput } from '../../../src/event/record.ts';
import type { EventFilter } from '../../../src/event/rules/filter.ts';
import { aBatch } from '../../conformance/events.ts';
import { anEvent, t0, uuid } from '../../conformance/fixtures.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-packed-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tenantId = uuid();

function open(path: string) {
  const db = new Database(path);
  configure(db, { cacheBytes: 1 << 20, checkpointPages: 1000 });
  migrate(db);
  const calls = new CallIndex(db);
  calls.load();
  const usage = new UsageWriter(db);
  usage.load();
  const writer = eventWriter(db, calls, usage);
  const { search } = eventPages(db, () => 0);
  return {
    db,
    calls,
    ingest: (events: readonly EventInput[], sent?: Uint8Array) =>
      db.atomically(() => writer.ingest(encodeBatch({ ...aBatch(tenantId, events), ...(sent && { sent }) }))),
    purge: (limit: number) => db.atomically(() => writer.removeBefore(tenantId, t0 * 2, limit)),
    find: (filter: Omit<EventFilter, 'env'>) =>
      readPage(finish(search(tenantId, { env: null, ...filter }, 100, null))).events.map(
        ({ callId }) => callId,
      ),
    forms: () => db.all('SELECT form FROM segment_bodies ORDER BY segment').map(([form]) => form),
  };
}

/** 20 events of about 1 KB. @param ids of the first events */
const eventsWith = (...ids: string[]): EventInput[] =>
  Array.from({ length: 20 }, (_, i) =>
    anEvent({
      callId: ids[i] ?? uuid(),
      agentId: 'agent-1',
      timestamp: t0 + i,
      payload: { tool_args: { query: `${'ordered by region '.repeat(45)}${i}` } },
    }),
  );

const sentForm = (events: readonly EventInput[]): Uint8Array =>
  Buffer.from(
    JSON.stringify(
      events.map((event) => ({
        ...toEventJson(event),
        timestamp: new Date(event.timestamp).toISOString(),
      })),
    ),
  );

describe('a body', () => {
  it.each([
    ['large', `["${'reports '.repeat(5_000)}"]`, true],
    ['of other characters', `["${'ä€😀'.repeat(5_000)}"]`, true],
    ['small', '["reports"]', false],
    ['that packing makes no smaller', `["${randomBytes(9_000).toString('base64')}"]`, false],
  ])('%s is read as it was', (_, json, isPacked) => {
    const stored = packJson(Buffer.from(json));
    expect(stored.isPacked).toBe(isPacked);
    expect(stored.jsonBytes).toBe(Buffer.byteLength(json));
    expect(stored.body.byteLength).toBe(stored.body.buffer.byteLength);
    expect(unpackedText(stored.body, stored.isPacked)).toBe(json);
  });
});

describe('packed segments', () => {
  it('are found by the ids of calls that are not in the table yet, of either kind', () => {
    const { db, ingest, find, forms } = open(join(folder, 'ids.db'));
    const [one, other] = [uuid(), uuid()];
    ingest(eventsWith(one));
    ingest(eventsWith('a "call"', other));
    ingest(eventsWith());
    expect(forms()).toEqual([2, 2, 2]);
    expect(db.get('SELECT count(*) FROM calls')).toEqual([0]);
    for (const id of [one, other, 'a "call"']) expect(find({ callId: id })).toEqual([id]);
    expect(find({ callId: uuid() })).toEqual([]);
    db.close();
  });

  it('keep what was sent, and take the new part of a batch that is partly known, after a kill too', () => {
    const path = join(folder, 'sent.db');
    const first = open(path);
    const events = eventsWith('first', 'second');
    expect(first.ingest(events, sentForm(events))).toMatchObject({ accepted: 20, duplicates: 0 });
    expect(first.forms()).toEqual([3]);
    const copy = join(folder, 'copy.db');
    for (const ending of ['', '-wal']) copyFileSync(path + ending, copy + ending);
    first.db.close();
    const { db, ingest, find, forms, purge } = open(copy);
    const again = [...events.slice(0, 5), ...eventsWith('third').slice(0, 15)];
    expect(ingest(again, sentForm(again))).toMatchObject({ accepted: 15, duplicates: 5 });
    expect(forms()).toEqual([3, 2]);
    expect(find({ callId: 'third' })).toEqual(['third']);
    expect(find({ search: 'region 19' })).toHaveLength(1);
    expect(find({})).toHaveLength(35);
    // Part of a segment.
    expect(purge(3)).toBe(3);
    expect(find({})).toHaveLength(32);
    expect(ingest(again.slice(0, 1))).toMatchObject({ accepted: 1 });
    db.close();
  });

  it('are counted among the calls after a kill, whatever their ids look like', () => {
    const path = join(folder, 'kill.db');
    const first = open(path);
    // The bytes of the first three begin as a JSON text does. The last ones are texts of as many bytes as an id.
    const likeTexts = ['2241', '2200', '2222'].map((start) => start + uuid().slice(4));
    const batches = [
      eventsWith(...likeTexts),
      eventsWith(likeTexts[1] ?? '', uuid(), uuid()),
      eventsWith('call-000000001', 'call-000000002'),
      Array.from({ length: 20 }, (_, i) => eventsWith(`call-000000${100 + i}`)[0]).flatMap((e) => e ?? []),
      eventsWith(uuid(), uuid()),
    ];
    batches.forEach((events) => {
      first.ingest(events);
    });
    expect(first.forms()).toEqual([2, 2, 2, 2, 2]);
    const entriesOf = ({ calls }: ReturnType<typeof open>) =>
      batches.flat().map(({ callId }) => calls.find(1, callKey(callId)));
    const entries = entriesOf(first);
    expect(entries).not.toContain(null);
    const copy = join(folder, 'killed.db');
    for (const ending of ['', '-wal']) copyFileSync(path + ending, copy + ending);
    first.db.close();
    const second = open(copy);
    expect(entriesOf(second)).toEqual(entries);
    second.db.close();
  });
});
