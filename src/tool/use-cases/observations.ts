// Observations: agents report the tools that a server lists. New definitions are stored, recorded, announced and
// notified once, also when a process dies in between.
import { fingerprintOf, readDefinition } from 'reeve-agent/rules';
import { noteOf } from '../../audit/note.ts';
import type { AuditActor } from '../../audit/record.ts';
import { toolChangeJob } from '../../notification/rules/jobs.ts';
import { dayMs } from '../../shared/duration.ts';
import { fieldProblem } from '../../shared/error.ts';
import type { KeyPrincipal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { ObservationOutcome } from '../port.ts';
import {
  environmentRoom,
  firstSeenActor,
  keyRoom,
  maxRefusedListings,
  type RefusedListing,
  type ToolEntry,
  type ToolObservation,
  type ToolServer,
} from '../record.ts';
import { entryIdOf } from '../rules/identity.ts';
import { type SignedPins, signPins } from './signed-pins.ts';

export interface ToolReport {
  readonly agentId: string;
  readonly server: string;
  readonly info: ToolServer['info'];
  readonly refused: readonly RefusedListing[];
  readonly tools: readonly {
    readonly name: string;
    readonly fingerprint: string;
    /** JSON text; null if it is not sent. */
    readonly definition: string | null;
  }[];
}

export interface ObservationResult {
  /** Fingerprints whose definitions the hub lacks. */
  readonly lacking: readonly string[];
  /** Names of tools that the hub had no room for. */
  readonly withoutRoom: readonly string[];
  readonly pins: SignedPins;
}

export interface Observations {
  /** @throws HubError validation_failed (a definition without its fingerprint), unprocessable */
  observe(principal: KeyPrincipal, report: ToolReport): Promise<ObservationResult>;
}

type Ports = Pick<AppPorts, 'store' | 'secrets' | 'clock' | 'jobs' | 'announcer'>;

/** Undecided definitions that nobody reported for so long make room. */
export const unseenToolMs = 90 * dayMs;
/** Names in an audit entry. */
const maxNames = 20;

/** @throws HubError validation_failed */
function observationOf(
  { secrets, clock }: Ports,
  { tenantId, env, keyId }: KeyPrincipal,
  { agentId, server, info, refused, tools }: ToolReport,
): ToolObservation {
  const read = tools.map(({ name, fingerprint, definition: sent }, index) => {
    const definition = sent === null ? null : readDefinition(name, sent);
    const isOwn = definition === null || fingerprintOf(definition, secrets.sha256) === fingerprint;
    if ((sent !== null && definition === null) || !isOwn) {
      throw fieldProblem(['tools', index, 'definition'], 'must be the definition with this fingerprint');
    }
    const id = entryIdOf({ tenantId, env, server, tool: name, fingerprint }, secrets.sha256);
    const bytes = definition === null ? 0 : new TextEncoder().encode(definition).length;
    return { id, tool: name, fingerprint, definition, bytes };
  });
  return {
    ...{ tenantId, env, server, info, agentId, keyId },
    refused: refused.slice(0, maxRefusedListings),
    at: clock.now(),
    tools: [...new Map(read.map((tool) => [tool.id, tool])).values()],
  };
}

const namesOf = (entries: readonly ToolEntry[]): string[] =>
  entries.slice(0, maxNames).map(({ tool }) => tool.slice(0, 100));

export const createObservations = (ports: Ports): Observations => ({
  async observe(principal, report) {
    const { store, secrets } = ports;
    const observation = observationOf(ports, principal, report);
    const room = { environment: environmentRoom, key: keyRoom };
    const result = await store.tools.observe(observation, observation.at - unseenToolMs, room);
    await announce(ports, observation, result);
    const byId = new Map(observation.tools.map((tool) => [tool.id, tool]));
    const { mode, sequence, pins, lacking, withoutRoom } = result;
    return {
      lacking: lacking.flatMap((id) => byId.get(id)?.fingerprint ?? []),
      withoutRoom: withoutRoom.flatMap((id) => byId.get(id)?.tool ?? []),
      pins: await signPins({ store, secrets }, observation, { mode, sequence, pins }),
    };
  },
});

/** One entry for what one observation brought, whoever writes it. */
async function record(
  ports: Ports,
  { tenantId, env, server, agentId }: ToolObservation,
  actor: AuditActor,
  action: 'tool.first_seen' | 'tool.changed',
  entries: readonly ToolEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  const ids = entries.map(({ id }) => id).sort();
  const isFirst = action === 'tool.first_seen';
  const verb = isFirst ? 'were accepted as first seen' : 'are new or changed';
  const note = noteOf(ports, tenantId, actor, {
    action,
    subject: { id: ids[0] ?? '', name: server.slice(0, 128) },
    summary: `${entries.length} definitions of the server ${server.slice(0, 128)} ${verb} in ${env}.`,
    details: { env, server, tools: namesOf(entries), count: entries.length },
    agentId,
    onceFor: ids.join(),
  });
  await ports.store.audit.append([note]);
}

/** Everything that follows from new definitions. Each step may be repeated. */
async function announce(
  ports: Ports,
  observation: ToolObservation,
  { unannounced, sequence }: ObservationOutcome,
): Promise<void> {
  const { jobs, clock, announcer, store } = ports;
  if (unannounced.length === 0) return;
  const { tenantId, env, server, agentId } = observation;
  const accepted = unannounced.filter(({ ruling }) => ruling?.decidedBy === firstSeenActor);
  const changed = unannounced.filter(({ ruling }) => ruling === null);
  const system = { type: 'system', id: firstSeenActor, display: firstSeenActor } as const;
  await record(ports, observation, system, 'tool.first_seen', accepted);
  await record(ports, observation, { type: 'agent', id: agentId, display: agentId }, 'tool.changed', changed);
  const [first] = changed;
  if (first) await jobs.add(toolChangeJob(first, clock.now()));
  await announcer.announce([
    { kind: 'toolPinsChanged', tenantId, env, server, sequence, isForAgents: accepted.length > 0 },
  ]);
  const ids = unannounced.map(({ id }) => id);
  await store.tools.announced(tenantId, env, ids);
}
