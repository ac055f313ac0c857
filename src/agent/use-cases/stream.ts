// An agent's stream as the edge sees it: announced to its actors at the start, when they ask again, and at the end.
// Owns no socket.
import { agentKey, environmentKey, type ResolvedAt } from '../../../actors/protocol.ts';
import { callerNames, type KeyHolder } from '../../admission/caller-name.ts';
import type { Deployment } from '../../deployment/record.ts';
import type { SentCopies, SentCopy } from '../../deployment/use-cases/sent-copies.ts';
import type { Updates } from '../../deployment/use-cases/updates.ts';
import type { Announcement, AnnouncementOf } from '../../shared/announcement.ts';
import type { Audience, DecisionSource, FrameHeader } from '../../shared/frame.ts';
import { pause } from '../../shared/ports/clock.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { AgentApi } from '../../shared/vocabulary.ts';
import type { Resolution } from '../rules/assignment.ts';
import type { StreamRequest, StreamTerms } from './stream-terms.ts';

const seenOnApi = (api: AgentApi) =>
  ({ loadsAny: { api, loadsAny: true }, loadsOwn: { api, loadsAny: false } }) as const;
/** One object for all streams that are equal in this: a message to the store contains it once. */
const seenOn = { console: seenOnApi('console'), hosted: seenOnApi('hosted') };

type SentDeployments = Deployment | readonly Deployment[] | null;

const leaveAttempts = 6;
const firstWaitMs = 250;

export type StreamPorts = Pick<AppPorts, 'actors' | 'announcer' | 'clock' | 'log'>;

/** State that all streams of a node share. */
export interface StreamNode {
  readonly ports: StreamPorts;
  /** As actors know it. */
  readonly id: string;
  readonly updates: Updates;
  readonly copies: SentCopies;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /**
   * The tenant's mode of isolation, announced to each environment. Read after the call, so that a stream that is
   * already registered misses no change; streams that open together share a reading.
   */
  isolations(tenantId: string): Promise<readonly AnnouncementOf<'isolationChanged'>[]>;
}

/** A class, and names made when they are needed, because there may be tens of thousands. */
export class AgentStream {
  readonly #node: StreamNode;
  readonly #terms: StreamTerms;
  readonly #client: KeyHolder;
  readonly #connectionId: string;
  readonly agentId: string;
  /** Milliseconds after the node's start: a small number, where epoch milliseconds would be an object each. */
  readonly #connectedAfter: number;
  #bundleName: string | null = null;
  #ended = false;
  /** Deployments that it was sent when it opened: nearly always one. */
  #sent: SentDeployments = null;
  /** When that was, in milliseconds after the node's start. */
  #sentAfter = 0;
  /**
   * True if the agent may have received a new assignment that its environment has not: announced again, though the
   * stream follows it by then.
   */
  #untold = false;

  /** @param terms equal to those of the request */
  constructor(node: StreamNode, request: StreamRequest, terms: StreamTerms = request) {
    this.#node = node;
    this.#terms = terms;
    this.#client = request.client;
    this.#connectionId = request.connectionId;
    this.agentId = request.agentId;
    this.#connectedAfter = elapsedMs(node);
  }

  /** Tells the agent's actor; from then on `bundleName` is known. To be awaited before anything else. */
  async admit(): Promise<this> {
    this.#bundleName = (await this.#connect()).bundleName;
    return this;
  }

  get audience(): Audience {
    return this.#terms.audience;
  }

  get keyId(): string {
    return this.#client.keyId;
  }

  get bundleName(): string | null {
    return this.#bundleName;
  }

  get pinned(): boolean {
    return this.#terms.requested !== null;
  }

  get decisions(): DecisionSource | null {
    return this.#terms.decisions ?? null;
  }

  skips(frame: FrameHeader, followed: string | null): boolean {
    return this.#terms.skips?.(frame, followed, this) ?? false;
  }

