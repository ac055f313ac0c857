// The terms of agents' streams: the part of a request that is the same for a whole fleet, kept once.

import type { KeyHolder } from '../../admission/caller-name.ts';
import { keepNewest } from '../../shared/concurrency/keep-newest.ts';
import type { Audience, DecisionSource, FrameHeader } from '../../shared/frame.ts';
import type { Env } from '../../shared/ids.ts';
import type { AgentApi } from '../../shared/vocabulary.ts';
import type { StreamTransport, Tags } from '../record.ts';
import type { FetchedRuleset } from '../rules/fetched-ruleset.ts';
import type { Fetcher } from './fetched-rulesets.ts';

export interface StreamTerms {
  readonly tenantId: string;
  readonly env: Env;
  readonly transport: StreamTransport;
  readonly api: AgentApi;
  /** True if the client declared that it loads documents of either vocabulary. */
  readonly loadsAny: boolean;
  /** True if the client asked for the tenant's mode of isolation. */
  readonly wantsIsolation: boolean;
  /** The bundle that the client asked for by name. */
  readonly requested: string | null;
  readonly policyVersion: string | null;
  readonly tags: Tags;
  /** True if the client named the last frame that it received. */
  readonly resumes: boolean;
  /** Audience whose frames the stream receives. */
  readonly audience: Audience;
  /**
   * True for a frame of its audience that is not for it all the same.
   * @param followed the bundle it follows at that time; null: gets all
   */
  readonly skips: ((frame: FrameHeader, followed: string | null, by: Fetcher) => boolean) | null;
  /** The recorded fetches of the agent, if they show its running version. */
  readonly fetched?: ((by: Fetcher) => FetchedRuleset | null) | null;
  /** Decision events that come between the frames of its audience. */
  readonly decisions?: DecisionSource | null;
}

/** The client's request for the stream. */
export interface StreamRequest extends StreamTerms {
  readonly agentId: string;
  readonly connectionId: string;
  /** The API key that opened it, with the agent id and the client address as limits count them. */
  readonly client: KeyHolder;
}

/** Terms that are remembered for a tenant. */
const maxPerTenant = 64;
const maxTenants = 1000;

/** Streams with equal terms share one object: a fleet opens ten thousand streams on the same few. */
export class SharedTerms {
  /** Newest first. The tenant that came first goes first. */
  readonly #byTenant = new Map<string, readonly StreamTerms[]>();

  /** The terms of the request, as an object of their own or of an earlier stream. */
  of(request: StreamTerms): StreamTerms {
    // Tags may be large, and are seldom those of others: they go with their stream.
    if (Object.keys(request.tags).length > 0) return termsOf(request);
    const earlier = this.#byTenant.get(request.tenantId) ?? [];
    const shared = earlier.find((terms) => areEqual(terms, request));
    if (shared) return shared;
    const terms = termsOf(request);
    this.#byTenant.set(request.tenantId, [terms, ...earlier].slice(0, maxPerTenant));
    keepNewest(this.#byTenant, maxTenants);
    return terms;
  }
}

const termsOf = (request: StreamTerms): StreamTerms => ({
  tenantId: request.tenantId,
  env: request.env,
  transport: request.transport,
  api: request.api,
  loadsAny: request.loadsAny,
  wantsIsolation: request.wantsIsolation,
  requested: request.requested,
  policyVersion: request.policyVersion,
  tags: request.tags,
  resumes: request.resumes,
  audience: request.audience,
  skips: request.skips,
  fetched: request.fetched ?? null,
  decisions: request.decisions ?? null,
});

/** Of streams without tags. The audience of decision events determines their form. */
const areEqual = (one: StreamTerms, other: StreamTerms): boolean =>
  one.env === other.env &&
  one.transport === other.transport &&
  one.api === other.api &&
  one.loadsAny === other.loadsAny &&
  one.wantsIsolation === other.wantsIsolation &&
  one.requested === other.requested &&
  one.policyVersion === other.policyVersion &&
  one.resumes === other.resumes &&
  one.audience === other.audience &&
  one.skips === other.skips &&
  one.fetched === (other.fetched ?? null) &&
  one.decisions?.audience === other.decisions?.audience;
