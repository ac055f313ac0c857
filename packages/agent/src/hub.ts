// The hub as an agent sees it: one client for approvals, session values, events, the current bundle and reports.
// Streams are stream/.
import { HubApprovals } from './approvals.ts';
import type { Succession } from './bundle/signature.ts';
import { HubResponseError, type RejectedEvent } from './failure.ts';
import { HttpConnection, type HttpOptions, httpChecks, identifierPattern } from './http.ts';
import { type Checks, checkOptions, milliseconds } from './options.ts';
import type { WireEvent } from './record.ts';
import { type IsolationMode, readIsolationMode } from './rules/isolation.ts';
import { HubSessionStore } from './sessions.ts';
import type { AgentManifest } from './sinks/server.ts';

/** Address of the hub, and this agent's identity there. `url` and `apiKey` are required. */
export interface HubOptions extends HttpOptions {
  /** Milliseconds between two looks at a pending approval; default 2,000. */
  readonly approvalPollInterval?: number;
}

export const hubChecks: Checks<HubOptions> = { ...httpChecks, approvalPollInterval: milliseconds };

/** Of options that are a hub's and more, those of the hub. */
export const hubOptionsOf = (options: HubOptions): HubOptions =>
  Object.fromEntries(
    Object.entries(options).filter(([name]) => Object.hasOwn(hubChecks, name)),
  ) as unknown as HubOptions;

/** A bundle as it came from the hub, not yet checked. */
export interface FetchedBundle {
  readonly bundleName: string;
  /** From 1 up; null when the hub sends none. */
  readonly version: number | null;
  /** The YAML as it was signed, at most 1 MiB. */
  readonly bytes: Buffer;
  /** As the hub states it; null when it does not. */
  readonly revisionHash: string | null;
  /** Ed25519 over the bytes, in hex or base64; null for an unsigned bundle. */
  readonly signature: string | null;
  /** Ed25519, in hex; null for an unsigned bundle. */
  readonly publicKey: string | null;
  readonly provenance: Provenance;
  /** The least isolation of programs, which came with the bundle. Absent if nothing named it. */
  readonly isolation?: IsolationMode;
}

/**
 * A hub's statements about a bundle's place in time and about the authority of its key. Null without a statement.
 */
export interface Provenance {
  readonly tenantId: string | null;
  /** Grows with every deployment of the bundle in its environment. */
  readonly sequence: number | null;
  /** As the hub writes it. */
  readonly deployedAt: string | null;
  readonly attestation: string | null;
  /** Steps from earlier signing keys to later ones, oldest first. */
  readonly successions: readonly Succession[];
}

/** Provenance of a hub that sends none. */
export const noProvenance: Provenance = {
  tenantId: null,
  sequence: null,
  deployedAt: null,
  attestation: null,
  successions: [],
};

/** Successions that are looked at: as many as a hub keeps. */
const maxSuccessions = 16;

/** Decoded bytes of a bundle may not be more than this. */
export const maxBundle = 1_048_576;

/** Sent with the current bundle where the tenant's mode is not `none`. */
const isolationHeader = 'X-Reeve-Isolation';

/** A client for a hub: approvals, session values, events, the current bundle and reports. It opens no stream. */
export class HubClient {
  readonly http: HttpConnection;
  /** Approvals that people decide in the hub. */
  readonly approvals: HubApprovals;
  /** Session values in the hub, shared by all agents of the tenant. */
  readonly sessions: HubSessionStore;
  #reports = true;

  /** @throws TypeError naming an option that cannot be */
  constructor(options: HubOptions) {
    checkOptions<HubOptions>(options, hubChecks, { required: ['url', 'apiKey'] });
    this.http = new HttpConnection(options);
    this.approvals = new HubApprovals(this.http, options.approvalPollInterval);
    this.sessions = new HubSessionStore(this.http);
  }

  /** The name this agent has at the hub. */
  get agentId(): string {
    return this.http.agentId;
  }

  /** The option `env`: the environment of the key. */
  get env(): string {
    return this.http.env;
  }

