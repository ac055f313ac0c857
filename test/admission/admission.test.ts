// Permits: first come, first served; given back once, whoever leaves, fails or is late; nothing stays behind.
import { describe, expect, it } from 'vitest';
import { Admission, type AdmissionSubject, type PlaceClass } from '../../src/admission/admission.ts';
import { admissionTable } from '../../src/admission/table.ts';
import type { Permit } from '../../src/shared/concurrency/semaphore.ts';
import { ManualClock, settled } from '../clock.ts';
import { random } from '../random.ts';
import { runsOf } from '../runs.ts';

const anAdmission = () => {
  const clock = new ManualClock();
  return { clock, admission: new Admission(clock) };
};
const user = (userId: string, tenantId = 't1'): AdmissionSubject => ({
  tenantId,
  caller: { kind: 'user', userId },
});
const agent = (agentId: string, keyId = 'k', tenantId = 't1'): AdmissionSubject => ({
  tenantId,
  caller: { kind: 'key', keyId, agentId, network: 'n' },
});

/** Works that begin when they are admitted and end when a test ends them. */
function worksOf(admission: Admission, name: PlaceClass) {
  const running: { readonly label: string; end(): void; fail(): void }[] = [];
  const begin = (subject: AdmissionSubject, label = ''): Promise<unknown> => {
    const work = admission.run(
      subject,
      name,
      () =>
        new Promise((resolve, reject) => {
          running.push({ label, end: () => resolve(label), fail: () => reject(new Error('broken')) });
        }),
    );
    work.catch(() => {});
    return work;
  };
  return { running, begin, labels: () => running.map(({ label }) => label) };
}

describe('a bound', () => {
  it.each(['reads', 'largeBatches'] as const)('of %s counts each tenant, and the node', async (name) => {
    const { admission } = anAdmission();
    const { running, begin } = worksOf(admission, name);
    const [{ atOnce: ofTenant }, { atOnce: ofNode }] = admissionTable[name].bounds;
    for (let i = 0; i < 2 * ofTenant; i++) void begin({ tenantId: 't0' });
    expect(running.length).toBe(ofTenant);
    for (let tenant = 1; tenant <= 5; tenant++)
      for (let i = 0; i < ofTenant; i++) void begin({ tenantId: `t${tenant}` });
    await settled();
    expect(running.length).toBe(ofNode);
  });

  it('of searches counts users, agents of a key, and their tenant', async () => {
    const { admission } = anAdmission();
    const { running, begin } = worksOf(admission, 'searches');
    for (let i = 0; i < 20; i++) void begin(user('u'));
    expect(running.length).toBe(4);
    await expect(begin(user('u'))).rejects.toMatchObject({ code: 'rate_limited' });
    for (let i = 0; i < 6; i++) void begin(agent('a'));
    expect(running.length).toBe(6);
    await expect(begin(agent('a'))).rejects.toMatchObject({ code: 'rate_limited' });
    for (let i = 0; i < 74; i++) void begin(agent(`b${i}`, 'k2'));
    await settled();
    expect(running.length).toBe(16);
    await expect(begin(agent('one-more'))).rejects.toMatchObject({ code: 'rate_limited' });
    await expect(admission.run(agent('a', 'k9', 't2'), 'searches', async () => 'found')).resolves.toBe(
      'found',
    );
  });

  it('that does not apply admits at once', () => {
    const { admission } = anAdmission();
    expect(admission.admit({}, 'streamOpenings')).not.toBeInstanceOf(Promise);
    expect(admission.held('streamOpenings')).toBe(0);
  });
});

describe('a place', () => {
  it('goes to whoever waited longest, and another tenant does not wait', async () => {
    const { admission } = anAdmission();
    const { running, begin, labels } = worksOf(admission, 'largeBatches');
    for (const label of ['1', '2', '3', '4', '5', '6']) void begin({ tenantId: 't1' }, label);
    void begin({ tenantId: 't2' }, 'other');
    expect(labels()).toEqual(['1', '2', '3', '4', 'other']);
    running[2]?.end();
    await settled();
    running[0]?.fail();
    await settled();
    expect(labels().slice(5)).toEqual(['5', '6']);
  });

  it('is given back once, however often its permit is released', async () => {
    const { admission } = anAdmission();
    const permits = await Promise.all(
      Array.from({ length: 4 }, () => admission.admit({ tenantId: 't1' }, 'largeBatches')),
    );
    const { labels, begin } = worksOf(admission, 'largeBatches');
    void begin({ tenantId: 't1' }, 'first');
    void begin({ tenantId: 't1' }, 'second');
    permits[0]?.release();
    permits[0]?.release();
    await settled();
    expect(labels()).toEqual(['first']);
  });

  it('is free again after work that throws at once', async () => {
    const { admission } = anAdmission();
    const fails = () =>
      admission.run({ tenantId: 't1' }, 'replays', () => {
        throw new Error('broken');
      });
    for (let i = 0; i < 3; i++) await expect(fails()).rejects.toThrow('broken');
    expect(admission.held('replays')).toBe(0);
  });

  it('of a tenant is free again when the node has none', async () => {
    const { admission, clock } = anAdmission();
    const { begin } = worksOf(admission, 'reads');
    for (let tenant = 0; tenant < 4; tenant++)
      for (let i = 0; i < 16; i++) void begin({ tenantId: `t${tenant}` });
    const late = Array.from({ length: 16 }, () => begin({ tenantId: 't9' }));
    clock.advance(10_000);
    for (const result of await Promise.allSettled(late))
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'overloaded' } });
    // The four busy tenants and the node.
    expect(admission.held('reads')).toBe(5);
  });
});

