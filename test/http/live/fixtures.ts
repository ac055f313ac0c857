// A registry of live streams on fake connections: what is written is kept, and a connection can be made full.
import { decode } from '@msgpack/msgpack';
import { createLocalBroadcast } from '../../../adapters/local/broadcast.ts';
import { createBudgets } from '../../../src/admission/byte-budgets.ts';
import type { AdmittedStream, EventSource, History } from '../../../src/http/contract/stream.ts';
import type { ApiFrames } from '../../../src/http/live/announcer.ts';
import { oneApi } from '../../../src/http/live/announcer.ts';
import { consoleFrames } from '../../../src/http/live/console-frames.ts';
import { createLive } from '../../../src/http/live/live.ts';
import { type Codec, type Session, type Sink, subprotocols } from '../../../src/http/live/session.ts';
import type { LiveCaller } from '../../../src/http/live/stream.ts';
import type { Announcement } from '../../../src/shared/announcement.ts';
import { memberRoles } from '../../../src/shared/env-roles.ts';
import {
  agentsOf,
  type DecisionSource,
  dashboardsOf,
  type Frame,
  type FrameHeader,
} from '../../../src/shared/frame.ts';
import type { Env } from '../../../src/shared/ids.ts';
import { ManualClock, settled } from '../../clock.ts';
import { aDeployment } from '../../conformance/fixtures.ts';
import { writeFrame } from '../../frames.ts';
import { memoryLog } from '../../log.ts';
import { recordingStreams } from '../fixtures.ts';

export const agents = agentsOf('t1', 'production');
export const dashboards = dashboardsOf('t1');

export const bundleFrame = (bundle: string, version: number, more: Partial<FrameHeader> = {}): Frame =>
  writeFrame({
    audience: agents,
    type: 'contract_update',
    data: { type: 'contract_update', bundle_name: bundle, version },
    bundle,
    ...more,
  });

export const decided = (agentId: string, id: string, size = 0): Frame =>
  writeFrame({
    audience: agents,
    type: 'approval_decided',
    data: { type: 'approval_decided', approval_id: id, filler: 'x'.repeat(size) },
    agent: agentId,
  });

/** The news for a stream that catches up, which becomes `bundleFrame(bundle, version)`. */
export const due = (bundleName: string, version: number): Announcement => ({
  kind: 'deploymentDue',
  deployment: aDeployment({ bundleName, version }),
  yaml: new Uint8Array(),
  successions: [],
  agentId: null,
});

const real = consoleFrames('hex');
const api: ApiFrames = {
  ...real,
  makers: {
    ...real.makers,
    deploymentDue: ({ deployment: { bundleName, version } }) => [bundleFrame(bundleName, version)],
  },
};