  /** No promise of its own where the stream did not ask for the mode: thousands open at once. */
  catchUp(): Promise<readonly Announcement[]> {
    if (this.#ended) return Promise.resolve([]);
    return this.#terms.wantsIsolation ? this.#withIsolation() : this.#documents();
  }

  async #withIsolation(): Promise<readonly Announcement[]> {
    const { tenantId, env } = this.#terms;
    const [isolations, documents] = await Promise.all([this.#node.isolations(tenantId), this.#documents()]);
    return [...isolations.filter((one) => one.env === env), ...documents];
  }

  /** Joins the environment's roster; the announcements of documents that the agent must receive at once. */
  async #documents(): Promise<readonly Announcement[]> {
    const joined = await this.#join(this.#bundleName);
    const due = this.#notCopied(joined.catchUp);
    // A new assignment since the admission: it may have been announced before the stream was registered.
    const moved = !this.pinned && joined.bundleName !== this.#bundleName;
    const copies = moved ? null : this.#node.updates.getCached(due);
    if (copies) {
      this.#sends(copies);
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
    const loaded = await Promise.all(due.map((deployment) => updates.get(deployment)));
    const updatesDue = loaded.filter((one) => one !== null);
    this.#sends(updatesDue);
    return [...first, ...updatesDue];
  }

  /** Keeps the deployments of the node's updates, which all streams share. */
  #sends(updates: readonly AnnouncementOf<'deploymentDue'>[]): void {
    const [first] = updates;
    if (!first) return;
    this.#sentAfter = elapsedMs(this.#node);
    this.#sent = updates.length === 1 ? first.deployment : updates.map(({ deployment }) => deployment);
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
    const { agentId } = this;
    const connectionId = this.#connectionId;
    copies.ended(clientName(this.#client), this.#copies(), ports.clock.now());
    void leave(ports, async () => {
      await ports.actors.tell('environment', this.#environmentKey, 'leave', { connectionId, agentId });
      await ports.actors.tell('agent', this.#agentKey, 'disconnect', { connectionId });
    });
  }

  #copies(): readonly SentCopy[] {
    const sent = this.#sent ?? [];
    const at = this.#node.startedAt + this.#sentAfter;
    return (isList(sent) ? sent : [sent]).map(({ bundleName, revisionHash }) => ({
      bundleName,
      revisionHash,
      at,
    }));
  }

  /** Leaves out recent copies of this client, if it asked for a bundle by name and did not send its version. */
  #notCopied(deployments: readonly Deployment[]): readonly Deployment[] {
    const { requested, policyVersion, resumes } = this.#terms;
    if (requested === null || policyVersion !== null || resumes) return deployments;
    const { copies, ports } = this.#node;
    const now = ports.clock.now();
    const name = clientName(this.#client);
    return deployments.filter(
      ({ bundleName, revisionHash }) => !copies.has(name, bundleName, revisionHash, now),
    );
  }

  get #connectedAt(): number {
    return this.#node.startedAt + this.#connectedAfter;
  }

  get #agentKey(): string {
    return agentKey(this.#terms.tenantId, this.#terms.env, this.agentId);
  }

  get #environmentKey(): string {
    return environmentKey(this.#terms.tenantId, this.#terms.env);
  }

  #connect(): Promise<Resolution & { readonly resolvedAt: ResolvedAt }> {
    const { requested, policyVersion, tags, api, loadsAny } = this.#terms;
    return this.#node.ports.actors.ask('agent', this.#agentKey, 'connect', {
      connectionId: this.#connectionId,
      keyId: this.keyId,
      node: this.#node.id,
      requested,
      policyVersion,
      tags,
      at: this.#connectedAt,
      on: seenOn[api][loadsAny ? 'loadsAny' : 'loadsOwn'],
    });
  }

  #join(followed: string | null) {
    const { transport, api, policyVersion, fetched: fetchedOf } = this.#terms;
    const fetched = fetchedOf?.(this) ?? null;
    const notice = {
      connectionId: this.#connectionId,
      node: this.#node.id,
      agentId: this.agentId,
      bundleName: followed,
      pinned: this.pinned,
      connectedAt: this.#connectedAt,
      keyId: this.keyId,
      transport,
      api,
      policyVersion,
    };
    const withFetched = fetched === null ? notice : { ...notice, fetched };
    return this.#node.ports.actors.ask('environment', this.#environmentKey, 'join', withFetched);
  }

  #reassigned({ bundleName, source }: Resolution): Announcement {
    const { tenantId, env } = this.#terms;
    return { kind: 'agentReassigned', tenantId, env, agentId: this.agentId, bundleName, source };
  }
}

/** Rounded, because only whole numbers are small. */
const elapsedMs = ({ ports, startedAt }: StreamNode): number => Math.floor(ports.clock.now() - startedAt);

const isList = (sent: Deployment | readonly Deployment[]): sent is readonly Deployment[] =>
  Array.isArray(sent);

/** API key, agent id and client address in one name. */
const clientName = (client: KeyHolder): string =>
  callerNames.streamsOf({
    kind: 'key',
    keyId: client.keyId,
    agentId: client.agentId,
    network: client.network,
  }) ?? '';

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
