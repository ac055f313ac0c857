// Approvals that are decided on one node and heard by agents on another, and beside them the least that this costs: one
// compare-and-set in the store and one hop through Redis, by the bare drivers.
import { randomUUID } from 'node:crypto';
import { get } from 'node:http';
import { MongoClient } from 'mongodb';
import { createClient } from 'redis';
import type { Env } from '../src/domain/ids.ts';
import type { BenchNodes } from './nodes.ts';
import type { BenchServices } from './services.ts';

/** An agent may ask for 10 approvals a minute, a key for 600. */
const perAgent = 8;
const perKey = 400;

/** Resolves when the agent's stream has begun; calls `heard` with the id of each approval that it hears was decided. */
function follow(
  port: number,
  path: string,
  headers: { readonly [name: string]: string },
  heard: (id: string) => void,
) {
  return new Promise<() => void>((resolve, reject) => {
    const request = get(
      { port, host: '127.0.0.1', path, headers: { ...headers }, agent: false },
      (response) => {
        let rest = '';
        response.setEncoding('utf8').on('data', (text: string) => {
          const frames = (rest + text).split('\n\n');
          rest = frames.pop() ?? '';
          for (const frame of frames) {
            const id = /"approval_decided","approval_id":"([^"]+)"/.exec(frame)?.[1];
            if (id) heard(id);
            if (frame.includes(': connected')) resolve(() => request.destroy());
          }
        });
      },
    );
    request.on('error', reject);
  });
}

/**
 * Milliseconds from the call that decides on node A to the agent's frame on node B, of so many decisions, one after
 * another. The owner is node C.
 */
export async function decisions(
  { urls, ports, admin }: BenchNodes,
  env: Env,
  count: number,
): Promise<readonly number[]> {
  const waiting = new Map<string, () => void>();
  const hear = (id: string) => waiting.get(id)?.();
  const keys: string[] = [];
  for (let i = 0; i < count; i += perKey) keys.push(await admin.newKey(env));
  const ends: (() => void)[] = [];
  const ids: string[] = [];
  for (let made = 0; made < count; made += perAgent) {
    const agent = `decides-${randomUUID()}`;
    const headers = {
      Authorization: `Bearer ${keys[Math.floor(made / perKey)] ?? ''}`,
      'X-Service-Agent-Id': agent,
    };
    ends.push(await follow(ports[1], `/api/v1/stream?env=${env}`, headers, hear));
    for (let i = made; i < Math.min(count, made + perAgent); i++) {
      const answer = await fetch(`${urls[i % 3]}/api/v1/approvals`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          tool_name: 'delete_file',
          message: 'May I?',
          timeout: 3600,
          call_id: randomUUID(),
        }),
      });
      const body = (await answer.json()) as { readonly id?: string };
      if (answer.status !== 201 || !body.id)
        throw new Error(`no approval: ${answer.status} ${JSON.stringify(body)}`);
      ids.push(body.id);
    }
  }
  const times: number[] = [];
  for (const id of ids) {
    const heard = new Promise<number>((resolve) => waiting.set(id, () => resolve(performance.now())));
    const begun = performance.now();
    await admin.call('PUT', `/api/v1/approvals/${id}`, { approved: true });
    times.push((await heard) - begun);
    waiting.delete(id);
  }
  for (const end of ends) end();
  return times;
}

/**
 * The same number of times: one majority, journaled compare-and-set, then one entry from XADD to the answer of a
 * waiting XREAD.
 */
export async function bareHops(
  { mongoUrl, redisUrl }: BenchServices,
  count: number,
): Promise<readonly number[]> {
  const client = new MongoClient(mongoUrl, {
    writeConcern: { w: 'majority', journal: true },
    retryWrites: false,
  });
  const name = `reeve_bench_${randomUUID().slice(0, 8)}`;
  const rows = client.db(name).collection<{ readonly _id: number; readonly status: string }>('approvals');
  await rows.insertMany(Array.from({ length: count }, (_, i) => ({ _id: i, status: 'pending' })));
  const writer = createClient({ url: redisUrl });
  const reader = createClient({ url: redisUrl, RESP: 2 });
  await Promise.all([writer.connect(), reader.connect()]);
  const key = `${name}:log`;
  let last = '0-0';
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const answer = reader.sendCommand<[[string, [[string, unknown]]]]>([
      'XREAD',
      'BLOCK',
      '5000',
      'STREAMS',
      key,
      last,
    ]);
    const begun = performance.now();
    await rows.findOneAndUpdate({ _id: i, status: 'pending' }, { $set: { status: 'approved' } });
    await writer.sendCommand(['XADD', key, '*', 'b', String(i)]);
    last = (await answer)[0][1][0][0];
    times.push(performance.now() - begun);
  }
  await writer.sendCommand(['DEL', key]);
  writer.destroy();
  reader.destroy();
  await client.db(name).dropDatabase();
  await client.close();
  return times;
}
