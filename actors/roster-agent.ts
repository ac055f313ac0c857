// One agent as the roster of its environment keeps it: its streams, what it reported and fetched, and how it stands by
// that. Pure.

import { type DriftStatus, driftOf, type StreamTransport } from '../src/agent/record.ts';
import type { FetchedRuleset } from '../src/agent/rules/fetched-ruleset.ts';
import type { DocumentKind } from '../src/contract/record.ts';
import type { Deployment } from '../src/deployment/record.ts';
import { keepNewest } from '../src/shared/concurrency/keep-newest.ts';
import type { AgentApi } from '../src/shared/vocabulary.ts';
import type { ResolvedAt, StatusPlace, StreamNotice } from './protocol.ts';

/** Fields that are equal for many streams: those of a fleet share one object. */
export interface RosterTerms {
  readonly node: string;
  readonly pinned: boolean;
  readonly keyId: string;
  readonly transport: StreamTransport;
  readonly api: AgentApi;
  /** Epoch milliseconds near the time when their first stream connected. */
  readonly since: number;
}

/** A class, because a large fleet keeps one per stream: what is equal for many lies in the terms. */
export class RosterStream {
  readonly id: string;
  bundleName: string | null;
  readonly #terms: RosterTerms;
  /** Milliseconds after the terms' time: a small number, where epoch milliseconds would be an object each. */
  readonly #connectedAfter: number;

  constructor(id: string, bundleName: string | null, connectedAt: number, terms: RosterTerms) {
    this.id = id;
    this.bundleName = bundleName;
    this.#terms = terms;
    this.#connectedAfter = Math.floor(connectedAt - terms.since);
  }

  /** Epoch milliseconds. */
  get connectedAt(): number {
    return this.#terms.since + this.#connectedAfter;
  }

  get node(): string {
    return this.#terms.node;
  }

  get pinned(): boolean {
    return this.#terms.pinned;
  }

  get keyId(): string {
    return this.#terms.keyId;
  }

  get transport(): StreamTransport {
    return this.#terms.transport;
  }

  get api(): AgentApi {
    return this.#terms.api;
  }

  /** The fields as those of a plain object, in which a message carries them. */
  get fields() {
    const { id, bundleName, connectedAt } = this;
    const { since: _, ...terms } = this.#terms;
    return { id, bundleName, connectedAt, ...terms };
  }
}

/** Terms that are remembered. The oldest go first. */
const maxTerms = 1000;

export class SharedRosterTerms {
  readonly #byName = new Map<string, RosterTerms>();
  #last: RosterTerms | null = null;

  /** The terms of a stream, as an object of their own or of an earlier stream. */
  of(notice: StreamNotice): RosterTerms {
    const last = this.#last;
    // Thousands join one after another on the same terms.
    const isSame =
      last?.node === notice.node &&
      last.keyId === notice.keyId &&
      last.pinned === notice.pinned &&
      last.transport === transportOf(notice) &&
      last.api === apiOf(notice);
    if (last && isSame) return last;
    this.#last = this.#remembered(notice);
    return this.#last;
  }

  #remembered(notice: StreamNotice): RosterTerms {
    const { node, pinned, keyId, connectedAt } = notice;
    const [transport, api] = [transportOf(notice), apiOf(notice)];
    const name = [node, pinned, keyId, transport, api].join('/');
    let terms = this.#byName.get(name);
    if (terms) return terms;
    terms = { node, pinned, keyId, transport, api, since: Math.floor(connectedAt) };
    this.#byName.set(name, terms);
    keepNewest(this.#byName, maxTerms);
    return terms;
  }
}

export interface ReportedVersion {
  readonly bundleName: string | null;
  readonly policyVersion: string;
  readonly at: number;
  /** When the first report of this version came, as far as this activation knows. Default: `at`. */
  readonly since?: number;
}

/** Rulesets that an agent fetched with one API key. */
export interface Fetches {
  readonly keyId: string;
  readonly fetched: FetchedRuleset;
  /** The one name that counts; null: several do. */
  readonly bundleName: string | null;
}

/** A list as its only item, or as an array: nearly every agent has one stream and one version. */
type Packed<T> = T | readonly T[];

const packed = <T extends object>(list: readonly T[]): Packed<T> =>
  (list.length === 1 ? list[0] : undefined) ?? list;

const unpacked = <T extends object>(list: Packed<T>): readonly T[] =>
  Array.isArray(list) ? list : [list as T];

// One of each for all agents: an empty array takes 32 bytes.
const noFetches: readonly Fetches[] = [];
const noVersions: readonly ReportedVersion[] = [];
const noStreams: readonly RosterStream[] = [];

/** Lists are replaced, not grown, because a list that grows reserves room for many. */
export class RosterAgent {
  /** Newest first. */
  fetches = noFetches;
  /** The last retarget, for a stream whose join was on its way when it came. */
  assigned: {
    readonly bundleName: string | null;
    readonly at: number;
    readonly resolvedAt: ResolvedAt;
  } | null = null;
  #streams: Packed<RosterStream> = noStreams;
  #versions: Packed<ReportedVersion> = noVersions;

