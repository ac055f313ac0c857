// Live streams: who may open one, what it follows, what it must get at once, and what agents send on it. Owns no
// socket.

import type { ZodType } from 'zod';
import { createRouteLimits, type LimitedRoute } from '../../admission/route-limits.ts';
import { reportVersion } from '../../agent/console/handlers.ts';
import { agentRoutes } from '../../agent/console/routes.ts';
import type { Tags } from '../../agent/record.ts';
import type { StreamTerms } from '../../agent/use-cases/stream-terms.ts';
import type { AgentStreams } from '../../agent/use-cases/streams.ts';
import { requestApproval } from '../../approval/console/handlers.ts';
import { approvalRoutes } from '../../approval/console/routes.ts';
import { ingestBatch, readParsedBatch, repairContext } from '../../event/console/batch.ts';
import { eventRoutes } from '../../event/console/routes.ts';
import type { Caller } from '../../http/contract/call.ts';
import { bundleName as bundleField, line, tagMap, text } from '../../http/contract/fields.ts';
import type { Hub } from '../../http/contract/handler.ts';
import { documentEvent } from '../../http/contract/hosted-frames.ts';
import { keyPrincipalOf, principalOf } from '../../http/contract/principal.ts';
import { RequestError } from '../../http/contract/request-error.ts';
import type {
  AdmittedStream,
  AgentMessage,
  StreamHandlers,
  StreamQuery,
} from '../../http/contract/stream.ts';
import { checked, sentences, validationFailed } from '../../http/contract/validation.ts';
import { requireSight, seesEnv } from '../../shared/access.ts';
import { actingAgent } from '../../shared/acting-agent.ts';
import { HubError } from '../../shared/error.ts';
import { agentsOf, dashboardsOf, type FrameHeader, hostedAgentsOf } from '../../shared/frame.ts';
import { type Env, environments, isEnv } from '../../shared/ids.ts';
import { decisionsOf, isElsewhere } from './decisions.ts';
import { hostedTags } from './hosted-stream-routes.ts';
import { includeField } from './stream-routes.ts';

type Skips = NonNullable<StreamTerms['skips']>;
type KeyCaller = Extract<Caller, { kind: 'key' }>;

const version = line(255);
const sessionField = text(255, 1);
const maxTagText = 32_768;
const noTags: Tags = {};
/** A dashboard receives at least this every 15 s: silence means a hub that stands still (docs/protocol.md). */
const keepalive = { type: 'keepalive' } as const;

/**
 * Frames that a stream of the hosted API leaves out: events of another environment or session, and the document itself.
 * A stream receives the document if it follows one bundle, or if its agent fetched only its bundle: clients
 * never compare the document's name with their own.
 */
const skipsOf =
  (hub: Hub, env: Env, sessionId: string | null): Skips =>
  ({ type, event, bundle }, followed, by) => {
    if (event) return isElsewhere(event, env, sessionId);
    if (type !== documentEvent || followed !== null) return false;
    const fetched = hub.app.fetchedRulesets.nameOf(by);
    return fetched === null || fetched !== bundle;
  };

/** Functions in the terms of hosted streams: one for all streams, so that these can share their terms. */
interface HostedFunctions {
  skips(env: Env, sessionId: string | null): Skips;
  readonly fetched: NonNullable<StreamTerms['fetched']>;
}

function hostedFunctions(hub: Hub): HostedFunctions {
  const byEnv = new Map(environments.map((env) => [env, skipsOf(hub, env, null)]));
  return {
    skips: (env, sessionId) => (sessionId === null && byEnv.get(env)) || skipsOf(hub, env, sessionId),
    fetched: (by) => hub.app.fetchedRulesets.of(by),
  };
}

/** One function for all streams that ask for the same. */
const isOfToolPins = ({ tools }: FrameHeader): boolean => tools === true;
const isOfIsolation = ({ part }: FrameHeader): boolean => part === 'isolation';
const isOnRequest = (header: FrameHeader): boolean => isOfToolPins(header) || isOfIsolation(header);

