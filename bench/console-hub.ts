// The hub that the console is measured against: a process of its own over a store that already holds a fleet's day,
// filled while it is down. Makes load over HTTP and reads what the process costs.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { systemClock } from '../adapters/node/clock.ts';
import { openSqlite } from '../adapters/sqlite/index.ts';
import type { EventInput } from '../src/domain/event.ts';
import { HubProcess } from '../test/e2e/process.ts';
import { fillFleet } from './fleet.ts';

const tools = 40;
const contracts = 20;
const bundleName = 'bench';
const document = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: ${bundleName} }
defaults: { mode: enforce }
contracts:
${Array.from(
  { length: contracts },
  (_, n) => `  - id: contract-${n}
    type: pre
    tool: tool_${n}
    when: { args.path: { contains: secret } }
    then: { effect: deny, message: no }
`,
).join('')}`;

/** Calls of one agent: it uses a few tools, and every ninth call is denied. */
function eventsOf(revision: string, post: number) {
  return (n: number, agent: string, at: number): readonly EventInput[] =>
    Array.from({ length: post }, (_, k) => {
      const nth = n * post + k;
      const isDenied = nth % 9 === 0;
      return {
        call_id: `stored-${nth}`,
        agent_id: agent,
        tool_name: `tool_${(n * 7 + (k % 3)) % tools}`,
        verdict: isDenied ? 'call_denied' : 'call_allowed',
        mode: 'enforce',
        timestamp: at - (post - 1 - k) * 100,
        payload: {
          tool_args: { path: `/srv/reports/${agent}/${nth}.txt`, query: 'region = north and status = open' },
          decision_source: isDenied ? 'contract' : null,
          decision_name: isDenied ? `contract-${nth % contracts}` : null,
          reason: isDenied ? 'no' : null,
          policy_version: revision,
          bundle_name: bundleName,
          run_id: `run-${Math.floor(n / 50)}`,
          duration_ms: 12 + k,
        },
      };
    });
}

export interface HubPlan {
  readonly rows: number;
  readonly agents: number;
  /** Events of a post. */
  readonly post: number;
  /** Keeps the data there, and takes what is there; null: in a folder that is removed. */
  readonly folder: string | null;
}

export interface ConsoleHub {
  readonly hub: HubProcess;
  readonly cookie: string;
  readonly key: string;
  /** Null when the data was there. */
  readonly fillMs: number | null;
}

/** A hub that answers, with this many events of this many agents. */
export async function seededHub(plan: HubPlan): Promise<ConsoleHub> {
  const { folder, rows, agents, post } = plan;
  const hub = new HubProcess({ LOG_LEVEL: 'error', ...(folder === null ? {} : { DATA_DIR: folder }) });
  if (folder !== null) mkdirSync(folder, { recursive: true });
  const path = join(folder ?? hub.dataDir, 'reeve.db');
  const isThere = existsSync(path);
  await hub.start();
  const cookie = isThere ? await hub.login() : await hub.admin();
  const { key } = await hub.key(cookie);
  if (isThere) return { hub, cookie, key, fillMs: null };

  const { body: me } = await hub.call('GET', '/api/v1/auth/me', { cookie });
  const { body: made } = await hub.call('POST', '/api/v1/bundles', {
    cookie,
    body: { yaml_content: document },
  });
  const deploy = `/api/v1/bundles/${bundleName}/${made.version}/deploy`;
  await hub.call('POST', deploy, { cookie, body: { env: 'production' } });
  await hub.stop();
  const store = await openSqlite({ path, clock: systemClock });
  const began = performance.now();
  await fillFleet(store, {
    tenantId: me.tenant_id,
    rows,
    agents,
    post,
    now: systemClock.now(),
    bundle: { name: bundleName, revision: made.revision_hash },
    eventsOf: eventsOf(made.revision_hash, post),
  });
  await store.close();
  const fillMs = performance.now() - began;
  await hub.start();
  return { hub, cookie, key, fillMs };
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void systemClock.after(ms, resolve));

let sent = 0;
/** A store that is kept knows the call ids of earlier runs, and would take the same ones for repeats. */
const pouring = randomUUID();

/** Posts of one connection in a second: an answer that takes long delays only the next of its own. */
const postsPerSecond = 2.5;

export interface Pouring {
  /** Ends it, and tells how many events a second the hub took as new ones. */
  readonly stop: () => Promise<number>;
}

/**
 * Posts `batch` events of one agent and one run again and again, so that `perSecond` come. A late batch is not caught
 * up: the load stays even.
 */
export function pour({ hub, key }: ConsoleHub, perSecond: number, batch: number): Pouring {
  let on = true;
  let taken = 0;
  const began = performance.now();
  const eachMs = (1000 * batch) / perSecond;
  const connections = Math.max(1, Math.round(perSecond / batch / postsPerSecond));
  const connection = async (nth: number): Promise<void> => {
    let due = began + nth * eachMs;
    while (on) {
      await pause(due - performance.now());
      sent += batch;
      const agent = `agent-${sent % 997}`;
      const events = Array.from({ length: batch }, (_, k) => ({
        call_id: `${pouring}-${sent + k}`,
        agent_id: agent,
        tool_name: `tool_${(sent + k) % tools}`,
        verdict: k % 9 === 0 ? 'call_denied' : 'call_allowed',
        mode: 'enforce',
        timestamp: new Date(systemClock.now()).toISOString(),
        payload: { tool_args: { path: `/srv/file-${sent + k}` }, run_id: `poured-${agent}` },
      }));
      const post = () => hub.call('POST', '/api/v1/events', { key, agent: 'bench', body: { events } });
      // A connection that rested may be closed as it is used again; call ids make a repeat safe.
      const { status, body } = await post().catch(post);
      if (status !== 200) throw new Error(`the events were refused: ${status}`);
      taken += body.accepted;
      due = Math.max(due + eachMs * connections, performance.now());
    }
  };
  const done = Promise.all(Array.from({ length: connections }, (_, nth) => connection(nth)));
  return {
    stop: async () => {
      const seconds = (performance.now() - began) / 1000;
      const perSecondTaken = taken / seconds;
      on = false;
      await done;
      return perSecondTaken;
    },
  };
}

/** Sockets that listen to the dashboard stream and do nothing else; returns how to close them. */
export async function dashboards({ hub, cookie }: ConsoleHub, count: number): Promise<() => void> {
  const url = `${hub.url.replace('http', 'ws')}/api/v1/stream/dashboard`;
  const sockets = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<WebSocket>((resolve, reject) => {
          const socket = new WebSocket(url, 'reeve.v1.json', { headers: { cookie, origin: hub.url } });
          socket.once('open', () => resolve(socket));
          socket.once('error', reject);
          socket.once('unexpected-response', (_, { statusCode }) =>
            reject(new Error(`refused: ${statusCode}`)),
          );
        }),
    ),
  );
  return () => {
    for (const socket of sockets) socket.terminate();
  };
}

let ticksPerSecond = 0;

/** Seconds of processors that the hub's process has used, all threads together; NaN where the system does not tell. */
export function cpuSeconds({ hub }: ConsoleHub): number {
  const file = `/proc/${hub.child?.pid}/stat`;
  if (!existsSync(file)) return Number.NaN;
  ticksPerSecond ||= Number(execFileSync('getconf', ['CLK_TCK']));
  // The name in brackets may hold spaces; the fields after it do not.
  const fields = readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
