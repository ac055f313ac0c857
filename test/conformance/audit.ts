// Every store's promises about the audit chain (audit/port): no gap, no fork, nothing twice, and a note goes with its
// write or not at all.
import { describe, expect, it } from 'vitest';
import type { AuditFilter } from '../../src/audit/port.ts';
import { type AuditNote, entriesOf, linkText } from '../../src/audit/record.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import {
  aKey,
  aNote,
  hex128,
  hostileTexts,
  type Open,
  parallel,
  sha256,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

const everything: AuditFilter = { from: null, to: null, actor: null, actions: null, subjects: null };
const all = (store: DocumentStore, tenantId: string) =>
  store.audit.listLinks(tenantId, 1, 1_000_000, 1 << 30);
const feed = async (
  store: DocumentStore,
  tenantId: string,
  filter: Partial<AuditFilter> = {},
  limit = 1000,
  before: { seq: number; position: number } | null = null,
) => store.audit.list(tenantId, { ...everything, ...filter }, before, limit);
const idsOf = (entries: readonly { readonly entry: { readonly [field: string]: unknown } }[]) =>
  entries.map(({ entry }) => entry.id);

export function auditContract(name: string, open: Open): void {
  describe(`${name}: audit`, () => {
    const shared = sharedStore(open);

    it('chains links from 1, each with the digest of the one before', async () => {
      const store = shared.get();
      const tenantId = uuid();
      expect(await store.audit.getHead(tenantId)).toBeNull();
      const notes = [1, 2, 3].map((n) => aNote({ tenantId, at: t0 + n }));
      for (const note of notes) await store.audit.append([note]);
      const links = await all(store, tenantId);
      expect(links.map(({ seq }) => seq)).toEqual([1, 2, 3]);
      expect(links.map(({ prev }) => prev)).toEqual(['', links[0]?.digest, links[1]?.digest]);
      for (const link of links) expect(link.digest).toBe(sha256(linkText(link)));
      expect(links.flatMap(({ body }) => entriesOf(body).map(({ id }) => id))).toEqual(
        notes.map(({ id }) => id),
      );
      expect(await store.audit.getHead(tenantId)).toEqual({ seq: 3, digest: links[2]?.digest, at: t0 + 3 });
    });

    it('of 20 parallel appends makes one chain without gap or fork, each note once', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const notes = Array.from({ length: 20 }, () => aNote({ tenantId }));
      await parallel(40, (i) => store.audit.append([notes[i % 20] as AuditNote]));
      const links = await all(store, tenantId);
      // Records that are appended at the same moment may be one link.
      expect(links.map(({ seq }) => seq)).toEqual(links.map((_, i) => i + 1));
      expect(links.length).toBeLessThanOrEqual(20);
      links.forEach((link, i) => {
        expect(link.prev).toBe(links[i - 1]?.digest ?? '');
        expect(link.digest).toBe(sha256(linkText(link)));
      });
      expect(idsOf(await feed(store, tenantId)).sort()).toEqual(notes.map(({ id }) => id).sort());
    });

    it('keeps what happened together in one link, in its order, without what it has', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const [a, b, c] = [1, 2, 3].map(() => aNote({ tenantId })) as [AuditNote, AuditNote, AuditNote];
      await store.audit.append([a]);
      await store.audit.append([a, b, c]);
      await store.audit.append([]);
      expect((await all(store, tenantId)).map(({ body }) => entriesOf(body).length)).toEqual([1, 2]);
      expect(idsOf(await feed(store, tenantId))).toEqual([c.id, b.id, a.id]);
    });

    it('never lets a time be before the one in front of it', async () => {
      const store = shared.get();
      const tenantId = uuid();
      await store.audit.append([aNote({ tenantId, at: t0 + 5000 })]);
      await store.audit.append([aNote({ tenantId, at: t0 })]);
      const times = (await feed(store, tenantId)).map(({ entry }) => entry.occurred_at);
      expect(times[0]).toBe(times[1]);
    });

    it('lists by time, actor, action and subject, newest first, page by page', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const by = (display: string) => ({ type: 'operator', id: `id-${display}`, display }) as const;
      const a = aNote({ tenantId, at: t0, actor: by('ann') });
      const b = aNote({ tenantId, at: t0 + 10, actor: by('Bob'), action: 'key.revoked' });
      const c = aNote({ tenantId, at: t0 + 20, actor: by('Bob'), action: 'user.created' });
      await store.audit.append([a]);
      await store.audit.append([b, c]);
      await store.audit.append([aNote()]);
      const ids = async (filter: Partial<AuditFilter>) => idsOf(await feed(store, tenantId, filter));
      expect(await ids({})).toEqual([c.id, b.id, a.id]);
      expect(await ids({ actor: 'BOB' })).toEqual([c.id, b.id]);
      expect(await ids({ actor: 'id-ann' })).toEqual([a.id]);
      expect(await ids({ actions: ['key.revoked', 'key.created'] })).toEqual([b.id, a.id]);
      expect(await ids({ subjects: ['user'] })).toEqual([c.id]);
      expect(await ids({ from: t0 + 1 })).toEqual([c.id, b.id]);
      expect(await ids({ to: t0 + 1 })).toEqual([a.id]);
      expect(await ids({ actor: 'bob', subjects: ['key'] })).toEqual([b.id]);
      const [first] = await feed(store, tenantId, {}, 1);
      expect(first?.entry.id).toBe(c.id);
      expect(idsOf(await feed(store, tenantId, {}, 1, first))).toEqual([b.id]);
      expect(idsOf(await feed(store, tenantId, {}, 10, first))).toEqual([b.id, a.id]);
    });

    it('gives links within bounds', async () => {
      const store = shared.get();
      const tenantId = uuid();
      for (let i = 0; i < 5; i++) await store.audit.append([aNote({ tenantId })]);
      const seqs = async (from: number, to: number, bytes: number) =>
        (await store.audit.listLinks(tenantId, from, to, bytes)).map(({ seq }) => seq);
      expect(await seqs(2, 4, 1 << 20)).toEqual([2, 3, 4]);
      expect(await seqs(2, 4, 1)).toEqual([2]);
      expect(await seqs(6, 9, 1 << 20)).toEqual([]);
    });

    it('keeps texts as they are', async () => {
      const store = shared.get();
      for (const text of hostileTexts) {
        const tenantId = uuid();
        const note = aNote({
          tenantId,
          actor: { type: 'agent', id: text, display: text },
          subject: { id: text, name: text },
          summary: text,
          details: { [`x${text}`]: text },
          agentId: text,
        });
        await store.audit.append([note]);
        const [found] = await feed(store, tenantId, { actor: text });
        expect(found?.entry).toMatchObject({
          summary: text,
          agent_id: text,
          details: { [`x${text}`]: text },
        });
        const [link] = await all(store, tenantId);
        expect(link && sha256(linkText(link))).toBe(link?.digest);
      }
    });

    it('records a write exactly when it changed something', async () => {
      const store = shared.get();
      const key = aKey();
      const { tenantId } = key;
      const created = aNote({ tenantId, action: 'key.created' });
      await store.noting({ note: created }).keys.create(key);
      const revoke = () =>
        store
          .noting({ note: aNote({ tenantId, action: 'key.revoked' }), fromAnswer: { label: 'label' } })
          .keys.revoke(tenantId, key.id, t0 + 1);
      expect(await revoke()).toMatchObject({ id: key.id });
      expect(await revoke()).toBeNull();
      const entries = (await feed(store, tenantId)).map(({ entry }) => entry);
      expect(entries.map(({ action_type }) => action_type)).toEqual(['key.revoked', 'key.created']);
      expect(entries[0]?.details).toEqual({ env: null, label: key.label });
    });

    it('records nothing of a write that failed', async () => {
      const store = shared.get();
      const key = aKey();
      await store.keys.create(key);
      const note = aNote({ tenantId: key.tenantId });
      await expect(store.noting({ note }).keys.create(key)).rejects.toMatchObject({ name: 'HubError' });
      expect(await feed(store, key.tenantId)).toEqual([]);
    });

    describe('keeps the newest links alone', () => {
      const sealed = (tenantId: string, seq: number, digest: string) => ({
        tenantId,
        seq,
        digest,
        signedAt: t0 + seq,
        keyId: '0123456789abcdef',
        publicKey: sha256('key'),
        signature: hex128(String(seq)),
      });
      /** A chain of 10 links a second apart, with signed heads of some. */
      async function grown(headsOf: readonly number[]) {
        const store = shared.get();
        const tenantId = uuid();
        const notes = Array.from({ length: 10 }, (_, i) => aNote({ tenantId, at: t0 + (i + 1) * 1000 }));
        for (const note of notes) await store.audit.append([note]);
        const links = await all(store, tenantId);
        for (const seq of headsOf)
          await store.audit.createHead(sealed(tenantId, seq, links[seq - 1]?.digest ?? ''));
        const retain = async (before: number, limit = 100) => {
          const counts: number[] = [];
          for (let n = 1; n > 0; counts.push(n)) n = await store.audit.retain(tenantId, before, limit);
          return counts;
        };
        return { store, tenantId, links, retain, start: () => store.audit.start(tenantId) };
      }

      it('from the last signed head on that is old enough', async () => {
        const { store, tenantId, links, retain, start } = await grown([3, 6, 9]);
        expect(await start()).toBeNull();
        expect(await retain(t0 + 8_500)).toEqual([6, 0]);
        expect(await start()).toMatchObject({ seq: 6, digest: links[5]?.digest });
        expect(await all(store, tenantId)).toEqual(links.slice(6));
        expect((await store.audit.listLinks(tenantId, 3, 8, 1 << 20)).map(({ seq }) => seq)).toEqual([7, 8]);
        expect(await feed(store, tenantId)).toHaveLength(4);
        expect((await store.audit.getSignedHead(tenantId))?.seq).toBe(9);
        // The chain goes on from its newest link, and what is there is not recorded again.
        await store.audit.append([aNote({ tenantId, at: t0 + 20_000 })]);
        expect((await all(store, tenantId)).at(-1)).toMatchObject({ seq: 11, prev: links[9]?.digest });
      });

      it('and knows the last one before any time', async () => {
        const { store, tenantId, retain } = await grown([3]);
        // A link of the same moment as the one in front of it.
        await store.audit.append([aNote({ tenantId, at: t0 + 10_000 })]);
        const lastBefore = (seconds: number) => store.audit.getLastBefore(tenantId, t0 + seconds * 1000);
        const ends = async () => Promise.all([0, 1, 1.5, 4, 5.5, 10, 10.001, 60].map(lastBefore));
        expect(await ends()).toEqual([0, 0, 1, 3, 5, 9, 11, 11]);
        expect(await retain(t0 + 3_500)).toEqual([3, 0]);
        expect(await ends()).toEqual([0, 0, 0, 0, 5, 9, 11, 11]);
        expect(await store.audit.getLastBefore(uuid(), t0)).toBe(0);
      });

      it('slice by slice, and at once for whoever reads', async () => {
        const { store, tenantId, retain } = await grown([5]);
        expect(await store.audit.retain(tenantId, t0 + 60_000, 2)).toBe(2);
        expect((await all(store, tenantId)).map(({ seq }) => seq)).toEqual([6, 7, 8, 9, 10]);
        expect(await retain(t0 + 60_000, 2)).toEqual([2, 1, 0]);
        expect(await retain(t0 + 60_000)).toEqual([0]);
      });

      it('never what no head covers, nor the newest, nor another tenant’s', async () => {
        const young = await grown([9]);
        expect(await young.retain(t0 + 9_000)).toEqual([0]);
        const unsigned = await grown([]);
        expect(await unsigned.retain(t0 + 60_000)).toEqual([0]);
        const newest = await grown([10]);
        expect(await newest.retain(t0 + 60_000)).toEqual([0]);
        const wrong = await grown([]);
        await wrong.store.audit.createHead(sealed(wrong.tenantId, 5, sha256('another chain')));
        expect(await wrong.retain(t0 + 60_000)).toEqual([0]);
        const other = await grown([5]);
        await young.store.audit.retain(uuid(), t0 + 60_000, 100);
        for (const one of [young, unsigned, newest, wrong, other]) {
          expect(await all(one.store, one.tenantId)).toEqual(one.links);
        }
      });

      it('later heads move the start on', async () => {
        const { store, tenantId, links, retain, start } = await grown([3, 6]);
        expect(await retain(t0 + 3_500)).toEqual([3, 0]);
        expect(await start()).toMatchObject({ seq: 3 });
        expect(await retain(t0 + 6_500)).toEqual([3, 0]);
        expect(await start()).toMatchObject({ seq: 6 });
        await store.audit.createHead(sealed(tenantId, 6, links[5]?.digest ?? ''));
        expect(await start()).toMatchObject({ seq: 6 });
        expect(await all(store, tenantId)).toEqual(links.slice(6));
      });
    });

    it('keeps signed heads, and gives the one of the highest link', async () => {
      const { audit } = shared.get();
      const tenantId = uuid();
      expect(await audit.getSignedHead(tenantId)).toBeNull();
      const signed = (seq: number) => ({
        tenantId,
        seq,
        digest: sha256(String(seq)),
        signedAt: t0 + seq,
        keyId: '0123456789abcdef',
        publicKey: sha256('key'),
        signature: hex128(String(seq)),
      });
      await audit.createHead(signed(2));
      await audit.createHead(signed(1));
      await audit.createHead(signed(2));
      expect(await audit.getSignedHead(tenantId)).toEqual(signed(2));
    });
  });
}
