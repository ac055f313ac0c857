// Live streams: who may open one, what it follows, what it must get at once, and what agents send on it. Owns no socket.
import { agentKey, environmentKey } from '../../actors/protocol.ts';
import { agentRoutes } from '../api/agents.ts';
import { approvalRoutes } from '../api/approvals.ts';
import type { Caller } from '../api/call.ts';
import { bundleName as bundleField, line, tagMap } from '../api/fields.ts';
import type { AdmittedStream, StreamHandlers, StreamQuery } from '../api/stream.ts';
import type { Resolution, Tags } from '../domain/agent.ts';
import { HubError } from '../domain/error.ts';
import { agentsOf, dashboardsOf, type Frame } from '../domain/frame.ts';
import { agentIdOf, reportVersion } from './agents.ts';
import { requestApproval } from './approvals.ts';
import { acceptEvents } from './events.ts';
import type { Hub } from './hub.ts';
import { checkBatch } from './ingest.ts';
import { checked, validationFailed } from './problems.ts';
import { Updates } from './updates.ts';

type KeyCaller = Extract<Caller, { kind: 'key' }>;

const version = line(255);
/** Reports and approvals that a key may send in a minute, over HTTP and WebSocket together. */
const maxPerMinute = 6_000;
const maxTagText = 32_768;
const leaveAttempts = 6;
const firstWaitMs = 250;

/** The stream handlers of a node. @param node its id, as actors know it */
export function streamHandlers(hub: Hub, node: string): StreamHandlers {
  const updates = new Updates(hub);
  return {
    admitAgent: (caller, query, connectionId) =>
      admitAgent(hub, updates, caller, query, { connectionId, node }),

    async admitDashboard(caller) {
      return {
        audience: dashboardsOf(caller.tenantId),
        agentId: null,
        bundleName: null,
        pinned: false,
        catchUp: async () => [],
        announce: async () => {},
        closed: () => {},
      };
    },

    async message(caller, { type, body }) {
      // Events are counted by their number, as over HTTP.
      if (type !== 'events') await withinLimit(hub, caller);
      switch (type) {
        case 'events':
          return acceptEvents(hub, caller, checkBatch(body));
        case 'report':
          return reportVersion(hub, caller, checked(agentRoutes.reportVersion.body, body));
        case 'approval':
          return requestApproval(hub, caller, checked(approvalRoutes.createApproval.body, body));
      }
    },
  };
}

async function admitAgent(
  hub: Hub,
  updates: Updates,
  caller: KeyCaller,
  query: StreamQuery,
  { connectionId, node }: { readonly connectionId: string; readonly node: string },
): Promise<AdmittedStream> {
  checkEnv(caller, query.env);
  const { tenantId, env } = caller;
  const requested = query.bundle_name ? checkedAt(bundleField, query.bundle_name, 'bundle_name') : null;
  const policyVersion = query.policy_version
    ? checkedAt(version, query.policy_version, 'policy_version')
    : null;
  const tags = readTags(query.tags);
  const agentId = agentIdOf(caller);
  const toAgent = agentKey(tenantId, env, agentId);
  const toEnvironment = environmentKey(tenantId, env);
  const connectedAt = hub.clock.now();
  const pinned = requested !== null;
  let ended = false;

  const connect = () =>
    hub.actors.ask('agent', toAgent, 'connect', {
      connectionId,
      node,
      requested,
      policyVersion,
      tags,
      at: connectedAt,
    });
  const join = (followed: string | null) =>
    hub.actors.ask('environment', toEnvironment, 'join', {
      connectionId,
      node,
      agentId,
      bundleName: followed,
      pinned,
      connectedAt,
      policyVersion,
    });
  const assignmentChanged = ({ bundleName, source }: Resolution): Frame => ({
    audience: agentsOf(tenantId, env),
    type: 'assignment_changed',
    data: { type: 'assignment_changed', agent_id: agentId, bundle_name: bundleName, source },
    toAgent: agentId,
  });

  const { bundleName } = await connect();

  return {
    audience: agentsOf(tenantId, env),
    agentId,
    bundleName,
    pinned,

    async catchUp() {
      if (ended) return [];
      const joined = await join(bundleName);
      // Assigned anew since it was admitted: the frame that said so may have come before it was registered.
      const moved = !pinned && joined.bundleName !== bundleName;
      const first = moved ? [assignmentChanged(await hub.actors.ask('agent', toAgent, 'resolve', null))] : [];
      const found = await Promise.all(joined.catchUp.map((deployment) => updates.of(deployment)));
      return [...first, ...found.filter((frame) => frame !== null)];
    },

    async announce(followed) {
      if (ended) return;
      const resolution = await connect();
      if (ended) return;
      await join(followed);
      if (pinned || resolution.bundleName === followed) return;
      // Assigned anew while its actors were away.
      await hub.broadcast.publish([assignmentChanged(resolution)]);
      await hub.actors.tell('environment', toEnvironment, 'retarget', {
        agentId,
        bundleName: resolution.bundleName,
      });
    },

    closed() {
      if (ended) return;
      ended = true;
      void leave(hub, async () => {
        await hub.actors.tell('environment', toEnvironment, 'leave', { connectionId, agentId });
        await hub.actors.tell('agent', toAgent, 'disconnect', { connectionId });
      });
    },
  };
}

/** The same window as the HTTP routes of the same purpose: a WebSocket is no way around it. @throws HubError rate_limited */
async function withinLimit(hub: Hub, caller: KeyCaller): Promise<void> {
  const answer = await hub.limits.hit(`standard:key:${caller.keyId}`, maxPerMinute, 60_000);
  if (answer.ok) return;
  throw new HubError('rate_limited', 'Too many requests. Please slow down.', {
    retryAfter: answer.retryAfter,
  });
}

/** @throws HubError validation_failed when env is missing; env_mismatch, in the specification's words */
function checkEnv(caller: KeyCaller, asked: string | undefined): void {
  if (!asked) throw validationFailed([{ loc: ['query', 'env'], msg: 'is required' }]);
  if (asked === caller.env) return;
  throw new HubError(
    'env_mismatch',
    `API key is scoped to '${caller.env}', cannot subscribe to '${asked.slice(0, 64)}'.`,
  );
}

function checkedAt(schema: typeof bundleField | typeof version, value: string, name: string): string {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw validationFailed(result.error.issues.map(({ message }) => ({ loc: ['query', name], msg: message })));
}

/** The tags of a JSON text of an object of texts; none when it is anything else. */
function readTags(text: string | undefined): Tags {
  if (!text || text.length > maxTagText) return {};
  try {
    const result = tagMap.safeParse(JSON.parse(text));
    return result.success ? result.data : {};
  } catch {
    return {};
  }
}

/** Tells the actors that a stream ended; tries again while they cannot be reached, because nobody else tells them. */
async function leave(hub: Hub, tell: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tell();
    } catch (error) {
      if (attempt === leaveAttempts) {
        hub.log.warn({ err: error }, 'the end of a stream could not be told to its actors');
        return;
      }
      await new Promise<void>((resolve) => {
        hub.clock.after(firstWaitMs * 2 ** attempt, resolve);
      });
    }
  }
}
