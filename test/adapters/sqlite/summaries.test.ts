// Summaries, runs and what finds entries of the audit chain are written later than their events. Whatever falls
// between, they are those of a store that writes them in the commit of the events: after a kill, a rollback, a removal.
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { appendNotes } from '../../../adapters/sqlite/audit.ts';
import { Database } from '../../../adapters/sqlite/database.ts';
import { CallIndex } from '../../../adapters/sqlite/events/calls.ts';
import { encodeBatch } from '../../../adapters/sqlite/events/encode.ts';
import { eventWriter } from '../../../adapters/sqlite/events/ingest.ts';
import { configure, migrate } from '../../../adapters/sqlite/schema/index.ts';
import { SummaryFlush } from '../../../adapters/sqlite/threads/summary-flush.ts';
import { UsageWriter } from '../../../adapters/sqlite/usage/write.ts';
import type { AuditNote } from '../../../src/audit/record.ts';
import type { EventBatch } from '../../../src/event/port.ts';
import type { EventInput } from '../../../src/event/record.ts';
import { hourMs } from '../../../src/shared/duration.ts';
import type { Clock } from '../../../src/shared/ports/clock.ts';
import { aBatch } from '../../conformance/events.ts';
import { anEvent, t0, uuid } from '../../conformance/fixtures.ts';
import { type Random, random as randomOf } from '../../random.ts';
import { runsOf } from '../../runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-summaries-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const summaries = ['tool_hours', 'agent_tools', 'agent_hours', 'contract_hours', 'contract_minutes'];
const runColumns =
  'tenant_id, agent, session, env, started_at, last_at, received_at, standing, sample, facts';

/** A store on a file, with what its writer keeps in memory. */
class Writer {
  readonly path: string;
  readonly db: Database;
  readonly usage: UsageWriter;
  readonly events: ReturnType<typeof eventWriter>;

  constructor(path: string) {
    this.path = path;
    this.db = new Database(path);
    configure(this.db, { cacheBytes: 1 << 20, checkpointPages: 1000 });
    // A kill of this process loses nothing that is written.
    this.db.exec('PRAGMA synchronous = OFF');
    migrate(this.db);
    const calls = new CallIndex(this.db);
    calls.load();
    this.usage = new UsageWriter(this.db);
    this.usage.load();
    this.events = eventWriter(this.db, calls, this.usage);
  }

  /** The store as the next start finds it when this process is killed now. */
  afterKill(path: string): Writer {
    for (const ending of ['', '-wal']) copyFileSync(this.path + ending, path + ending);
    this.db.close();
    return new Writer(path);
  }

  dump(): unknown {
    const rows = (columns: string, table: string) =>
      this.db.all(
        `SELECT ${columns} FROM ${table} ORDER BY ${columns === '*' ? '1, 2, 3, 4, 5' : '1, 2, 3'}`,
      );
    return Object.fromEntries([
      ...summaries.map((table) => [table, rows('*', table)]),
      ['runs', rows(runColumns, 'runs')],
      ['audit_links', rows('*', 'audit_links')],
      ['audit_entries', rows('*', 'audit_entries')],
    ]);
  }
}

const verdicts = [
  'call_allowed',
  'call_denied',
  'call_would_deny',
  'call_approval_requested',
  'call_approval_denied',
  'call_executed',
];

/** Makes a batch so large that it is stored packed. */
const longText = 'select total from ledger '.repeat(400);

function someEvents(random: Random, sent: EventInput[]): EventInput[] {
  const agentId = `agent-${random.int(3)}`;
  const more = random.next() < 0.2 ? { tool_args: { query: longText } } : {};
  return Array.from({ length: 1 + random.int(6) }, () => {
    const payload = {
      session_id: `session-${random.int(3)}`,
      decision_name: `contract-${random.int(4)}`,
      policy_version: `v${random.int(2)}`,
      ...more,
    };
    const timestamp = t0 + random.int(3 * hourMs);
    const verdict = random.pick(verdicts);
    const event = anEvent({
      agentId: agentId,
      toolName: `tool-${random.int(3)}`,
      verdict,
      timestamp,
      payload,
    });
    const repeated = sent.length > 0 && random.next() < 0.15 ? random.pick(sent) : null;
    const one = repeated ? { ...event, agentId: repeated.agentId, callId: repeated.callId } : event;
    sent.push(one);
    return one;
  });
}

type Commit = (writer: Writer) => void;

const keyNote = (tenantId: string): AuditNote => ({
  id: uuid(),
  tenantId,
  at: t0,
  actor: { type: 'operator', id: 'Ada', display: 'Ada@example.com' },
  action: 'key.created',
  subject: { id: uuid(), name: null },
  summary: 'Ada created a key.',
  details: {},
  agentId: null,
  sessionId: null,
});

/** The work of one commit, the same for every writer. */
function someCommit(random: Random, tenants: readonly string[], sent: EventInput[]): Commit {
  const tenantId = random.pick(tenants);
  const kind = random.next();
  if (kind < 0.08)
    return ({ events }) => void events.removeBefore(tenantId, t0 + random.branch('t').int(40), 20);
  if (kind < 0.12) return ({ events }) => events.removeSample(tenantId);
  if (kind < 0.18) {
    const note = keyNote(tenantId);
    return ({ db }) => appendNotes(db, [note]);
  }
  const batches: EventBatch[] = Array.from({ length: 1 + random.int(3) }, () => ({
    ...aBatch(tenantId, someEvents(random, sent), { receivedAt: t0 + random.int(60) }),
    ...(random.next() < 0.1 ? { sample: true as const } : {}),
  }));
  const fails = kind > 0.9;
  return ({ events }) => {
    for (const batch of batches) events.ingest(encodeBatch(batch));
    if (fails) throw new Error('the commit fails');
  };
}

