// Exports for a reader who does not see all environments: an answer without lines is not the end.
import { describe, expect, it } from 'vitest';
import { Admission } from '../../src/admission/admission.ts';
import type { ExportStore } from '../../src/export/port.ts';
import { createExports } from '../../src/export/use-cases.ts';
import type { Principal } from '../../src/shared/principal.ts';
import { ManualClock } from '../clock.ts';

const hidden = 20;
const recheckReader = async () => true;

/** A store with lines of production alone up to the last, each page of which takes 3 s to read. */
function slowStore() {
  let now = 0;
  const list = async (_tenant: string, _kind: string, after: string | null) => {
    now += 3_000;
    const at = Number(after ?? 0) + 1;
    const env = at < hidden ? 'production' : 'staging';
    const line = { type: 'event', place: String(at), event: { env } };
    const isEnd = at > hidden;
    return { lines: isEnd ? [] : [line], end: String(at), hasMore: !isEnd, removed: 0, isTrimmed: false };
  };
  return { list, clock: { monotonic: () => now, now: () => now } };
}

describe('a reader of staging beside many lines of production', () => {
  it('gets empty answers that say that they are not the end, and then its line', async () => {
    const { list, clock } = slowStore();
    let notes = 0;
    const ports = {
      admission: new Admission(new ManualClock()),
      store: {
        exports: { list } satisfies { readonly [M in keyof ExportStore]?: unknown },
        audit: { append: async () => void notes++ },
      },
      clock,
      secrets: { uuid: () => '0', token: () => '0' },
      health: { draining: () => false },
      sampleRuns: { approvalIdOf: () => 'sample' },
    };
    const exports = createExports(ports as unknown as Parameters<typeof createExports>[0]);
    const reader: Principal = {
      tenantId: 't',
      env: null,
      actor: { kind: 'user', id: 'u', email: 'reader@acme.example' },
      roles: new Set(['viewer']),
      envRoles: [{ role: 'viewer', env: 'staging' }],
      agentId: null,
      agentPattern: null,
    };
    let after: Parameters<typeof exports.list>[1]['after'] = null;
    let emptyAnswers = 0;
    for (;;) {
      const answer = await exports.list(reader, {
        kind: 'events',
        format: 'native',
        after,
        limit: 1,
        waitMs: 0,
        recheckReader,
      });
      if (answer.isExpired) throw new Error('Nothing was removed.');
      if (answer.lines.length > 0) {
        expect(answer.lines.map(({ place }) => place)).toEqual([String(hidden)]);
        break;
      }
      expect(answer.isComplete).toBe(false);
      emptyAnswers += 1;
      after = answer.next;
    }
    expect(emptyAnswers).toBeGreaterThan(1);
    // The beginning is recorded, although its answer has no line.
    expect(notes).toBe(1);
    const end = await exports.list(reader, {
      kind: 'events',
      format: 'native',
      after: { place: String(hidden), removed: 0 },
      limit: 1,
      waitMs: 0,
      recheckReader,
    });
    expect(end).toMatchObject({ lines: [], isComplete: true });
  });
});