describe('a wait', () => {
  it('ends with a refusal after the time of the class, each by itself, with one timer for all', async () => {
    const { admission, clock } = anAdmission();
    const { begin } = worksOf(admission, 'largeBatches');
    for (let i = 0; i < 4; i++) for (const tenantId of ['t1', 't2']) void begin({ tenantId });
    const first = begin({ tenantId: 't1' });
    clock.advance(4_000);
    const second = begin({ tenantId: 't2' });
    expect(clock.pending).toBe(1);
    clock.advance(6_000);
    await expect(first).rejects.toMatchObject({ code: 'overloaded', detail: { retryAfter: 2 } });
    expect(clock.pending).toBe(1);
    clock.advance(3_999);
    await settled();
    expect(clock.pending).toBe(1);
    clock.advance(1);
    await expect(second).rejects.toMatchObject({ code: 'overloaded' });
    expect(clock.pending).toBe(0);
  });

  it('ends without a word for a client that has left, and the next one gets its turn', () => {
    const { admission, clock } = anAdmission();
    const permits: Permit[] = [];
    const outcomes: string[] = [];
    const enter = (label: string, client = { open: true }) =>
      admission.enter({ credential: 'c' }, 'streamRequests', client, (permit) => {
        if (permit) permits.push(permit);
        outcomes.push(permit ? label : `${label} late`);
      });
    for (let i = 0; i < 512; i++) enter('served');
    const [left, leftLater] = [{ open: true }, { open: true }];
    enter('left', left);
    enter('stays');
    clock.advance(1);
    enter('left later', leftLater);
    enter('late');
    left.open = false;
    permits[0]?.release();
    expect(outcomes.slice(512)).toEqual(['stays']);
    leftLater.open = false;
    clock.advance(29_999);
    expect(outcomes.slice(513)).toEqual([]);
    clock.advance(1);
    expect(outcomes.slice(513)).toEqual(['late late']);
    for (const permit of permits) permit.release();
    expect([admission.held('streamRequests'), clock.pending]).toEqual([0, 0]);
  });

  it('of one credential does not hold up another', () => {
    const { admission } = anAdmission();
    let served = 0;
    const enter = (credential: string) =>
      admission.enter({ credential }, 'streamRequests', { open: true }, () => served++);
    for (let i = 0; i < 600; i++) enter('a');
    expect(served).toBe(512);
    enter('b');
    expect(served).toBe(513);
  });
});

describe('a class without a wait', () => {
  it('gives a permit at once, or throws', () => {
    const { admission } = anAdmission();
    const permits = Array.from({ length: 2 }, () => admission.take({ tenantId: 't1' }, 'eventExports'));
    expect(() => admission.take({ tenantId: 't1' }, 'eventExports')).toThrow(
      'Two exports are already running',
    );
    admission.take({ tenantId: 't2' }, 'eventExports').release();
    for (const permit of permits) permit.release();
    expect(admission.held('eventExports')).toBe(0);
  });
});

it('nothing stays behind after random sequences of works that end, fail, wait too long or leave', async () => {
  const names = ['reads', 'searches', 'largeBatches', 'decisionBundles', 'replays', 'explanations'] as const;
  for (let seed = 1; seed <= runsOf(400); seed++) {
    const { int: pick } = random(`${seed}`);
    const { admission, clock } = anAdmission();
    const running: (() => void)[] = [];
    const permits: Permit[] = [];
    let outcomes = 0;
    let begun = 0;
    for (let step = 0; step < 300; step++) {
      const tenantId = `t${pick(3)}`;
      const subject = {
        ...(pick(2) ? user(`u${pick(3)}`, tenantId) : agent(`a${pick(3)}`, 'k', tenantId)),
        person: `p${pick(2)}`,
      };
      const name = names[pick(names.length)] ?? 'reads';
      const act = pick(10);
      if (act < 5) {
        begun++;
        const work = admission.run(
          subject,
          name,
          () =>
            new Promise<void>((end, fail) =>
              running.push(() => (pick(3) ? end() : fail(new Error('broken')))),
            ),
        );
        work.then(
          () => outcomes++,
          () => outcomes++,
        );
      } else if (act < 6) {
        const client = { open: true };
        admission.enter({ credential: `${pick(2)}` }, 'streamRequests', client, (permit) => {
          if (permit) permits.push(permit);
        });
        if (pick(3) === 0) client.open = false;
      } else if (act < 9) running.splice(pick(running.length), 1)[0]?.();
      else clock.advance(pick(3_000));
      if (pick(4) === 0) await settled();
    }
    for (let round = 0; (outcomes < begun || running.length > 0) && round < 1_000; round++) {
      for (const end of running.splice(0)) end();
      clock.advance(1_000);
      await settled();
    }
    for (const permit of permits) permit.release();
    expect([seed, begun - outcomes, clock.pending]).toEqual([seed, 0, 0]);
    for (const name of [...names, 'streamRequests'] as const)
      expect([seed, name, admission.held(name)]).toEqual([seed, name, 0]);
  }
});

it('has no places for subjects that it cannot tell apart', async () => {
  const { admission } = anAdmission();
  // @ts-expect-error: channels are counted elsewhere
  expect(() => admission.held('channelAttempts')).toThrow('no subject of channelAttempts has a channel');
});

it('never runs more than a bound allows', async () => {
  const { next, int } = random('7');
  const { admission } = anAdmission();
  const { begin, running } = worksOf(admission, 'decisionBundles');
  for (let step = 0; step < 500; step++) {
    if (next() < 0.6) void begin({ tenantId: `t${int(4)}` }, 'x');
    else running.splice(int(running.length), 1)[0]?.end();
    await settled();
    expect(running.length).toBeLessThanOrEqual(2);
  }
  while (running.length > 0) {
    running.shift()?.end();
    await settled();
  }
  expect(admission.held('decisionBundles')).toBe(0);
});
