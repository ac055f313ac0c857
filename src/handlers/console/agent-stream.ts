// An agent's stream as its handlers see it: announced to its actors at the start, when they ask again, and at the end. Owns no socket.
import { agentKey, environmentKey, type ResolvedAt } from '../../../actors/protocol.ts';
import { decisionFrame, documentEvent } from '../../api/hosted/frames.ts';
import type { AdmittedStream, DecisionSource } from '../../api/stream.ts';
import type { SharedTexts } from '../../concurrency/shared-texts.ts';
import type { Tags } from '../../domain/agent.ts';
import type { Announcement } from '../../domain/announcement.ts';
import type { Resolution } from '../../domain/assignment.ts';
import { sessionOf } from '../../domain/decision-event.ts';
import type { Deployment } from '../../domain/deployment.ts';
import type { StoredEvent } from '../../domain/event.ts';
import {
  type Audience,
  agentsOf,
  eventsOf,
  type Frame,
  type FrameHeader,
  hostedAgentsOf,
} from '../../domain/frame.ts';
import type { Env } from '../../domain/ids.ts';
import { pause } from '../../ports/clock.ts';
import type { Hub } from '../common/hub.ts';
import type { SentCopies } from './sent-copies.ts';
import type { Updates } from './updates.ts';

const leaveAttempts = 6;
const firstWaitMs = 250;

/** What all streams of a node share. */
export interface Node {
  readonly hub: Hub;
  /** As actors know it. */
  readonly id: string;
  readonly updates: Updates;
  /** Policy versions: a whole fleet runs the same. */
  readonly versions: SharedTexts;
  readonly copies: SentCopies;
}

/** What a client asked for when it opened a stream. */
export interface Asked {
  readonly tenantId: string;
  readonly env: Env;
  readonly agentId: string;
  readonly connectionId: string;
  /** Of the API key that opened it. */
  readonly keyId: string;
  /** The bundle it asked for by name. */
  readonly requested: string | null;
  readonly policyVersion: string | null;
  readonly tags: Tags;
  /** API key, agent id and client address together. */
  readonly client: string;
  /** It said which frame it had last. */
  readonly resumes: boolean;
  readonly connectedAt: number;
  /** On the hosted API. */
  readonly hosted: boolean;
  /** The session whose decision events it wants; null: every one of its agent. */
  readonly sessionId: string | null;
}

/** A class, and names made when they are needed, because there may be tens of thousands. */
export class AgentStream implements AdmittedStream {
  readonly #node: Node;
  readonly #asked: Asked;
  #bundleName: string | null = null;
  #ended = false;
  readonly #sent = new Map<string, { readonly revision: string; readonly at: number }>();
  /** The agent may have heard that it is assigned anew, but its environment has not: to be said again, though the stream follows it by then. */
  #untold = false;

  constructor(node: Node, asked: Asked) {
    this.#node = node;
    this.#asked = asked;
  }

  /** Tells the agent's actor; from then on `bundleName` is known. To be awaited before anything else. */
  async admit(): Promise<void> {
    this.#bundleName = (await this.#connect()).bundleName;
  }

  get audience(): Audience {
    const { tenantId, env, hosted } = this.#asked;
    return hosted ? hostedAgentsOf(tenantId, env) : agentsOf(tenantId, env);
  }

  get agentId(): string {
    return this.#asked.agentId;
  }

  get bundleName(): string | null {
    return this.#bundleName;
  }

  get pinned(): boolean {
    return this.#asked.requested !== null;
  }

  /**
   * The document itself only to a hosted stream that follows one bundle, or whose agent fetched that one alone: clients never compare its
   * name with their own.
   */
  skips({ type, event, bundle }: FrameHeader, followed: string | null): boolean {
    const { hosted, env, sessionId, keyId, agentId } = this.#asked;
    if (event) return event.env !== env || (sessionId !== null && sessionOf(event) !== sessionId);
    if (!hosted || type !== documentEvent || followed !== null) return false;
    const fetched = this.#node.hub.app.fetchedRulesets.nameOf({ keyId, agentId });
    return fetched === null || fetched !== bundle;
  }

  /** On the hosted API, those of its agent. */
  get decisions(): DecisionSource | null {
    return this.#asked.hosted ? decisionsOf(this.#asked.tenantId) : null;
  }

