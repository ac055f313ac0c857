// Every store's promises about approvals (approval/port).
import { describe, expect, it } from 'vitest';
import type { Approval, Decision } from '../../src/approval/record.ts';
import { runsOf, sizeFor } from '../runs.ts';
import {
  anApproval,
  firstPage,
  hostileTexts,
  itemsOf,
  type Open,
  parallel,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

const yes: Decision = {
  id: 'first',
  approved: true,
  decidedBy: 'ada@example.org',
  decidedBySubject: 'https://id.example.org ada',
  reason: 'fine',
  decidedVia: 'console',
};

export function approvalsContract(name: string, open: Open): void {
  describe(`${name}: approvals`, () => {
    const shared = sharedStore(open);

    it('keeps an approval as it was given, and a repeat returns the stored one', async () => {
      const { approvals } = shared.get();
      const approval = anApproval({ contractName: 'no-secrets' });
      expect(await approvals.request(approval)).toEqual(approval);
      expect(await approvals.get(approval.tenantId, approval.id)).toEqual(approval);
      const decided = await approvals.decide(approval.tenantId, approval.id, yes, t0 + 1);
      expect(await approvals.request({ ...approval, message: 'again' })).toEqual(decided);
      expect(await itemsOf(approvals.list(approval.tenantId, { env: null }, firstPage, t0))).toEqual([
        decided,
      ]);
    });

    it('removes one, with its arguments, and the same id may be asked for again', async () => {
      const { approvals } = shared.get();
      const [approval, other] = [anApproval(), anApproval()];
      for (const one of [approval, other]) await approvals.request(one);
      await approvals.remove(uuid(), approval.id);
      expect(await approvals.get(approval.tenantId, approval.id)).toEqual(approval);
      for (let i = 0; i < 2; i++) await approvals.remove(approval.tenantId, approval.id);
      expect(await approvals.get(approval.tenantId, approval.id)).toBeNull();
      expect(await approvals.getWhole(approval.tenantId, approval.id)).toBeNull();
      expect(await approvals.get(other.tenantId, other.id)).toEqual(other);
      expect(await approvals.request({ ...approval, message: 'anew' })).toMatchObject({ message: 'anew' });
    });

    it('hostile texts come back as they went in', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      for (const text of hostileTexts) {
        const approval = anApproval({
          tenantId,
          agentId: text,
          toolName: text,
          message: text,
          toolArgs: JSON.parse(`{"__proto__":1,"$where":${JSON.stringify(text)}}`),
        });
        await approvals.request(approval);
        const stored = await approvals.get(tenantId, approval.id);
        expect(stored).toEqual(approval);
        expect(JSON.stringify(stored?.toolArgs)).toBe(JSON.stringify(approval.toolArgs));
        expect(await approvals.get(tenantId, text)).toBeNull();
        expect(await approvals.decide(tenantId, text, yes, t0)).toBe('absent');
      }
      const none = anApproval({ tenantId, toolArgs: null, decisionSource: null });
      await approvals.request(none);
      expect(await approvals.get(tenantId, none.id)).toEqual(none);
    });

    it('a decision is written with who, when, why and how', async () => {
      const { approvals } = shared.get();
      const [a, b] = [anApproval(), anApproval()];
      await approvals.request(a);
      await approvals.request(b);
      const approved = {
        ...a,
        status: 'approved',
        decidedBy: 'ada@example.org',
        decidedBySubject: 'https://id.example.org ada',
        decidedAt: t0 + 7,
        decisionReason: 'fine',
        decidedVia: 'console',
      };
      expect(await approvals.decide(a.tenantId, a.id, yes, t0 + 7)).toEqual(approved);
      expect(await approvals.get(a.tenantId, a.id)).toEqual(approved);
      const no = { ...yes, approved: false, reason: null };
      expect(await approvals.decide(b.tenantId, b.id, no, t0 + 7)).toMatchObject({
        status: 'denied',
        decisionReason: null,
      });
      const c = anApproval();
      await approvals.request(c);
      const withdrawal = {
        ...no,
        id: 'withdrawal',
        decidedBy: c.agentId,
        decidedBySubject: c.agentId,
        decidedVia: 'withdrawn',
      };
      const withdrawn = await approvals.decide(c.tenantId, c.id, withdrawal, t0 + 7);
      expect(withdrawn).toMatchObject({ status: 'denied', decidedBy: c.agentId, decidedVia: 'withdrawn' });
      expect(await approvals.get(c.tenantId, c.id)).toEqual(withdrawn);
      expect(await approvals.decide(c.tenantId, c.id, yes, t0 + 8)).toBe('not_pending');
    });

    it('a pending one is given to a person, to another one, and back; an ended one is not', async () => {
      const { approvals } = shared.get();
      const [a, b] = [anApproval(), anApproval()];
      const { tenantId } = a;
      for (const one of [a, { ...b, tenantId }]) await approvals.request(one);
      const ada = { id: uuid(), name: 'ada', since: t0 };
      const bo = { id: uuid(), name: '{"$x":1}', since: t0 + 1 };
      expect(await approvals.assign(tenantId, a.id, ada, t0)).toEqual({ ...a, assignee: ada });
      expect(await approvals.assign(tenantId, a.id, bo, t0 + 1)).toEqual({ ...a, assignee: bo });
      expect(await approvals.get(tenantId, a.id)).toEqual({ ...a, assignee: bo });
      expect(await approvals.assign(tenantId, a.id, null, t0 + 2)).toEqual(a);
      expect(await approvals.assign(uuid(), a.id, ada, t0)).toBe('absent');
      expect(await approvals.assign(tenantId, a.id, ada, a.deadline)).toBe('not_pending');
      for (const { id } of [a, b]) await approvals.assign(tenantId, id, ada, t0 + 3);
      await approvals.decide(tenantId, b.id, yes, t0 + 4);
      expect(await approvals.assign(tenantId, b.id, null, t0 + 5)).toBe('not_pending');
      expect(await approvals.release(uuid(), ada.id)).toEqual([]);
      expect(await approvals.release(tenantId, ada.id)).toEqual([a]);
      expect(await approvals.release(tenantId, ada.id)).toEqual([]);
      expect(await approvals.get(tenantId, a.id)).toEqual(a);
    });

    it('of 50 parallel decisions one succeeds and its words are kept', async () => {
      const { approvals } = shared.get();
      const approval = anApproval();
      await approvals.request(approval);
      const answers = await parallel(50, (i) =>
        approvals.decide(
          approval.tenantId,
          approval.id,
          { ...yes, id: `${i}`, approved: i % 2 === 0, decidedBy: `user ${i}` },
          t0 + i,
        ),
      );
      const won = answers.filter((answer) => typeof answer === 'object');
      expect(won).toHaveLength(1);
      expect(answers.filter((answer) => answer === 'not_pending')).toHaveLength(49);
      expect(await approvals.get(approval.tenantId, approval.id)).toEqual(won[0]);
    });

    it('a decision that is repeated answers as it did, even after the deadline; another does not', async () => {
      const { approvals } = shared.get();
      const approval = anApproval();
      const { tenantId, id, deadline } = approval;
      await approvals.request(approval);
      const decided = await approvals.decide(tenantId, id, yes, t0);
      expect(await approvals.decide(tenantId, id, yes, t0 + 5)).toEqual(decided);
      expect(await approvals.decide(tenantId, id, yes, deadline + 5)).toEqual(decided);
      expect(await approvals.decide(tenantId, id, { ...yes, id: 'second' }, t0)).toBe('not_pending');
      expect(await approvals.decide(uuid(), id, yes, t0)).toBe('absent');
    });

    it('a decision at the deadline is too late, one before it is not', async () => {
      const { approvals } = shared.get();
      const [late, early] = [anApproval(), anApproval()];
      await approvals.request(late);
      await approvals.request(early);
      expect(await approvals.decide(late.tenantId, late.id, yes, late.deadline)).toBe('not_pending');
      expect(await approvals.get(late.tenantId, late.id)).toEqual(late);
      expect(await approvals.decide(early.tenantId, early.id, yes, early.deadline - 1)).toMatchObject({
        status: 'approved',
      });
    });

    it('expires when due, never before, once', async () => {
      const { approvals } = shared.get();
      const approval = anApproval();
      await approvals.request(approval);
      expect(await approvals.expire(approval.tenantId, approval.id, approval.deadline - 1)).toBeNull();
      const answers = await parallel(20, () =>
        approvals.expire(approval.tenantId, approval.id, approval.deadline),
      );
      const timedOut = { ...approval, status: 'timeout', decidedVia: 'system' };
      expect(answers.filter((answer) => answer !== null)).toEqual([timedOut]);
      expect(await approvals.get(approval.tenantId, approval.id)).toEqual(timedOut);
      expect(await approvals.decide(approval.tenantId, approval.id, yes, t0)).toBe('not_pending');
      expect(await approvals.expire(approval.tenantId, uuid(), approval.deadline)).toBeNull();
    });

    it('a race of decisions and expiries has one outcome', async () => {
      const { approvals } = shared.get();
      const approval = anApproval();
      await approvals.request(approval);
      const answers = await Promise.all([
        ...Array.from({ length: 10 }, (_, i) =>
          approvals.decide(approval.tenantId, approval.id, { ...yes, id: `${i}` }, approval.deadline - 1),
        ),
        ...Array.from({ length: 10 }, () =>
          approvals.expire(approval.tenantId, approval.id, approval.deadline),
        ),
      ]);
      const done = answers.filter((answer) => answer !== null && typeof answer === 'object');
      expect(done).toHaveLength(1);
      expect(await approvals.get(approval.tenantId, approval.id)).toEqual(done[0]);
    });

    it('lists newest first with statuses as seen now', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const [old, open1, open2, staging] = [
        anApproval({ tenantId, createdAt: t0 + 1, timeoutSeconds: 1 }),
        anApproval({ tenantId, createdAt: t0 + 2 }),
        anApproval({ tenantId, createdAt: t0 + 3 }),
        anApproval({ tenantId, createdAt: t0 + 4, env: 'staging' }),
      ] as const;
      for (const approval of [open2, old, staging, open1]) await approvals.request(approval);
      const decided = await approvals.decide(tenantId, open1.id, yes, t0 + 5);
      const now = old.deadline;
      const seen = { ...old, status: 'timeout', decidedVia: 'system' };
      const list = (filter: object, page = firstPage) =>
        itemsOf(approvals.list(tenantId, { env: null, ...filter }, page, now));
      expect(await list({})).toEqual([staging, open2, decided, seen]);
      expect(await list({ env: 'production' })).toEqual([open2, decided, seen]);
      expect(await list({ status: 'pending' })).toEqual([staging, open2]);
      expect(await list({ status: 'timeout' })).toEqual([seen]);
      expect(await list({ status: 'approved' })).toEqual([decided]);
      expect(await list({ status: 'denied' })).toEqual([]);
      expect(await list({ sessionId: 'nobody' })).toEqual([]);
      expect(await list({ sessionId: old.sessionId })).toEqual([staging, open2, decided, seen]);
      const count = (filter: object) => approvals.count(tenantId, { env: null, ...filter }, now);
      expect(await count({})).toBe(4);
      expect(await count({ env: 'production', status: 'pending' })).toBe(1);
      expect(await count({ sessionId: 'nobody' })).toBe(0);
      expect(await count({ sessionId: old.sessionId })).toBe(4);
      expect(await list({}, { limit: 2, offset: 1 })).toEqual([open2, decided]);
      expect(await list({}, { ...firstPage, offset: 4 })).toEqual([]);
      await approvals.expire(tenantId, old.id, now);
      expect(await list({ status: 'timeout' })).toEqual([seen]);
      expect(await itemsOf(approvals.list(uuid(), { env: null }, firstPage, now))).toEqual([]);
    });

    it('lists those of an agent, of a time, and those that hold a text, in any case', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const [mail, table, deploy] = [
        anApproval({ tenantId, createdAt: t0 + 1, agentId: 'mailer', toolName: 'Send_Mail', message: 'x' }),
        anApproval({
          tenantId,
          createdAt: t0 + 2,
          agentId: 'dba',
          toolName: 'drop',
          message: 'the TABLE %_',
        }),
        anApproval({
          tenantId,
          createdAt: t0 + 3,
          agentId: 'dba',
          toolName: 'go',
          contractName: 'no-friday',
        }),
      ];
      for (const approval of [mail, table, deploy]) await approvals.request(approval as Approval);
      const list = async (filter: object) =>
        (await itemsOf(approvals.list(tenantId, { env: null, ...filter }, firstPage, t0 + 4))).map(
          ({ id }) => id,
        );
      const ids = (...some: (Approval | undefined)[]) => some.map((one) => one?.id);
      expect(await list({ agentId: 'dba' })).toEqual(ids(deploy, table));
      expect(await list({ agentId: 'DBA' })).toEqual([]);
      expect(await list({ since: t0 + 2 })).toEqual(ids(deploy, table));
      expect(await list({ until: t0 + 2.5 })).toEqual(ids(table, mail));
      expect(await list({ since: t0 + 2, until: t0 + 2 })).toEqual(ids(table));
      expect(await list({ search: 'SEND_m' })).toEqual(ids(mail));
      expect(await list({ search: 'table %' })).toEqual(ids(table));
      expect(await list({ search: 'Friday' })).toEqual(ids(deploy));
      expect(await list({ search: 'mailer' })).toEqual(ids(mail));
      expect(await list({ search: '.*' })).toEqual([]);
      expect(await list({ search: 'dba', status: 'pending', env: 'staging' })).toEqual([]);
      for (const text of hostileTexts.filter((one) => one.length > 1))
        expect(await list({ search: text })).toEqual([]);
    });

    it('pages behind an approval, whatever came since, also of one moment and after thousands', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const made: Approval[] = [];
      for (let i = 0; i < sizeFor(name, runsOf(2_500, 400), 120); i++) {
        made.push(
          anApproval({
            tenantId,
            createdAt: t0 + Math.floor(i / 7),
            agentId: i % 40 === 3 ? 'rare' : 'often',
          }),
        );
      }
      // Few at a time: a store that is slow answers each within its time limit.
      for (let i = 0; i < made.length; i += 50) {
        await Promise.all(made.slice(i, i + 50).map((approval) => approvals.request(approval)));
      }
      const seen: string[] = [];
      let after: { createdAt: number; id: string } | undefined;
      for (;;) {
        const page = { limit: 4, offset: 0, ...(after ? { after } : {}) };
        const { items, more } = await approvals.list(tenantId, { env: null, agentId: 'rare' }, page, t0);
        seen.push(...items.map(({ id }) => id));
        after = items.at(-1);
        await approvals.request(anApproval({ tenantId, createdAt: t0 + 9_000, agentId: 'rare' }));
        if (!more) break;
      }
      const rare = made.filter(({ agentId }) => agentId === 'rare').map(({ id }) => id);
      expect(seen).toEqual(rare.reverse());
    }, 300_000);

    it('pending ones come earliest deadline first, by environment', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const made = [30, 10, 20].map((timeoutSeconds) => anApproval({ tenantId, timeoutSeconds }));
      const gone = anApproval({ tenantId });
      const staging = anApproval({ tenantId, env: 'staging' });
      for (const approval of [...made, gone, staging]) await approvals.request(approval);
      await approvals.decide(tenantId, gone.id, yes, t0);
      const times = ({ id, createdAt, deadline }: Approval) => ({ id, createdAt, deadline });
      const wanted = [made[1], made[2], made[0]].flatMap((one) => one ?? []).map(times);
      expect(await approvals.listDeadlines(tenantId, 'production')).toEqual(wanted);
      expect(await approvals.listDeadlines(tenantId, 'staging')).toEqual([times(staging)]);
      expect(await approvals.listDeadlines(uuid(), 'production')).toEqual([]);
    });

    it('those due come over all tenants, earliest first, up to a limit', async () => {
      const { approvals } = shared.get();
      const long = t0 - 1_000_000_000;
      const made = [3, 1, 2].map((s) => anApproval({ createdAt: long, timeoutSeconds: s, env: 'staging' }));
      for (const approval of made) await approvals.request(approval);
      const names = (list: typeof made) => list.map(({ tenantId, env, id }) => ({ tenantId, env, id }));
      const [third, first, second] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
      expect(await approvals.listDue(long + 999, 10)).toEqual([]);
      expect(await approvals.listDue(long + 2000, 10)).toEqual(names([first, second]));
      expect(await approvals.listDue(long + 3000, 2)).toEqual(names([first, second]));
      expect(await approvals.listDue(long + 3000, 2, 1)).toEqual(names([second, third]));
      expect(await approvals.listDue(long + 3000, 2, 3)).toEqual([]);
      expect(await approvals.listDueOf(second.tenantId, long + 3000, 2)).toEqual(
        names([first, second, third].filter(({ tenantId }) => tenantId === second.tenantId)).slice(0, 2),
      );
      expect(await approvals.listDueOf(second.tenantId, long + 1999, 10)).not.toContainEqual(
        names([second])[0],
      );
      expect(await approvals.listDueOf(uuid(), long + 3000, 10)).toEqual([]);
      await approvals.expire(first.tenantId, first.id, long + 3000);
      expect(await approvals.listDue(long + 3000, 10)).toEqual(names([second, third]));
      for (const approval of [second, third]) {
        await approvals.expire(approval.tenantId, approval.id, long + 3000);
      }
    });

    it('those due of one tenant come from all its environments, earliest first, up to a limit', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const long = t0 - 3_000_000_000;
      const due = (timeoutSeconds: number, env: Approval['env'], of = tenantId) =>
        anApproval({ tenantId: of, createdAt: long, timeoutSeconds, env });
      const [late, early, middle] = [due(30, 'staging'), due(10, 'development'), due(20, 'production')];
      const [decided, foreign, waits] = [due(5, 'staging'), due(1, 'staging', uuid()), due(99, 'staging')];
      for (const one of [late, early, middle, decided, foreign, waits]) await approvals.request(one);
      await approvals.decide(tenantId, decided.id, yes, long);
      const now = long + 30_000;
      const places = [early, middle, late].map(({ id, env }) => ({ tenantId, env, id }));
      expect(await approvals.listDueOf(tenantId, now, 10)).toEqual(places);
      expect(await approvals.listDueOf(tenantId, now, 2)).toEqual(places.slice(0, 2));
      expect(await approvals.listDueOf(tenantId, now - 1, 10)).toEqual(places.slice(0, 2));
      await approvals.expire(tenantId, early.id, now);
      expect(await approvals.listDueOf(tenantId, now, 10)).toEqual(places.slice(1));
      // Later cases look at what is due over all tenants.
      for (const one of [middle, late, foreign]) await approvals.expire(one.tenantId, one.id, now);
      await approvals.expire(tenantId, waits.id, long + 99_000);
    });

    it('what was written is marked as not announced until it is said to be, of the status it has', async () => {
      const { approvals } = shared.get();
      const long = t0 - 2_000_000_000;
      const [a, b, c] = [anApproval({ createdAt: long }), anApproval({ createdAt: long + 1 }), anApproval()];
      const { tenantId } = a;
      const own = async (before = long + 1000) => {
        const ids = new Set([a.id, b.id, c.id]);
        return (await approvals.listUnannounced(before, 100)).filter(({ id }) => ids.has(id));
      };
      const place = ({ tenantId, env, id }: typeof a) => ({ tenantId, env, id });
      for (const approval of [b, a, c]) await approvals.request(approval);
      expect(await own()).toEqual([a, b].map(place));
      const [oldest, ...others] = await approvals.listUnannounced(long + 1000, 100);
      expect(await approvals.listUnannounced(long + 1000, 1)).toEqual([oldest]);
      expect(await approvals.listUnannounced(long + 1000, 100, 1)).toEqual(others);
      expect(await own(long)).toEqual([]);
      await approvals.announced(tenantId, 'pending', [a.id, uuid()]);
      await approvals.announced(tenantId, 'pending', [a.id]);
      await approvals.announced(tenantId, 'pending', []);
      expect(await own()).toEqual([b].map(place));
      await approvals.decide(tenantId, a.id, yes, long + 10);
      await approvals.expire(b.tenantId, b.id, b.deadline);
      expect(await own(b.deadline + 1)).toEqual([a, b].map(place));
      // Too late for what has happened since.
      await approvals.announced(tenantId, 'pending', [a.id]);
      await approvals.announced(b.tenantId, 'approved', [b.id]);
      await approvals.announced(uuid(), 'approved', [a.id]);
      expect(await own(b.deadline + 1)).toEqual([a, b].map(place));
      await approvals.announced(tenantId, 'approved', [a.id]);
      await approvals.announced(b.tenantId, 'timeout', [b.id]);
      expect(await own(b.deadline + 1)).toEqual([]);
      expect(await approvals.get(tenantId, a.id)).toEqual({
        ...a,
        status: 'approved',
        decidedBy: yes.decidedBy,
        decidedBySubject: yes.decidedBySubject,
        decidedAt: long + 10,
        decisionReason: yes.reason,
        decidedVia: yes.decidedVia,
      });
    });

    it('counts those pending and not yet due', async () => {
      const { approvals } = shared.get();
      const tenantId = uuid();
      const short = anApproval({ tenantId, timeoutSeconds: 1 });
      for (const approval of [short, anApproval({ tenantId }), anApproval({ tenantId, env: 'staging' })]) {
        await approvals.request(approval);
      }
      expect(await approvals.countPending(tenantId, null, t0)).toBe(3);
      expect(await approvals.countPending(tenantId, 'production', t0)).toBe(2);
      expect(await approvals.countPending(tenantId, null, short.deadline)).toBe(2);
      expect(await approvals.countPending(uuid(), null, t0)).toBe(0);
    });

    it('another tenant cannot read, decide or expire it', async () => {
      const { approvals } = shared.get();
      const approval = anApproval();
      await approvals.request(approval);
      const stranger = uuid();
      expect(await approvals.get(stranger, approval.id)).toBeNull();
      expect(await approvals.decide(stranger, approval.id, yes, t0)).toBe('absent');
      expect(await approvals.expire(stranger, approval.id, approval.deadline)).toBeNull();
      expect(await approvals.get(approval.tenantId, approval.id)).toEqual(approval);
    });
  });
}
