// The edge of the hub: who calls, the open streams, and the pipeline that every request passes.
import { fileURLToPath } from 'node:url';
import { readDownloads } from '../../adapters/node/downloads.ts';
import { readStaticFolder } from '../../adapters/node/static-folder.ts';
import { createBudgets } from '../admission/byte-budgets.ts';
import { limitSubjectOf, limits } from '../admission/limit.ts';
import { type Callers, createCallers } from '../http/caller.ts';
import type { Hub } from '../http/contract/handler.ts';
import { createDownloads } from '../http/downloads.ts';
import { createCors } from '../http/headers.ts';
import { createIdempotency } from '../http/idempotency.ts';
import { type ApiFrames, joinedFrames } from '../http/live/announcer.ts';
import { createLive, type Live } from '../http/live/live.ts';
import type { Metrics } from '../http/metrics.ts';
import { createPipeline, type Exposition, type Pipeline } from '../http/pipeline.ts';
import { bind } from '../http/serve.ts';
import { createStaticFiles } from '../http/static-files.ts';
import { isHosted } from '../shared/frame.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import { agentStreamsOf } from './agent-streams.ts';
import { handlers } from './api/console-handlers.ts';
import { eventStreams } from './api/event-stream-handlers.ts';
import { apiFamilies } from './api/families.ts';
import { hostedHandlers } from './api/hosted-handlers.ts';
import { streamHandlers } from './api/stream-handlers.ts';
import type { Config } from './config.ts';
import { openApiFor } from './openapi.ts';
import type { Materials, NodeParts } from './parts.ts';
import { probeOf } from './probe.ts';

/** Folder of the built web console: beside the compiled sources. */
const consoleFolder = fileURLToPath(new URL('../../dashboard', import.meta.url));
/** Folder of the packed agent library. */
const downloadsFolder = fileURLToPath(new URL('../../downloads', import.meta.url));

/** A push loop that has not turned for so long is crashed. Milliseconds. */
const pushMs = 5_000;

export interface EdgeOptions {
  readonly materials: Materials;
  readonly parts: NodeParts;
  readonly ports: AppPorts;
  readonly hub: Hub;
  readonly consoleApi: ApiFrames;
  readonly hostedApi: ApiFrames;
  readonly requests: Metrics;
  readonly exposition: Exposition | undefined;
}

export interface Edge {
  readonly callers: Callers;
  readonly live: Live;
  readonly pipeline: Pipeline;
}

type EdgeContext = Pick<EdgeOptions, 'materials' | 'parts' | 'hub'>;

function callersOf({ materials, parts, hub }: EdgeContext): Callers {
  const { config, clock, log, secrets, meters } = materials;
  const { store } = parts;
  const { rateLimits } = hub.app;
  const anyoneAt = (network: string) => limitSubjectOf({ kind: 'none' }, network);
  return createCallers({
    keys: store.keys,
    logins: store.logins,
    users: store.tenants,
    serviceAccounts: store.serviceAccounts,
    tenants: store.tenantRecords,
    secrets,
    clock,
    log,
    wire: config.wire,
    baseUrl: config.baseUrl,
    sessionTtlMs: config.sessionTtlMs,
    oidcSessionMs: config.oidcSessionMs,
    operatorToken: config.operatorToken,
    async operatorGuess(network) {
      await rateLimits.count(limits.operatorTokens, anyoneAt(network));
    },
    rightOperatorToken: (network) => rateLimits.takeBack(limits.operatorTokens, anyoneAt(network)),
    wrongOperatorToken: () => meters.loginFailures.add(['operator_token']),
    operatorTokens: hub.app.operatorTokens,
    async failedSignIn(network) {
      meters.loginFailures.add(['bearer']);
      await rateLimits.count(limits.wrongCredentials, anyoneAt(network));
    },
  });
}

/** Answers from memory or from files of the build. */
function filesOf(config: Config) {
  /** Made at the first request: it would take a fifth of a start. */
  let openApi: Buffer | undefined;
  return {
    openApi() {
      openApi ??= Buffer.from(openApiFor(config));
      return openApi;
    },
    openApiPublic: config.openApiPublic,
    files: createStaticFiles(readStaticFolder(consoleFolder)),
    downloads: createDownloads(readDownloads(downloadsFolder, config.baseUrl)),
  };
}

export function createEdge(options: EdgeOptions): Edge {
  const { materials, parts, ports, hub, consoleApi, hostedApi, requests, exposition } = options;
  const { config, clock, admission, log, secrets, workers, streamApis, meters } = materials;
  const { store, broadcast } = parts;
  const { events, admitEvents } = eventStreams(hub);
  const streams = { ...streamHandlers(hub, agentStreamsOf(ports, parts.node)), admitEvents };
  const callers = callersOf(options);
  const budgets = createBudgets();
  const live = createLive({
    admission,
    budgets,
    broadcast,
    events,
    api: joinedFrames(streamApis, (audience) => (isHosted(audience) ? hostedApi : consoleApi)),
    handlers: streams,
    clock,
    log,
    isStillValid: (caller) => callers.isStillValid(caller),
    turned: workers.add('push', pushMs),
    pushed: (acceptedAt) => meters.pushes.add(clock.now() - acceptedAt),
  });
  const pipeline = createPipeline({
    admission,
    families: apiFamilies,
    serve: { ...bind(hub, handlers), ...bind(hub, hostedHandlers) },
    callers,
    rateLimits: hub.app.rateLimits,
    idempotency: createIdempotency({ store: store.idempotency, secrets, clock, log }),
    live,
    streams,
    cors: createCors(config.baseUrl, config.corsOrigins, config.wire.agentIdHeaders),
    metrics: requests,
    exposition,
    probe: probeOf({ secrets, clock, log, trustedProxies: config.trustedProxies }),
    secrets,
    clock,
    log,
    trustedProxies: config.trustedProxies,
    budgets,
    ...filesOf(config),
  });
  return { callers, live, pipeline };
}