  async catchUp(): Promise<readonly Announcement[]> {
    if (this.#ended) return [];
    const { hub, updates } = this.#node;
    const joined = await this.#join(this.#bundleName);
    // Assigned anew since it was admitted: that may have been announced before the stream was registered.
    const moved = !this.pinned && joined.bundleName !== this.#bundleName;
    const first = moved
      ? [this.#reassigned(await hub.actors.ask('agent', this.#agentKey, 'resolve', null))]
      : [];
    const due = joined.catchUp.filter((deployment) => !this.#hasCopy(deployment));
    const found = await Promise.all(due.map((deployment) => updates.of(deployment)));
    const at = hub.clock.now();
    for (const { bundleName, revisionHash } of due)
      this.#sent.set(bundleName, { revision: revisionHash, at });
    return [...first, ...found.filter((due) => due !== null)];
  }

  async announce(followed: string | null): Promise<void> {
    if (this.#ended) return;
    const { hub } = this.#node;
    const resolution = await this.#connect();
    if (this.#ended) return;
    await this.#join(followed);
    if (this.pinned || (resolution.bundleName === followed && !this.#untold)) return;
    // Assigned anew while its actors were away.
    this.#untold = true;
    await hub.announcer.announce([this.#reassigned(resolution)]);
    const { bundleName, resolvedAt } = resolution;
    await hub.actors.tell('environment', this.#environmentKey, 'retarget', {
      agentId: this.agentId,
      bundleName,
      connected: true,
      resolvedAt,
    });
    this.#untold = false;
  }

  closed(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { hub, copies } = this.#node;
    const { connectionId, agentId, client } = this.#asked;
    copies.ended(client, this.#sent, hub.clock.now());
    void leave(hub, async () => {
      await hub.actors.tell('environment', this.#environmentKey, 'leave', { connectionId, agentId });
      await hub.actors.tell('agent', this.#agentKey, 'disconnect', { connectionId });
    });
  }

  /** It asked for a bundle by name, did not say what it has, and was sent this revision a moment ago. */
  #hasCopy({ bundleName, revisionHash }: Deployment): boolean {
    const { requested, policyVersion, resumes, client } = this.#asked;
    if (requested === null || policyVersion !== null || resumes) return false;
    const { copies, hub } = this.#node;
    return copies.has(client, bundleName, revisionHash, hub.clock.now());
  }

  get #agentKey(): string {
    const { tenantId, env, agentId } = this.#asked;
    return agentKey(tenantId, env, agentId);
  }

  get #environmentKey(): string {
    return environmentKey(this.#asked.tenantId, this.#asked.env);
  }

  #connect(): Promise<Resolution & { readonly resolvedAt?: ResolvedAt | undefined }> {
    const { connectionId, keyId, requested, policyVersion, tags, connectedAt } = this.#asked;
    return this.#node.hub.actors.ask('agent', this.#agentKey, 'connect', {
      connectionId,
      keyId,
      node: this.#node.id,
      requested,
      policyVersion,
      tags,
      at: connectedAt,
    });
  }

  #join(followed: string | null) {
    const { connectionId, agentId, policyVersion, connectedAt, keyId } = this.#asked;
    return this.#node.hub.actors.ask('environment', this.#environmentKey, 'join', {
      connectionId,
      node: this.#node.id,
      agentId,
      bundleName: followed,
      pinned: this.pinned,
      connectedAt,
      keyId,
      policyVersion,
    });
  }

  #reassigned({ bundleName, source }: Resolution): Announcement {
    const { tenantId, env, agentId } = this.#asked;
    return { kind: 'agentReassigned', tenantId, env, agentId, bundleName, source };
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
      await pause(hub.clock, firstWaitMs * 2 ** attempt);
    }
  }
}

/** A decision event among the frames of /v1/stream: written when somebody wants it. */
class DecisionFrame implements Frame {
  readonly audience: Audience;
  readonly type = decisionFrame;
  readonly agent: string;
  readonly event: StoredEvent;
  readonly #frame: Frame;

  constructor(frame: Frame, event: StoredEvent) {
    this.audience = frame.audience;
    this.agent = event.agent_id;
    this.event = event;
    this.#frame = frame;
  }

  get json(): Uint8Array {
    return this.#frame.json;
  }
}

/** The decision events of a tenant, for streams that carry other frames too. */
export const decisionsOf = (tenantId: string): DecisionSource => ({
  audience: eventsOf(tenantId),
  made: (frame) => (frame.event ? new DecisionFrame(frame, frame.event) : frame),
});
