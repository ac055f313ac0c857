// The hub's actors over an in-memory store and a clock that stands still, with everything they announce written down.

import { onTestFinished } from 'vitest';
import { hubKinds } from '../../actors/kinds.ts';
import type { ActorPorts } from '../../actors/ports.ts';
import { agentKey, environmentKey, type HubKinds, type StreamNotice } from '../../actors/protocol.ts';
import { createActors } from '../../actors/runtime/system.ts';
import { createLocalBroadcast } from '../../adapters/local/broadcast.ts';
import { createSecrets } from '../../adapters/node/secrets.ts';
import { openSqliteInline } from '../../adapters/sqlite/index.ts';
import { RuleSets } from '../../src/agent/rules/assignment.ts';
import type { Approval } from '../../src/approval/record.ts';
import { createMeters } from '../../src/hub/metrics/meters.ts';
import { agentsOf, type Control, dashboardsOf } from '../../src/shared/frame.ts';
import { type Env, environments } from '../../src/shared/ids.ts';
import type { Store } from '../../src/shared/ports/store.ts';
import { ManualClock, settled } from '../clock.ts';
import { aBundle, anApproval, sha256, t0, uuid } from '../conformance/fixtures.ts';
import { consoleAnnouncer, type ReadFrame, readFrame } from '../frames.ts';
import { memoryLog } from '../log.ts';

/** A deployment that nobody forced, without a reason. */
export const plainDeploy = { forced: false, reason: null, documentKind: null } as const;

/** By what a stream was opened. */
export const openedBy = { keyId: 'key-1', transport: 'sse', api: 'console' } as const;

/** The body of a rotation. */
export const rotation = (newKeyId: string, compromised = false) => ({
  newKeyId,
  compromised,
  actor: { type: 'operator', id: 'ann', display: 'ann@example.org' } as const,
});

export interface HubOptions {
  readonly ports?: Partial<ActorPorts>;
  readonly signatureEncoding?: 'hex' | 'base64';
  /** Puts something between the actors and the store. */
  readonly wrap?: (store: Store) => ActorPorts['store'];
}

/** Every stream of an environment, on one page. */
export const allStreams = { bundleName: null, limit: 100_000, after: null };

/** Registers every agent that is seen. */
export const registrarOf = ({ agents }: Store, clock: ManualClock): ActorPorts['registrar'] => ({
  noteSeen: async ({ tenantId, env }, agentId) =>
    (await agents.noteSeen(tenantId, agentId, env, clock.now(), uuid())).registration,
});

/** One tenant with a signing key; `env` production unless a test says otherwise. */
export async function aHub(options: HubOptions = {}) {
  const clock = new ManualClock(t0);
  const log = memoryLog();
  const store = await openSqliteInline(':memory:');
  const secrets = createSecrets('a master secret for tests, long enough', { cost: 1024 });
  const broadcast = createLocalBroadcast({ clock, log });
  const announcer = consoleAnnouncer(broadcast, options.signatureEncoding);
  /** The way of announcements from the actors; cut, it takes none. */
  const bus = { cut: false };
  const start = () =>
    createActors<HubKinds, ActorPorts>({
      definitions: hubKinds,
      ports: {
        store: options.wrap?.(store) ?? store,
        secrets,
        registrar: registrarOf(store, clock),
        ruleSets: new RuleSets(),
        isGone: () => false,
        meters: createMeters(),
        ...options.ports,
      },
      clock,
      announcer: {
        announce: (list) => (bus.cut ? Promise.reject(new Error('cut')) : announcer.announce(list)),
      },
      broadcast,
      log,
    });
  const actors = start();
  onTestFinished(async () => {
    await actors.stop();
    await broadcast.close();
    await store.close();
  });

  const tenantId = uuid();
  const { publicKey, seed } = secrets.newSigningKey();
  const signingKey = {
    id: uuid(),
    tenantId,
    publicKey,
    sealedSeed: secrets.seal('signing-key', seed),
    active: true,
    createdAt: t0,
  };
  await store.signing.create(signingKey);

  const frames: ReadFrame[] = [];
  const control: Control[] = [];
  for (const audience of [...environments.map((env) => agentsOf(tenantId, env)), dashboardsOf(tenantId)]) {
    await broadcast.follow(audience, (placed) => frames.push(readFrame(placed.frame)));
  }
  broadcast.onControl((message) => control.push(message));

  const keyOf = (env: Env = 'production') => environmentKey(tenantId, env);

  return {
    actors,
    /** Another system over the same store, as another node would be. */
    start,
    bus,
    store,
    clock,
    log,
    secrets,
    control,
    tenantId,
    signingKey,
    keyOf,
    agentKeyOf: (agentId: string, env: Env = 'production') => agentKey(tenantId, env, agentId),

    /** Announcements since the last call, as `audience type`, with data and address. */
    async announced(): Promise<ReadFrame[]> {
      await settled();
      return frames.splice(0);
    },

    async upload(name: string, yaml: string): Promise<{ version: number; hash: string }> {
      const hash = sha256(yaml);
      const bundle = aBundle({ tenantId, name, revisionHash: hash, yaml: Buffer.from(yaml), createdAt: t0 });
      return { version: (await store.bundles.upload(bundle)).version, hash };
    },

    deploy: (bundleName: string, version: number, env: Env = 'production', id = uuid()) =>
      actors.ask('environment', keyOf(env), 'deploy', {
        id,
        bundleName,
        version,
        deployedBy: 'ann@example.org',
        ...plainDeploy,
      }),

    join: (notice: Partial<StreamNotice> & { agentId: string; policyVersion?: string | null }, env?: Env) =>
      actors.ask('environment', keyOf(env), 'join', {
        connectionId: `c-${notice.agentId}`,
        node: 'n1',
        bundleName: null,
        pinned: false,
        connectedAt: clock.now(),
        policyVersion: null,
        ...openedBy,
        ...notice,
      }),

    status: (bundleName: string | null = null, env?: Env) =>
      actors
        .ask('environment', keyOf(env), 'status', { ...allStreams, bundleName })
        .then(({ entries }) => entries),

    /** A pending approval, due after `seconds`. */
    approval(seconds: number, over: Partial<Approval> = {}): Approval {
      const createdAt = clock.now();
      return anApproval({
        tenantId,
        env: 'production',
        createdAt,
        timeoutSeconds: seconds,
        deadline: createdAt + seconds * 1000,
        ...over,
      });
    },

    connect: (
      agentId: string,
      over: Partial<HubKinds['agent']['connect']['body']> = {},
      env: Env = 'production',
    ) =>
      actors.ask('agent', agentKey(tenantId, env, agentId), 'connect', {
        connectionId: `c-${agentId}`,
        keyId: 'key-1',
        node: 'n1',
        requested: null,
        policyVersion: null,
        tags: {},
        at: clock.now(),
        on: { api: 'console', loadsAny: false },
        ...over,
      }),
  };
}

/** `audience type` of each frame: who was told what. */
export const headersOf = (frames: readonly ReadFrame[]): string[] =>
  frames.map(({ audience, type }) => `${audience.replace(/:[^/]*/, '')} ${type}`);