/** Frames that an agent's stream leaves out, because it does not ask for them; null: none. */
const agentSkipsOf = ({ pins, isolation }: StreamQuery) => {
  if (pins === '1') return isolation === '1' ? null : isOfIsolation;
  return isolation === '1' ? isOfToolPins : isOnRequest;
};

/** The routes of the same purpose. Their limits count what comes over a WebSocket too: it is no way around them. */
const routeOf: { readonly [T in AgentMessage['type']]: LimitedRoute } = {
  events: eventRoutes.ingestEvents,
  report: agentRoutes.reportVersion,
  approval: approvalRoutes.createApproval,
};

/** The stream handlers of a node. @param streams the node's */
export const streamHandlers = (
  hub: Hub,
  streams: AgentStreams,
  ofHosted = hostedFunctions(hub),
): Omit<StreamHandlers, 'admitEvents'> => ({
  admitAgent(caller, query, connectionId) {
    // A fleet opens thousands at once: a refusal alone makes a promise of its own.
    try {
      return admitAgent(streams, caller, query, connectionId, null);
    } catch (error) {
      return Promise.reject(error);
    }
  },

  async admitHosted(caller, query, connectionId) {
    if (caller.kind === 'hostedOperator') return { admitted: admitOperator(caller, query), caller };
    const requestedEnv = query.env === undefined || query.env === '' ? null : query.env;
    // A key of all environments follows the one it asks for.
    if (caller.env === null && requestedEnv !== null && !isEnv(requestedEnv)) {
      throw validationFailed([{ loc: ['query', 'env'], msg: `must be one of ${environments.join(', ')}` }]);
    }
    const env = caller.env ?? environments.find((one) => one === requestedEnv) ?? 'production';
    const key = { ...caller, kind: 'key', env } as const;
    return { admitted: await admitAgent(streams, key, query, connectionId, ofHosted), caller: key };
  },

  admitDashboard: async (caller, query) => admitDashboard(streams, caller, query),

  async message(caller, { type, body, rounded }) {
    const route = routeOf[type];
    const limits = createRouteLimits(hub.app.rateLimits, route, caller, caller.network);
    await limits.arrived();
    switch (type) {
      case 'events': {
        const batch = readParsedBatch(body, repairContext(hub, caller), rounded);
        return ingestBatch(hub, keyPrincipalOf(caller), batch, limits.own);
      }
      case 'report':
        return reportVersion(hub, caller, checked(agentRoutes.reportVersion.body, body));
      case 'approval': {
        const request = checked(approvalRoutes.createApproval.body, body);
        await limits.before({ params: {}, body: request });
        return requestApproval(hub, caller, request, limits.own);
      }
    }
  },
});

/** @throws HubError validation_failed */
function admitDashboard(
  streams: AgentStreams,
  caller: Extract<Caller, { kind: 'user' }>,
  { include }: StreamQuery,
): AdmittedStream {
  const { tenantId } = caller;
  const principal = principalOf(caller);
  const visibleEnvs = environments.filter((env) => seesEnv(principal, env));
  const parts = new Set(include === undefined ? [] : checkedAt(includeField, include, 'include').split(','));
  const fleet = parts.has('fleet');
  const tools = parts.has('tools');
  return {
    audience: dashboardsOf(tenantId),
    agentId: null,
    bundleName: null,
    pinned: false,
    skips: (frame) =>
      (frame.fleet !== undefined && !fleet) ||
      (frame.tools === true && !tools) ||
      (frame.part !== undefined && !parts.has(frame.part)) ||
      (frame.type === 'event_created' && parts.has('stats')) ||
      (frame.envs !== undefined && !frame.envs.some((env) => seesEnv(principal, env))),
    catchUp: async () => (fleet ? streams.fleetNow(tenantId, visibleEnvs) : []),
    keepalive,
    announce: async () => {},
    closed: () => {},
  };
}

/**
 * @param hosted null: a stream of the console API
 * @throws HubError validation_failed, env_mismatch, forbidden, and what the agent's actor throws
 */
