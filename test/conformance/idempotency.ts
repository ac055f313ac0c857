// Every store's promises about requests under an Idempotency-Key (shared/ports/idempotency).
import { describe, expect, it } from 'vitest';
import type { KeyedRequest } from '../../src/shared/ports/idempotency.ts';
import { hostileTexts, type Open, parallel, sha256, sharedStore, t0, uuid } from './fixtures.ts';

export function idempotencyContract(name: string, open: Open): void {
  describe(`${name}: requests under an Idempotency-Key`, () => {
    const shared = sharedStore(open);
    const request = (over: Partial<KeyedRequest> = {}): KeyedRequest => ({
      tenantId: uuid(),
      id: sha256(uuid()),
      bodyHash: sha256('body'),
      ...over,
    });
    const at = (now: number) => ({ now, runsUntil: now + 10, expiresAt: now + 1000 });
    const answer = { status: 201, headers: { 'X-A': 'b' }, json: '{"a":1}' };

    it('are claimed by one of many at once', async () => {
      const { idempotency } = shared.get();
      const one = request();
      const claims = await parallel(20, () => idempotency.claim(one, uuid(), at(t0)));
      expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
      expect(claims.filter(({ kind }) => kind === 'running')).toHaveLength(19);
    });

    it('are answered again, to those who send the same body alone', async () => {
      const { idempotency } = shared.get();
      const one = request();
      const newId = uuid();
      expect(await idempotency.claim(one, newId, at(t0))).toEqual({ kind: 'claimed', newId });
      const other = { ...one, bodyHash: sha256('other') };
      expect(await idempotency.claim(other, uuid(), at(t0))).toEqual({ kind: 'reused' });
      await idempotency.answered(one, newId, answer);
      // A first one that was slower than the bound finds that it was answered.
      await idempotency.release(one, newId, t0);
      for (const now of [t0, t0 + 11, t0 + 999]) {
        expect(await idempotency.claim(one, uuid(), at(now))).toEqual({ kind: 'answered', newId, answer });
        expect(await idempotency.claim(other, uuid(), at(now))).toEqual({ kind: 'reused' });
      }
      expect(await idempotency.find(one, t0 + 999)).toEqual(answer);
      expect(await idempotency.find(one, t0 + 1000)).toBeNull();
      expect(await idempotency.find(other, t0)).toBeNull();
      const elsewhere = { ...one, tenantId: uuid() };
      expect(await idempotency.find(elsewhere, t0)).toBeNull();
      expect(await idempotency.claim(elsewhere, uuid(), at(t0))).toMatchObject({ kind: 'claimed' });
    });

    it('that never were answered are carried out again under the same id', async () => {
      const { idempotency } = shared.get();
      const one = request();
      const newId = uuid();
      await idempotency.claim(one, newId, at(t0));
      expect(await idempotency.find(one, t0)).toBeNull();
      expect(await idempotency.claim(one, uuid(), at(t0 + 9))).toEqual({ kind: 'running' });
      expect(await idempotency.claim(one, uuid(), at(t0 + 10))).toEqual({ kind: 'claimed', newId });
      expect(await idempotency.claim(one, uuid(), at(t0 + 19))).toEqual({ kind: 'running' });
      await idempotency.release(one, newId, t0 + 19);
      expect(await idempotency.claim(one, uuid(), at(t0 + 19))).toEqual({ kind: 'claimed', newId });
      // It still expires when it would have at first.
      expect(await idempotency.claim(one, uuid(), at(t0 + 1000))).not.toMatchObject({ newId });
    });

    it('expire, and may then be sent with another body', async () => {
      const { idempotency } = shared.get();
      const one = request();
      const [first, second] = [uuid(), uuid()];
      await idempotency.claim(one, first, at(t0));
      await idempotency.answered(one, first, answer);
      const other = { ...one, bodyHash: sha256('other') };
      const times = at(t0 + 1000);
      expect(await idempotency.claim(other, second, times)).toEqual({ kind: 'claimed', newId: second });
      // Parts of the expired request change nothing.
      await idempotency.answered(one, first, answer);
      await idempotency.release(one, first, t0);
      expect(await idempotency.claim(other, uuid(), times)).toEqual({ kind: 'running' });
    });

    it('keep any text', async () => {
      const { idempotency } = shared.get();
      for (const text of hostileTexts) {
        const one = request({ id: sha256(uuid()), bodyHash: `$${sha256(text)}` });
        const newId = `$${uuid()}`;
        expect(await idempotency.claim(one, newId, at(t0))).toEqual({ kind: 'claimed', newId });
        const kept = { ...answer, json: JSON.stringify({ text }) };
        await idempotency.answered(one, newId, kept);
        expect(await idempotency.claim(one, uuid(), at(t0))).toEqual({
          kind: 'answered',
          newId,
          answer: kept,
        });
      }
    });

    it('are swept away when they have expired, so many at a time', async () => {
      const { idempotency } = shared.get();
      const long = 10 * 365 * 24 * 3_600_000;
      while ((await idempotency.removeExpired(t0 - long, 1000)) > 0);
      const old = [request(), request(), request()];
      for (const one of old) await idempotency.claim(one, uuid(), at(t0 - long - 2000));
      expect(await idempotency.removeExpired(t0 - long, 2)).toBe(2);
      expect(await idempotency.removeExpired(t0 - long, 2)).toBe(1);
      expect(await idempotency.removeExpired(t0 - long, 2)).toBe(0);
    });
  });
}
