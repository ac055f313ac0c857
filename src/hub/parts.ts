// Parts that differ between the ways to run: the store, the bus and the actors of one process, or of a cluster's node.
import type { ActorPorts } from '../../actors/ports.ts';
import type { HubActors } from '../../actors/protocol.ts';
import type { Tell } from '../../actors/runtime/define.ts';
import type { Admission } from '../admission/admission.ts';
import type { RuleSets } from '../agent/rules/assignment.ts';
import { Registrar } from '../agent/use-cases/registrar.ts';
import type { NodeHealth } from '../http/contract/handler.ts';
import type { ApiFrames } from '../http/live/announcer.ts';
import type { Audience, Control } from '../shared/frame.ts';
import type { Meters } from '../shared/meters.ts';
import type { Announcer } from '../shared/ports/announcer.ts';
import type { Broadcast } from '../shared/ports/broadcast.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Jobs } from '../shared/ports/jobs.ts';
import type { Limits } from '../shared/ports/limits.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { Store } from '../shared/ports/store.ts';
import type { Config } from './config.ts';
import type { Workers } from './workers.ts';

/** Parts from which every way to run is made. */
export interface Materials {
  readonly config: Config;
  readonly clock: Clock;
  /** Limits the work that runs at once in this node, for all its parts. */
  readonly admission: Admission;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly workers: Workers;
  readonly meters: Meters;
  readonly ruleSets: RuleSets;
  /** The APIs that have streams. */
  readonly streamApis: readonly ApiFrames[];
  /** Agents with an open stream on this node. */
  readonly agents: () => number;
  readonly isDraining: () => boolean;
}

export interface NodeParts {
  /** Name of this process among the nodes, as actors know it. */
  readonly node: string;
  readonly store: Store;
  readonly announcer: Announcer;
  readonly broadcast: Broadcast;
  /** Limits that hold over all nodes. */
  readonly limits: Limits;
  readonly registrar: Registrar;
  /** Limits of a caller's requests, which must not need more than this process. */
  readonly requestLimits: Limits;
  readonly jobs: Jobs;
  readonly actors: HubActors & { receive(message: Tell): Promise<unknown> };
  /** Round trip of the key-value store in milliseconds. */
  keyValue(): Promise<number>;
  readonly cluster: NodeHealth['cluster'];
  readonly isAloneWithout: NodeHealth['isAloneWithout'];
  /** True while this node owns the actors of this key. */
  owns(key: string): boolean;
  /** Takes part, once streams can be announced. */
  begin(): Promise<void>;
  /** A control message came; `audiences` have streams here. */
  control(message: Control, audiences: readonly Audience[]): void;
  /** Ends the actors: what is in the mailboxes is finished. */
  stopActors(): Promise<void>;
  /** Closes bus and store. */
  close(): Promise<void>;
}

export const actorPorts = (
  { secrets, ruleSets, meters }: Materials,
  store: Store,
  registrar: Registrar,
  isGone: ActorPorts['isGone'],
): ActorPorts => ({ store, secrets, ruleSets, registrar, isGone, meters });

export const registrarOf = (
  { config, clock, log, secrets }: Materials,
  { agents }: Store,
  limits: Limits,
): Registrar =>
  new Registrar({
    agents,
    limits,
    clock,
    log,
    secrets,
    newPerMinute: config.newAgentsPerMinute,
    maxLive: config.maxAgents,
  });