function admitAgent(
  streams: AgentStreams,
  caller: KeyCaller,
  query: StreamQuery,
  connectionId: string,
  hosted: HostedFunctions | null,
): Promise<AdmittedStream> {
  checkEnv(caller, query.env);
  const requested = query.bundle_name ? checkedAt(bundleField, query.bundle_name, 'bundle_name') : null;
  const policyVersion = query.policy_version
    ? checkedAt(version, query.policy_version, 'policy_version')
    : null;
  const { tenantId, env } = caller;
  const agentId = actingAgent(caller);
  const tags = hosted ? tagsAsked(query.tags) : readTags(query.tags);
  const sessionId = hosted ? sessionAsked(query) : null;
  return streams.admit({
    tenantId,
    env,
    agentId,
    connectionId,
    transport: query.transport ?? 'sse',
    api: hosted ? 'hosted' : 'console',
    loadsAny: query.documents === 'any',
    requested,
    policyVersion,
    tags,
    client: caller,
    resumes: query.resumes ?? false,
    audience: hosted ? hostedAgentsOf(tenantId, env) : agentsOf(tenantId, env),
    skips: hosted ? hosted.skips(env, sessionId) : agentSkipsOf(query),
    wantsIsolation: !hosted && query.isolation === '1',
    fetched: hosted?.fetched ?? null,
    decisions: hosted ? decisionsOf(tenantId) : null,
  });
}

const sessionAsked = ({ session_id }: StreamQuery): string | null =>
  session_id ? checkedAt(sessionField, session_id, 'session_id') : null;

/**
 * Frames that a person follows in an environment: deployments, and the actions of every agent there.
 * @throws HubError validation_failed
 */
function admitOperator(
  { tenantId, roles }: Extract<Caller, { kind: 'hostedOperator' }>,
  query: StreamQuery,
): AdmittedStream {
  const env = environments.find((one) => one === query.env);
  if (env === undefined) {
    throw new RequestError(
      'validation_failed',
      `The request has no environment. Send it in the query: ?env=${environments.join(' or ')}.`,
      {
        reason: 'env_required',
        problems: [{ loc: ['query', 'env'], msg: `must be one of ${environments.join(', ')}` }],
      },
    );
  }
  requireSight({ envRoles: roles }, env);
  const sessionId = sessionAsked(query);
  const bundleName = query.bundle_name ? checkedAt(bundleField, query.bundle_name, 'bundle_name') : null;
  tagsAsked(query.tags);
  return {
    audience: hostedAgentsOf(tenantId, env),
    agentId: null,
    bundleName: bundleName,
    pinned: true,
    decisions: decisionsOf(tenantId),
    skips: ({ type, event }) => (event ? isElsewhere(event, env, sessionId) : type === documentEvent),
    catchUp: async () => [],
    announce: async () => {},
    closed: () => {},
  };
}

/** @throws HubError env_mismatch, in the specification's words */
function checkEnv(caller: KeyCaller, requestedEnv: string | undefined): void {
  if (!requestedEnv || requestedEnv === caller.env) return;
  throw new HubError(
    'env_mismatch',
    `API key is scoped to '${caller.env}', cannot subscribe to '${requestedEnv.slice(0, 64)}'.`,
  );
}

function checkedAt<T>(schema: ZodType<T>, value: unknown, name: string): T {
  const result = schema.safeParse(value, sentences);
  if (result.success) return result.data;
  throw validationFailed(result.error.issues.map(({ message }) => ({ loc: ['query', name], msg: message })));
}

/** The tags of a stream of the hosted API. @throws HubError validation_failed */
function tagsAsked(text: string | undefined): Tags {
  if (!text) return noTags;
  let tags: unknown;
  try {
    tags = JSON.parse(text);
  } catch {
    throw validationFailed([
      { loc: ['query', 'tags'], msg: 'must be the JSON text of an object with string values' },
    ]);
  }
  return checkedAt(hostedTags, tags, 'tags');
}

/** The tags of a JSON text of an object of texts; none when it is anything else. */
function readTags(text: string | undefined): Tags {
  if (!text || text.length > maxTagText) return noTags;
  try {
    const result = tagMap.safeParse(JSON.parse(text));
    return result.success ? result.data : noTags;
  } catch {
    return noTags;
  }
}