  /** Delivers one batch of events. Any 2xx is success. @returns the events of the batch that the hub does not store */
  postEvents = async (
    events: readonly WireEvent[],
    manifest?: AgentManifest,
    signal?: AbortSignal,
  ): Promise<readonly RejectedEvent[]> => {
    const shortManifest = manifest && {
      agent_id: manifest.agentId,
      policy_version: manifest.policyVersion,
      contracts: manifest.contracts,
    };
    const body = shortManifest ? { events, agent_manifest: shortManifest } : { events };
    return rejectedIn(await this.http.request('POST', '/events', { body, parse: 'leniently', signal }));
  };

  /** Tells which version of which bundle this agent now runs. Does nothing at a hub that has no such route. */
  async report(bundleName: string, policyVersion: string, signal?: AbortSignal): Promise<void> {
    if (!this.#reports) return;
    const body = { bundle_name: bundleName, policy_version: policyVersion };
    try {
      await this.http.request('POST', '/agents/report', { body, parse: false, signal });
    } catch (failure) {
      if (!(failure instanceof HubResponseError) || (failure.status !== 404 && failure.status !== 405))
        throw failure;
      this.#reports = false;
    }
  }

  /** The bundle deployed under this name in this client's environment. @throws HubResponseError, HubConnectionError */
  async currentBundle(name: string, signal?: AbortSignal): Promise<FetchedBundle> {
    if (!identifierPattern.test(name))
      throw new TypeError('the bundle name must be letters, digits, dots, _ and -');
    const path = `/bundles/${encodeURIComponent(name)}/current?env=${encodeURIComponent(this.env)}`;
    const { body, headers } = await this.http.exchange('GET', path, { signal });
    const isolation = headers.get(isolationHeader);
    const bundle = readBundle(body, name);
    return isolation === null ? bundle : { ...bundle, isolation: readIsolationMode(isolation) };
  }
}

/**
 * A bundle out of the answer of /current or a contract_update frame.
 * @throws Error when it has no usable YAML
 */
export function readBundle(body: unknown, fallbackName: string): FetchedBundle {
  const record = (typeof body === 'object' && body !== null ? body : {}) as {
    readonly [name: string]: unknown;
  };
  const text = (name: string): string | null => {
    const value = record[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const encoded = text('yaml_bytes');
  const plain = text('yaml');
  if (encoded === null && plain === null) throw new Error('the bundle has no yaml_bytes');
  const bytes = encoded === null ? Buffer.from(plain ?? '', 'utf8') : Buffer.from(encoded, 'base64');
  if (bytes.length === 0 || bytes.length > maxBundle)
    throw new Error(`a bundle with ${bytes.length} bytes is not usable`);
  return {
    bundleName: text('bundle_name') ?? text('name') ?? fallbackName,
    version: typeof record.version === 'number' ? record.version : null,
    bytes,
    revisionHash: text('revision_hash'),
    signature: text('signature_hex') ?? text('signature'),
    publicKey: text('public_key'),
    provenance: {
      tenantId: text('tenant_id'),
      sequence: Number.isSafeInteger(record.sequence) ? Number(record.sequence) : null,
      deployedAt: text('deployed_at'),
      attestation: text('attestation'),
      successions: successionsOf(record.key_succession),
    },
  };
}

function successionsOf(value: unknown): readonly Succession[] {
  if (!Array.isArray(value)) return [];
  return value.slice(-maxSuccessions).flatMap((one: unknown) => {
    const fields = (typeof one === 'object' && one !== null ? one : {}) as {
      readonly [name: string]: unknown;
    };
    const { previous_key: previousKey, public_key: publicKey, rotated_at: rotatedAt, signature } = fields;
    const texts = [previousKey, publicKey, rotatedAt, signature].every((field) => typeof field === 'string');
    return texts ? [{ previousKey, publicKey, rotatedAt, signature } as Succession] : [];
  });
}

/** Of the answer to a batch; empty for a hub that lists none. */
function rejectedIn(answer: unknown): readonly RejectedEvent[] {
  const { rejected } = (answer ?? {}) as { readonly rejected?: unknown };
  if (!Array.isArray(rejected)) return [];
  return rejected.map((item): RejectedEvent => {
    const { call_id: callId, code, detail } = (item ?? {}) as { readonly [name: string]: unknown };
    return {
      callId: typeof callId === 'string' ? callId : null,
      code: String(code ?? ''),
      detail: String(detail ?? ''),
    };
  });
}