/** One connection: everything written, and whether it is full or over. */
export class FakeSocket implements Sink {
  readonly written: string[] = [];
  full = false;
  over: 'ended' | 'cut' | null = null;
  /** Errors that the hub reported to the client. */
  fault: string | null = null;
  readonly #codec: Codec;
  constructor(codec: Codec) {
    this.#codec = codec;
  }
  write(piece: Uint8Array | string): boolean {
    if (this.over) throw new Error('written after its end');
    this.written.push(
      this.#codec === 'msgpack' ? JSON.stringify(decode(piece as Uint8Array)) : Buffer.from(piece).toString(),
    );
    return !this.full;
  }
  end(fault?: string): void {
    this.over ??= 'ended';
    this.fault = fault ?? null;
  }
  cut(): void {
    this.over ??= 'cut';
  }
  /** The frames written so far: id, type and data. */
  frames(): { id: string; type: string; data: { [key: string]: unknown } }[] {
    if (this.#codec !== 'sse')
      return this.written.map((text) => ({ id: '', type: '', data: JSON.parse(text) }));
    return [...this.written.join('').matchAll(/id: (.*)\nevent: (.*)\ndata: (.*)\n\n/g)].map((m) => ({
      id: m[1] ?? '',
      type: m[2] ?? '',
      data: JSON.parse(m[3] ?? ''),
    }));
  }
  /** Versions of the contract updates written. */
  versions(): unknown[] {
    return this.frames().map(({ data }) => data.version ?? data.approval_id ?? data.type);
  }
}

/** @param events where decision events come from; streams that are opened with `decisions` carry them */
export function hub({ events }: { readonly events?: EventSource } = {}) {
  const clock = new ManualClock();
  const log = memoryLog();
  const broadcast = createLocalBroadcast({ clock, log });
  const { seen, handlers } = recordingStreams();
  const budgets = createBudgets();
  const standing = {
    asked: [] as string[],
    gone: new Set<string>(),
    /** True for a caller beside those whose hash is gone. */
    isRefused: (_caller: LiveCaller): boolean => false,
    away: false,
  };
  const live = createLive({
    broadcast,
    ...(events ? { events } : {}),
    api: oneApi(api),
    handlers,
    budgets,
    clock,
    log,
    async isStillValid(caller) {
      const hash = caller.kind === 'key' ? caller.keyHash : caller.kind === 'user' ? caller.tokenHash : '';
      standing.asked.push(hash);
      if (standing.away) throw new Error('no answer');
      return !standing.gone.has(hash) && !standing.isRefused(caller);
    },
  });
  broadcast.onControl((message) => live.control(message));
  let count = 0;

  async function open(
    options: {
      tenant?: string;
      env?: Env;
      agent?: string;
      bundle?: string;
      dashboard?: boolean;
      /** Of a dashboard. Default: a user. */
      caller?: Exclude<LiveCaller, { kind: 'key' }>;
      codec?: Codec;
      lastEventId?: string;
      keyHash?: string;
      expiresAt?: number;
      revocationSequence?: number;
      full?: boolean;
      attach?: boolean;
      decisions?: DecisionSource;
      keepalive?: AdmittedStream['keepalive'];
      history?: History;
    } = {},
  ): Promise<{ session: Session; socket: FakeSocket; id: string }> {
    const id = `c${++count}`;
    const caller: LiveCaller =
      options.caller ??
      (options.dashboard
        ? {
            kind: 'user',
            userId: 'u1',
            tenantId: 't1',
            email: 'a@b.c',
            roles: memberRoles,
            tokenHash: 'login',
          }
        : {
            kind: 'key',
            keyId: 'k1',
            keyPrefix: 'svk_',
            keyHash: options.keyHash ?? 'key',
            tenantId: options.tenant ?? 't1',
            env: options.env ?? 'production',
            agentId: options.agent ?? 'default',
            agentPattern: null,
            expiresAt: options.expiresAt ?? null,
            network: '203.0.113.9',
          });
    const admitted =
      caller.kind !== 'key'
        ? await handlers.admitDashboard(caller as Extract<LiveCaller, { kind: 'user' }>, {}, id)
        : await handlers.admitAgent(
            caller,
            { env: caller.env, ...(options.bundle === undefined ? {} : { bundle_name: options.bundle }) },
            id,
          );
    const { codec = 'sse', history } = options;
    const session = await live.open({
      admitted: {
        ...admitted,
        decisions: options.decisions ?? null,
        ...(options.keepalive ? { keepalive: options.keepalive } : {}),
        ...(history ? { history: () => history } : {}),
      },
      caller,
      codec,
      protocol: codec === 'sse' ? null : subprotocols[codec === 'json' ? 0 : 1],
      lastEventId: options.lastEventId ?? null,
      revocationSequence: options.revocationSequence ?? live.revocationSequence(),
    });
    const socket = new FakeSocket(codec);
    socket.full = options.full ?? false;
    if (options.attach !== false) {
      session.attach(socket);
      await settled();
    }
    return { session, socket, id };
  }

  return { clock, log, broadcast, seen, live, open, standing, budgets };
}
