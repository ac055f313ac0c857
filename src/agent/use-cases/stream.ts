// An agent's stream as the edge sees it: announced to its actors at the start, when they ask again, and at the end.
// Owns no socket.
import { agentKey, environmentKey, type ResolvedAt } from '../../../actors/protocol.ts';
import type { Deployment } from '../../deployment/record.ts';
import type { SentCopies, SentCopy } from '../../deployment/use-cases/sent-copies.ts';
import type { Updates } from '../../deployment/use-cases/updates.ts';
import type { Announcement, AnnouncementOf } from '../../shared/announcement.ts';
import type { SharedTexts } from '../../shared/concurrency/shared-texts.ts';
import type { Audience, DecisionSource, FrameHeader } from '../../shared/frame.ts';
import type { Env } from '../../shared/ids.ts';
import { pause } from '../../shared/ports/clock.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { AgentApi } from '../../shared/vocabulary.ts';
import type { StreamTransport, Tags } from '../record.ts';
import type { Resolution } from '../rules/assignment.ts';
import type { FetchedRuleset } from '../rules/fetched-ruleset.ts';

const nothingSent: readonly SentCopy[] = [];
const leaveAttempts = 6;
const firstWaitMs = 250;

export type StreamPorts = Pick<AppPorts, 'actors' | 'announcer' | 'clock' | 'log'>;

/** State that all streams of a node share. */
export interface StreamNode {
  readonly ports: StreamPorts;
  /** As actors know it. */
  readonly id: string;
  readonly updates: Updates;
  /** Policy versions: a whole fleet runs the same. */
  readonly versions: SharedTexts;
  readonly copies: SentCopies;
  /**
   * The tenant's mode of isolation, announced to each environment. Read after the call, so that a stream that is
   * already registered misses no change; streams that open together share a reading.
   */
  isolations(tenantId: string): Promise<readonly AnnouncementOf<'isolationChanged'>[]>;
}

/** The client's request for the stream. */
export interface Asked {
  readonly tenantId: string;
  readonly env: Env;
  readonly agentId: string;
  readonly connectionId: string;
  /** Of the API key that opened it. */
  readonly keyId: string;
  readonly transport: StreamTransport;
  readonly api: AgentApi;
  /** True if the client declared that it loads documents of either vocabulary. */
  readonly loadsAny: boolean;
  /** True if the client asked for the tenant's mode of isolation. */
  readonly wantsIsolation: boolean;
  /** The bundle it asked for by name. */
  readonly requested: string | null;
  /** Becomes the text that all streams share which run the same. */
  policyVersion: string | null;
  readonly tags: Tags;
  /** API key, agent id and client address in one name, made when needed: tens of thousands would keep the text. */
  readonly client: () => string;
  /** True if the client named the last frame that it received. */
  readonly resumes: boolean;
  /** Audience whose frames the stream receives. */
  readonly audience: Audience;
  /**
   * True for a frame of its audience that is not for it all the same.
   * @param followed the bundle it follows at that time; null: gets all
   */
  readonly skips: ((frame: FrameHeader, followed: string | null) => boolean) | null;
  /** The recorded fetches of the agent, if they show its running version. */
  readonly fetched?: (() => FetchedRuleset | null) | null;
  /** Decision events that come between the frames of its audience. */
  readonly decisions?: DecisionSource | null;
}

/** A class, and names made when they are needed, because there may be tens of thousands. */
export class AgentStream {
  readonly #node: StreamNode;
  readonly #asked: Asked;
  readonly #connectedAt: number;
  #bundleName: string | null = null;
  #ended = false;
  #sent: readonly SentCopy[] = nothingSent;
  /**
   * True if the agent may have received a new assignment that its environment has not: announced again, though the
   * stream follows it by then.
   */
  #untold = false;

  constructor(node: StreamNode, request: Asked) {
    this.#node = node;
    this.#asked = request;
    this.#connectedAt = node.ports.clock.now();
    if (request.policyVersion !== null) request.policyVersion = node.versions.shared(request.policyVersion);
  }

  /** Tells the agent's actor; from then on `bundleName` is known. To be awaited before anything else. */
  async admit(): Promise<this> {
    this.#bundleName = (await this.#connect()).bundleName;
    return this;
  }