  /** Oldest first. */
  get streams(): readonly RosterStream[] {
    return unpacked(this.#streams);
  }

  set streams(streams: readonly RosterStream[]) {
    this.#streams = packed(streams);
  }

  /** One per bundle, newest report each. */
  get versions(): readonly ReportedVersion[] {
    return unpacked(this.#versions);
  }

  set versions(versions: readonly ReportedVersion[]) {
    this.#versions = packed(versions);
  }
}

/** True for a node that died with its streams. */
export type IsGone = (node: string) => boolean;

export type CurrentVersions = ReadonlyMap<
  string,
  Pick<Deployment, 'revisionHash' | 'version'> &
    Partial<Pick<Deployment, 'createdAt'>> & { readonly documentKind?: DocumentKind | null }
>;

/**
 * Bundle that a stream counts as running: the followed bundle, else the one document that its agent fetched with the
 * same key. Null: any bundle of the environment.
 */
export const followed = ({ fetches }: RosterAgent, { bundleName, keyId }: RosterStream): string | null =>
  bundleName ?? (fetches.find((one) => one.keyId === keyId)?.bundleName || null);

/** The stream that connected last. */
export function newestOf(streams: readonly RosterStream[], isGone: IsGone): RosterStream | null {
  let newestStream: RosterStream | null = null;
  for (const stream of streams) {
    if ((newestStream === null || stream.connectedAt >= newestStream.connectedAt) && !isGone(stream.node))
      newestStream = stream;
  }
  return newestStream;
}

/**
 * The version that counts for a stream: the newest report for its bundle or for none in particular. Without one, the
 * newest report of any bundle counts, because an agent that still runs another bundle has drifted.
 */
export const newest = (versions: readonly ReportedVersion[], bundleName: string | null): string | null =>
  newestReport(versions, bundleName)?.policyVersion ?? null;

/** The report of that version. */
export function newestReport(
  versions: readonly ReportedVersion[],
  bundleName: string | null,
): ReportedVersion | null {
  // Counting a fleet looks at each agent: most have reported nothing, or one version.
  if (versions.length === 0) return null;
  const own = versions.filter((version) => version.bundleName === bundleName || version.bundleName === null);
  const candidates = bundleName === null || own.length === 0 ? versions : own;
  let newestVersion: ReportedVersion | null = null;
  for (const version of candidates)
    if (!newestVersion || version.at >= newestVersion.at) newestVersion = version;
  return newestVersion;
}

/**
 * Since when an agent runs another version than the one that it should run: the later of when that one became its, and
 * when the first report of the other one came. Null while it is current, and where nothing is deployed for it.
 */
export function driftSince(
  { versions, assigned }: RosterAgent,
  bundleName: string | null,
  deployed: CurrentVersions,
): number | null {
  const report = newestReport(versions, bundleName);
  const status = statusOf(report?.policyVersion ?? null, bundleName, deployed);
  if (status === 'current' || report === null) return null;
  const due = bundleName === null ? [...deployed.values()] : [deployed.get(bundleName)];
  const deployedAt = Math.max(...due.map((deployment) => deployment?.createdAt ?? Number.NEGATIVE_INFINITY));
  if (!Number.isFinite(deployedAt)) return null;
  return Math.max(deployedAt, assigned?.at ?? deployedAt, report.since ?? report.at);
}

/** Drift per bundle; a stream that follows all is current when any deployed bundle has its version. */
export function statusOf(
  version: string | null,
  bundleName: string | null,
  deployed: CurrentVersions,
): DriftStatus {
  if (bundleName !== null) return driftOf(version, deployed.get(bundleName)?.revisionHash ?? null);
  let any: string | null = null;
  for (const { revisionHash } of deployed.values()) {
    if (revisionHash === version) return 'current';
    any = revisionHash;
  }
  return driftOf(version, any);
}

/** The vocabulary of what a stream is to load; null when it runs it, or that is not the same for all it follows. */
export function kindToLoad(
  version: string | null,
  bundleName: string | null,
  deployed: CurrentVersions,
): DocumentKind | null {
  let kind: DocumentKind | null = null;
  const own = bundleName === null ? undefined : deployed.get(bundleName);
  for (const one of bundleName === null ? deployed.values() : own ? [own] : []) {
    const documentKind = one.documentKind ?? null;
    if (one.revisionHash === version || documentKind === null || (kind !== null && kind !== documentKind))
      return null;
    kind = documentKind;
  }
  return kind;
}

/** Texts of the program: a message that was read holds a copy of its own for each stream. */
const transportOf = ({ transport }: StreamNotice): RosterStream['transport'] =>
  transport === 'sse' ? 'sse' : 'websocket';
const apiOf = ({ api }: StreamNotice): RosterStream['api'] => (api === 'console' ? 'console' : 'hosted');

export const comparePlaces = (one: StatusPlace, other: StatusPlace): number =>
  compareTexts(one.agentId, other.agentId) ||
  one.connectedAt - other.connectedAt ||
  compareTexts(one.streamId, other.streamId);

export const compareTexts = (one: string, other: string): number =>
  one === other ? 0 : one < other ? -1 : 1;

export const isBefore = (one: ResolvedAt, other: ResolvedAt): boolean =>
  one.epoch === other.epoch ? one.at < other.at : one.epoch < other.epoch;

export interface RosterBounds {
  /**
   * Agents without a stream whose versions are remembered; 20,000 by default. Those that left or reported longest ago
   * go first.
   */
  readonly absent?: number;
  /** Bundles per agent whose versions are remembered; 8 by default. */
  readonly versions?: number;
}

/** Bundle that an agent must follow from now on. */
export interface Assignment {
  readonly agentId: string;
  readonly bundleName: string | null;
  /** It may have a stream that this roster does not know yet. */
  readonly connected?: boolean;
  readonly resolvedAt: ResolvedAt;
}
