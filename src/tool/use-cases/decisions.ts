// Decisions about tool definitions and the modes of environments and servers: acts of people, with an audit entry and
// an announcement each.
import type { PinDecision, PinMode } from 'reeve-agent/rules';
import { noted } from '../../audit/note.ts';
import { requireRole, requireSight, seesEnv } from '../../shared/access.ts';
import { HubError, notFound } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Environments } from '../../tenant/use-cases/environments.ts';
import type { EntryFilter } from '../port.ts';
import type { ListedTool, ToolDefinition, ToolServer } from '../record.ts';
import { entryIdOf } from '../rules/identity.ts';
import { type SignedPins, signPins } from './signed-pins.ts';

export interface PinRequest {
  readonly decision: PinDecision;
  /** At least one. */
  readonly envs: readonly Env[];
  readonly reason: string | null;
}

export interface EnvironmentTools {
  readonly mode: PinMode;
  readonly sequence: number;
  readonly servers: readonly ToolServer[];
}

export interface ToolPins {
  listServers(principal: Principal, env: Env): Promise<EnvironmentTools>;
  listEntries(principal: Principal, filter: EntryFilter, page: PageRequest): Promise<Page<ListedTool>>;
  /** The definition, and all of its tool in all environments, oldest first. @throws HubError not_found */
  get(
    principal: Principal,
    id: string,
  ): Promise<{ readonly definition: ToolDefinition; readonly history: readonly ToolDefinition[] }>;
  /** @throws HubError unprocessable */
  getSignedPins(principal: Principal, env: Env, server: string): Promise<SignedPins>;
  /** @throws HubError forbidden, not_found, conflict (no agent sent the definition yet) */
  decide(principal: Principal, id: string, request: PinRequest): Promise<ToolDefinition>;
  /** @throws HubError forbidden */
  updateMode(principal: Principal, env: Env, server: string | null, mode: PinMode | null): Promise<void>;
}

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'announcer'> & {
  readonly environments: Pick<Environments, 'requireChange'>;
};

/** Definitions of one tool that its page shows. */
const maxHistory = 200;

export const createToolPins = (ports: Ports): ToolPins => ({
  async listServers(principal, env) {
    requireSight(principal, env);
    return ports.store.tools.listServers(principal.tenantId, env);
  },
  async listEntries(principal, filter, page) {
    requireSight(principal, filter.env);
    return ports.store.tools.listEntries(principal.tenantId, filter, page);
  },
  async get(principal, id) {
    const definition = await find(ports, principal, id);
    const { tenantId, server, tool } = definition;
    const history = await ports.store.tools.listHistory(tenantId, server, tool, maxHistory);
    return { definition, history: history.filter(({ env }) => seesEnv(principal, env)) };
  },
  async getSignedPins({ tenantId }, env, server) {
    const { store, secrets } = ports;
    const place = { tenantId, env, server };
    return signPins({ store, secrets }, place, await store.tools.getPins(tenantId, env, server));
  },
  async decide(principal, id, request) {
    requireRole(principal, 'operator');
    const from = await find(ports, principal, id);
    await ports.environments.requireChange(principal, request.envs);
    if (from.definition === null && request.decision === 'accepted') {
      throw new HubError(
        'conflict',
        'No agent has sent this definition yet, so nobody can review it. Wait for the next report of an agent.',
      );
    }
    for (const env of new Set(request.envs)) await decideIn(ports, principal, from, env, request);
    return find(ports, principal, id);
  },
  async updateMode(principal, env, server, mode) {
    const { clock, store, announcer } = ports;
    requireRole(principal, 'admin');
    const { tenantId } = principal;
    const subject = server === null ? env : `${env}: ${server.slice(0, 128)}`;
    const recorded = noted(ports, principal, {
      action: 'tool.mode_changed',
      subject: { id: subject, name: subject },
      summary: `The mode of tool pins for ${subject} is ${mode ?? "the environment's"}.`,
      details: { env, server, mode },
      fromAnswer: { sequence: 'sequence', acceptedFirstSeen: 'accepted' },
    });
    const change = await recorded.tools.updateMode({ tenantId, env, server, mode, at: clock.now() });
    const sequence = change?.sequence ?? (await store.tools.listServers(tenantId, env)).sequence;
    await announcer.announce([
      { kind: 'toolPinsChanged', tenantId, env, server, sequence, isForAgents: true },
    ]);
  },
});

async function find({ store }: Ports, principal: Principal, id: string): Promise<ToolDefinition> {
  const definition = await store.tools.get(principal.tenantId, id);
  if (!definition || !seesEnv(principal, definition.env)) throw notFound('Tool definition not found.');
  return definition;
}

async function decideIn(
  ports: Ports,
  principal: Principal,
  from: ToolDefinition,
  env: Env,
  request: PinRequest,
): Promise<void> {
  const { secrets, clock, store, announcer } = ports;
  const { tenantId, server, tool, fingerprint } = from;
  const { decision, reason } = request;
  const id = entryIdOf({ tenantId, env, server, tool, fingerprint }, secrets.sha256);
  const ruling = { decision, reason, decidedBy: actorName(principal.actor), decidedAt: clock.now() };
  const recorded = noted(ports, principal, {
    action: `tool.${decision}`,
    subject: { id, name: tool.slice(0, 128) },
    summary: `A definition of ${tool.slice(0, 100)} on ${server.slice(0, 100)} was ${decision} in ${env}.`,
    details: { env, server, tool, fingerprint, reason },
    fromAnswer: { previous: 'previous', sequence: 'sequence' },
  });
  const change = await recorded.tools.decide({ tenantId, env, from, id, ruling });
  // After an earlier call that died before its announcement, the repeat announces.
  const { sequence } = change ?? (await store.tools.getPins(tenantId, env, server));
  await announcer.announce([{ kind: 'toolPinsChanged', tenantId, env, server, sequence, isForAgents: true }]);
}