  get audience(): Audience {
    return this.#asked.audience;
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

  get decisions(): NonNullable<Asked['decisions']> | null {
    return this.#asked.decisions ?? null;
  }

  skips(frame: FrameHeader, followed: string | null): boolean {
    return this.#asked.skips?.(frame, followed) ?? false;
  }

  /** No promise of its own where the stream did not ask for the mode: thousands open at once. */
  catchUp(): Promise<readonly Announcement[]> {
    if (this.#ended) return Promise.resolve([]);
    return this.#asked.wantsIsolation ? this.#withIsolation() : this.#documents();
  }

  async #withIsolation(): Promise<readonly Announcement[]> {
    const { tenantId, env } = this.#asked;
    const [isolations, documents] = await Promise.all([this.#node.isolations(tenantId), this.#documents()]);
    return [...isolations.filter((one) => one.env === env), ...documents];
  }

  /** Joins the environment's roster; the announcements of documents that the agent must receive at once. */
  async #documents(): Promise<readonly Announcement[]> {
    const joined = await this.#join(this.#bundleName);
    const due = this.#notCopied(joined.catchUp);
    // A new assignment since the admission: it may have been announced before the stream was registered.
    const moved = !this.pinned && joined.bundleName !== this.#bundleName;
    const copies = moved ? null : this.#node.updates.known(due);
    if (copies) {
      this.#sends(due);
      return copies;
    }
    return this.#read(due, moved);
  }

  /** The announcements for the agent, including those whose content must be loaded first. */
  async #read(due: readonly Deployment[], moved: boolean): Promise<readonly Announcement[]> {
    const { ports, updates } = this.#node;
    const first = moved
      ? [this.#reassigned(await ports.actors.ask('agent', this.#agentKey, 'resolve', null))]
      : [];
    const updatesDue = await Promise.all(due.map((deployment) => updates.of(deployment)));
    this.#sends(due);
    return [...first, ...updatesDue.filter((due) => due !== null)];
  }

  #sends(due: readonly Deployment[]): void {
    const at = this.#node.ports.clock.now();
    this.#sent = due.map(({ bundleName, revisionHash }) => ({ bundleName, revisionHash, at }));
  }

  async announce(followed: string | null): Promise<void> {
    if (this.#ended) return;
    const { ports } = this.#node;
    const resolution = await this.#connect();
    if (this.#ended) return;
    await this.#join(followed);
    if (this.pinned || (resolution.bundleName === followed && !this.#untold)) return;
    // The agent was reassigned while its actors were away.
    this.#untold = true;
    await ports.announcer.announce([this.#reassigned(resolution)]);
    const { bundleName, resolvedAt } = resolution;
    await ports.actors.tell('environment', this.#environmentKey, 'retarget', {
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
    const { ports, copies } = this.#node;
    const { connectionId, agentId, client } = this.#asked;
    copies.ended(client(), this.#sent, ports.clock.now());
    void leave(ports, async () => {
      await ports.actors.tell('environment', this.#environmentKey, 'leave', { connectionId, agentId });
      await ports.actors.tell('agent', this.#agentKey, 'disconnect', { connectionId });
    });
  }

  /** Leaves out recent copies of this client, if it asked for a bundle by name and did not send its version. */
  #notCopied(deployments: readonly Deployment[]): readonly Deployment[] {
    const { requested, policyVersion, resumes, client } = this.#asked;
    if (requested === null || policyVersion !== null || resumes) return deployments;
    const { copies, ports } = this.#node;
    const now = ports.clock.now();
    const name = client();
    return deployments.filter(
      ({ bundleName, revisionHash }) => !copies.has(name, bundleName, revisionHash, now),
    );
  }

  get #agentKey(): string {
    const { tenantId, env, agentId } = this.#asked;
    return agentKey(tenantId, env, agentId);
  }

  get #environmentKey(): string {
    return environmentKey(this.#asked.tenantId, this.#asked.env);
  }

  #connect(): Promise<Resolution & { readonly resolvedAt: ResolvedAt }> {
    const { connectionId, keyId, requested, policyVersion, tags, api, loadsAny } = this.#asked;
    return this.#node.ports.actors.ask('agent', this.#agentKey, 'connect', {
      connectionId,
      keyId,
      node: this.#node.id,
      requested,
      policyVersion,
      tags,
      at: this.#connectedAt,
      on: { api, loadsAny },
    });
  }

  #join(followed: string | null) {
    const { connectionId, agentId, keyId, transport, api, policyVersion } = this.#asked;
    const fetched = this.#asked.fetched?.() ?? null;
    const notice = {
      connectionId,
      node: this.#node.id,
      agentId,
      bundleName: followed,
      pinned: this.pinned,
      connectedAt: this.#connectedAt,
      keyId,
      transport,
      api,
      policyVersion,
    };
    const withFetched = fetched === null ? notice : { ...notice, fetched };
    return this.#node.ports.actors.ask('environment', this.#environmentKey, 'join', withFetched);
  }

  #reassigned({ bundleName, source }: Resolution): Announcement {
    const { tenantId, env, agentId } = this.#asked;
    return { kind: 'agentReassigned', tenantId, env, agentId, bundleName, source };
  }
}

/** Reports to the actors that a stream ended. Retries while they cannot be reached, because no one else reports it. */
async function leave(ports: StreamPorts, tell: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tell();
    } catch (error) {
      if (attempt === leaveAttempts) {
        ports.log.warn({ err: error }, 'cannot announce the end of a stream to its actors');
        return;
      }
      await pause(ports.clock, firstWaitMs * 2 ** attempt);
    }
  }
}