function make(writer: Writer, commit: Commit, flush: () => void): void {
  try {
    writer.db.atomically(() => {
      commit(writer);
      flush();
    });
  } catch (error) {
    if (!(error instanceof Error) || error.message !== 'the commit fails') throw error;
  }
}

describe('summaries and runs', () => {
  it.each(Array.from({ length: runsOf(200, 10) }, (_, seed) => seed))(
    'are whole after a kill, whatever was gathered (seed %i)',
    (seed) => {
      const random = randomOf(`summaries ${seed}`);
      const tenants = [uuid(), uuid()];
      const sent: EventInput[] = [];
      const prompt = new Writer(join(folder, `prompt-${seed}.db`));
      let late = new Writer(join(folder, `late-${seed}.db`));
      for (let step = 0; step < 60; step++) {
        const commit = someCommit(random, tenants, sent);
        make(prompt, commit, () => prompt.usage.flush());
        const isDue = random.next() < 0.1;
        make(late, commit, () => (isDue ? late.usage.flush() : late.usage.flushIfDue()));
        if (random.next() > 0.15) continue;
        late = late.afterKill(join(folder, `late-${seed}-${step}.db`));
        expect(late.dump(), `seed ${seed}, step ${step}`).toEqual(prompt.dump());
      }
      late.db.atomically(() => late.usage.flush());
      expect(late.dump()).toEqual(prompt.dump());
      late.db.close();
      prompt.db.close();
    },
  );

  it('are written by themselves once 250 groups are gathered', () => {
    const writer = new Writer(join(folder, 'many.db'));
    const tenantId = uuid();
    const count = () => Number(writer.db.get('SELECT ifnull(sum(events), 0) FROM tool_hours')?.[0]);
    for (let n = 0; n < 250; n++) {
      const commit: Commit = ({ events }) => void events.ingest(encodeBatch(aBatch(tenantId, [anEvent()])));
      make(writer, commit, () => writer.usage.flushIfDue());
      if (n < 249) expect(count()).toBe(0);
    }
    expect(count()).toBe(250);
    writer.db.close();
  });
});

describe('a read of summaries', () => {
  /** A flush under way, in the order of the calls. */
  function flushes() {
    const ends: (() => void)[] = [];
    const timers: (() => void)[] = [];
    const flush = new SummaryFlush(() => new Promise<void>((resolve) => ends.push(resolve)), {
      after(_, task) {
        timers.push(task);
        return { cancel() {} };
      },
    });
    return { flush, ends, timers };
  }

  it('waits for nothing where nothing is acknowledged', async () => {
    const { flush, ends } = flushes();
    await flush.finish();
    expect(ends).toHaveLength(0);
  });

  it('shares its flush with those that wait, and is followed by another for later events', async () => {
    const { flush, ends, timers } = flushes();
    flush.note();
    flush.note();
    expect(timers).toHaveLength(1);
    const first = [flush.finish(), flush.finish()];
    expect(ends).toHaveLength(1);
    flush.note();
    let isLateDone = false;
    const late = flush.finish().then(() => {
      isLateDone = true;
    });
    ends[0]?.();
    await Promise.all(first);
    expect(isLateDone).toBe(false);
    expect(ends).toHaveLength(2);
    ends[1]?.();
    await late;
    await flush.finish();
    expect(ends).toHaveLength(2);
  });

  it('tries a failed flush again within a second, without a batch or a read', async () => {
    let calls = 0;
    const timers: (() => void)[] = [];
    const clock: Pick<Clock, 'after'> = {
      after(ms, task) {
        expect(ms).toBeLessThanOrEqual(1000);
        timers.push(task);
        return { cancel() {} };
      },
    };
    const flush = new SummaryFlush(async () => {
      if (++calls < 3) throw new Error('no room');
    }, clock);
    flush.note();
    for (const n of [1, 2, 3]) {
      expect(timers).toHaveLength(n);
      timers.at(-1)?.();
      await new Promise((resolve) => setImmediate(resolve));
      expect(calls).toBe(n);
    }
    expect(timers).toHaveLength(3);
  });

  it('tries again by itself after a read failed, and not once it is stopped', async () => {
    let calls = 0;
    let reject: (error: Error) => void = () => {};
    const timers: (() => void)[] = [];
    const flush = new SummaryFlush(
      () => {
        calls++;
        return new Promise<void>((_, no) => {
          reject = no;
        });
      },
      {
        after(_, task) {
          timers.push(task);
          return { cancel() {} };
        },
      },
    );
    flush.note();
    timers[0]?.();
    const read = flush.finish();
    reject(new Error('no room'));
    await expect(read).rejects.toThrow('no room');
    expect({ calls, timers: timers.length }).toEqual({ calls: 1, timers: 2 });
    timers[1]?.();
    flush.stop();
    reject(new Error('no room'));
    await new Promise((resolve) => setImmediate(resolve));
    expect({ calls, timers: timers.length }).toEqual({ calls: 2, timers: 2 });
  });

  it('fails with its flush, and the next one tries again', async () => {
    let calls = 0;
    const flush = new SummaryFlush(
      async () => {
        if (++calls === 1) throw new Error('no room');
      },
      { after: () => ({ cancel() {} }) },
    );
    flush.note();
    await expect(flush.finish()).rejects.toThrow('no room');
    await flush.finish();
    expect(calls).toBe(2);
  });
});
