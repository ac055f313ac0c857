// Every store's imports of tenant files: when one begins, until when it can be opened, and what follows from the
// events of a file.
import { describe, expect, it } from 'vitest';
import type { StoredRun } from '../../src/run/record.ts';
import type { TenantImport } from '../../src/tenant/port/files.ts';
import { aBatch } from './events.ts';
import { aTenant, type Open, sharedStore, t0, uuid } from './fixtures.ts';
import { ofSession } from './runs.ts';

const expiresAt = t0 + 1_000;

function anImport(tenantId = aTenant().id): TenantImport {
  return {
    id: uuid(),
    tenantId,
    name: 'acme',
    createdAt: t0,
    suspendedAt: null,
    sealedKey: 'sealed',
    isOpened: false,
  };
}

const aTrimmedRun = (tenantId: string, sessionId: string): StoredRun => ({
  tenantId,
  agentId: 'agent-1',
  sessionId,
  env: 'production',
  startedAt: t0 - 5,
  lastAt: t0 - 5,
  receivedAt: t0 - 5,
  standing: 'open',
  sample: false,
  isTrimmed: true,
  facts: null,
});

export function tenantFilesContract(name: string, open: Open): void {
  describe(`${name}: imports of tenant files`, () => {
    const shared = sharedStore(open);

    it('open once, before they expire', async () => {
      const { tenantFiles, tenantRecords } = shared.get();
      const request = anImport();
      expect(await tenantFiles.open(request.id, t0)).toBe('absent');
      expect(await tenantFiles.begin(request, t0, expiresAt)).toEqual(request);
      expect(await tenantFiles.begin(request, expiresAt - 1, expiresAt + 9)).toEqual(request);
      expect(await tenantFiles.open(request.id, expiresAt)).toBe('absent');
      expect(await tenantRecords.get(request.tenantId)).toMatchObject({ removedAt: expiresAt });
      expect(await tenantFiles.get(request.id)).toEqual(request);
      expect(await tenantFiles.open(request.id, expiresAt - 1)).toBe('created');
      expect(await tenantRecords.get(request.tenantId)).toMatchObject({ removedAt: null });
      expect(await tenantFiles.open(request.id, expiresAt)).toBe('exists');
      expect(await tenantFiles.begin(request, expiresAt, expiresAt + 9)).toMatchObject({ isOpened: true });
      const another = anImport(request.tenantId);
      expect(await tenantFiles.begin(another, expiresAt, expiresAt + 9)).toBe('taken');
    });

    it('do not begin while the tenant is being removed', async () => {
      const { tenantFiles, tenantRecords } = shared.get();
      const request = anImport();
      await tenantFiles.begin(request, t0, expiresAt);
      expect(await tenantFiles.begin(anImport(request.tenantId), t0 + 5, expiresAt)).toBe('other');
      expect(await tenantRecords.get(request.tenantId)).toMatchObject({ removedAt: t0 + 5 });
      expect(await tenantFiles.begin(request, t0 + 5, expiresAt)).toBe('other');
      expect(await tenantFiles.open(request.id, t0 + 5)).toBe('absent');
      await tenantRecords.removeRecords(request.tenantId, 100);
      expect(await tenantFiles.get(request.id)).toBeNull();
      expect(await tenantFiles.begin(request, t0 + 6, expiresAt)).toBe('other');
      await tenantRecords.remove(request.tenantId);
      expect(await tenantFiles.begin(request, t0 + 7, expiresAt)).toEqual(request);
    });

    it('mark runs that lost records, before or after their events are counted', async () => {
      const { tenantFiles, events, runs } = shared.get();
      const tenantId = uuid();
      const sessions = ['counted', 'later', 'empty', 'whole', 'timeless', 'nowhere'];
      const ingest = (...names: readonly string[]) =>
        events.ingest(
          aBatch(
            tenantId,
            names.map((name) => ofSession(name, { timestamp: t0 })),
          ),
        );
      await ingest('counted', 'whole', 'timeless');
      const marks = ['counted', 'later', 'empty'].map((session) => aTrimmedRun(tenantId, session));
      // A cluster counted no event of these.
      const timeless = ['timeless', 'nowhere'].map((session) => ({
        ...aTrimmedRun(tenantId, session),
        lastAt: undefined as never,
      }));
      await tenantFiles.write(tenantId, 'runs', [...marks, ...timeless]);
      await ingest('counted', 'later');
      await tenantFiles.write(tenantId, 'runs', marks);
      const stored = await Promise.all(
        sessions.map((sessionId) => runs.get(tenantId, { agentId: 'agent-1', sessionId }, t0)),
      );
      expect(stored.map((run) => [run?.isTrimmed, run?.facts?.counts.allow ?? 0])).toEqual([
        [true, 2],
        [true, 1],
        [true, 0],
        [false, 1],
        [true, 1],
        [undefined, 0],
      ]);
    });

    it('add no entry to the audit chain for a decision that the file contains', async () => {
      const { events, audit } = shared.get();
      const tenantId = uuid();
      const question = ofSession('s', { callId: uuid(), verdict: 'call_asked', timestamp: t0 });
      const granted = { ...question, verdict: 'call_approval_granted' };
      const batch = { ...aBatch(tenantId, [question, granted]), isImported: true as const };
      await events.ingest(batch);
      await events.ingest({
        ...batch,
        events: [question, granted, { ...question, verdict: 'call_approval_blocked' }],
      });
      expect(await audit.getHead(tenantId)).toBeNull();
      await events.ingest(aBatch(tenantId, [{ ...question, verdict: 'call_approval_timeout' }]));
      expect(await audit.getHead(tenantId)).toMatchObject({ seq: 1 });
    });
  });
}
