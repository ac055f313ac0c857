// The bundle an agent runs, kept up to date by the hub: checked, compiled, swapped in one step, remembered on disk and
// reported. A bundle that fails any check never replaces a good one.
import { Backoff } from '../backoff.ts';
import type { Clock, Timer } from '../clock.ts';
import {
  ConfigurationError,
  HubConnectionError,
  HubResponseError,
  messageOf,
  type OnError,
} from '../failure.ts';
import { identifierPattern } from '../http.ts';
import { type FetchedBundle, type HubClient, readBundle } from '../hub.ts';
import { type IsolationMode, readIsolationMode, stricterMode } from '../rules/isolation.ts';
import { Serial } from '../serial.ts';
import { StreamFollower } from '../stream/follower.ts';
import type { StreamTransport } from '../stream/transport.ts';
import { isTracing } from '../telemetry.ts';
import type { BundleCache } from './cache.ts';
import type { Pins } from './pins.ts';
import { BundleVerifier, type Signing } from './verifier.ts';

/** A bundle in use. */
export interface AppliedBundle<T> {
  readonly bundleName: string;
  readonly version: number | null;
  /** Hex SHA-256 of its YAML bytes. */
  readonly policyVersion: string;
  readonly compiled: T;
}

export interface LiveBundleOptions<T> {
  readonly hub: HubClient;
  readonly transport: StreamTransport;
  /** @throws when the YAML is no usable bundle */
  readonly compile: (yaml: Uint8Array) => T;
  /** Null: the hub assigns one. */
  readonly bundleName: string | null;
  readonly tags: { readonly [name: string]: string };
  readonly signing: Signing;
  readonly pins: Pins;
  readonly cache: BundleCache | null;
  readonly onApplied: (bundle: AppliedBundle<T>) => void;
  /**
   * Called for a server (null: all) whose tool pins may have changed, also when the stream opens. Absent: the stream
   * does not ask for changes of tool pins.
   */
  readonly onToolPins?: ((server: string | null) => void) | undefined;
  readonly onError: OnError;
  readonly idleTimeout?: number;
}

/** Time that a start waits for the hub to assign a bundle; milliseconds. */
const assignmentWait = 30_000;
/** Time that a start waits for the hub when there is a bundle on disk; milliseconds. */
const patience = 5000;
const late = 'the hub does not answer in time';
const standIn = 'fetching the bundle; using the bundle on disk';

export class LiveBundle<T> {
  readonly #options: LiveBundleOptions<T>;
  readonly #clock: Clock;
  readonly #verifier: BundleVerifier;
  readonly #follower: StreamFollower;
  readonly #closed = new AbortController();
  #current: AppliedBundle<T> | null = null;
  /** The bundle to run: the configured name, later the assigned one. */
  #bundleName: string | null;
  /** Null until the hub or the file on disk names it. */
  #isolation: IsolationMode | null = null;
  /** `live` once a frame contained the mode: answers may be older than frames. `lost`: a later frame may be missing. */
  #isolationFrames: 'none' | 'live' | 'lost' = 'none';
  readonly #serial = new Serial();
  readonly #backoff: Backoff;
  /** The next attempt at a bundle that could not be fetched; null: none is due. */
  #retry: Timer | null = null;
  #whenApplied: () => void = () => {};
  #whenFailed: (failure: unknown) => void = () => {};
  /** The last failure, for a start that ends without a bundle. */
  #lastFailure: unknown = null;

  constructor(options: LiveBundleOptions<T>) {
    this.#options = options;
    this.#bundleName = options.bundleName;
    const { hub } = options;
    this.#clock = hub.http.clock;
    this.#backoff = new Backoff(this.#clock);
    this.#verifier = new BundleVerifier(options.signing, options.pins, hub.http);
    this.#follower = new StreamFollower({
      transport: options.transport,
      clock: this.#clock,
      url: hub.http.address('/stream'),
      headers: hub.http.headers,
      query: () => this.#query(),
      onFrame: (event, data) => this.#take(event, data),
      onOpen: () => {
        this.#catchUp();
        hub.approvals.look();
        options.onToolPins?.(null);
      },
      onError: (failure, what) => {
        this.#failed(failure, what);
        this.#whenFailed(failure);
      },
      ...(options.idleTimeout === undefined ? {} : { idleTimeout: options.idleTimeout }),
    });
  }

  get current(): AppliedBundle<T> | null {
    return this.#current;
  }

  get connected(): boolean {
    return this.#follower.connected;
  }

  /** The least isolation of programs: the hub's last mode, or the one on disk; `none` before either is known. */
  get isolation(): IsolationMode {
    return this.#isolation ?? 'none';
  }

  /**
   * Resolves once a bundle is in use: the hub's, or the one on disk when the hub is away.
   * @throws ConfigurationError
   */
  async start(): Promise<void> {
    const cached = await this.#loadCached();
    if (this.#options.bundleName === null) await this.#startAssigned(cached);
    else await this.#startNamed(this.#options.bundleName, cached);
    this.#follower.start();
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('closed'));
    this.#retry?.cancel();
    await this.#follower.close();
    await this.#serial.idle();
  }

  async #startNamed(name: string, cached: (() => void) | null): Promise<void> {
    const tooLong = new AbortController();
    const timer = cached ? this.#clock.after(patience, () => tooLong.abort(new Error(late))) : null;
    try {
      await this.#refetch(name, tooLong.signal);
    } catch (failure) {
      if (!cached || isRefusal(failure)) {
        throw new ConfigurationError(`bundle ${name} is not usable: ${messageOf(failure)}`, failure);
      }
      this.#options.onError(failure, standIn);
      cached();
    } finally {
      timer?.cancel();
    }
  }

  async #startAssigned(cached: (() => void) | null): Promise<void> {
    let timer: Timer | null = null;
    const outcome = await new Promise<'applied' | 'failed' | 'late' | 'refused'>((resolve) => {
      this.#whenApplied = () => resolve('applied');
      this.#whenFailed = (failure) => {
        if (isRefusal(failure)) resolve('refused');
        else if (cached) resolve('failed');
      };
      timer = this.#clock.after(cached ? patience : assignmentWait, () => resolve('late'), true);
      this.#closed.signal.addEventListener('abort', () => resolve('late'), { once: true });
      this.#follower.start();
    });
    (timer as Timer | null)?.cancel();
    this.#whenApplied = () => {};
    this.#whenFailed = () => {};
    if (outcome === 'applied' || this.#current) return;
    if (cached && outcome !== 'refused') {
      if (outcome === 'late') this.#options.onError(new Error(late), standIn);
      return cached();
    }
    const failure = this.#lastFailure;
    await this.close();
    if (failure === null) throw new ConfigurationError('the hub assigned no bundle within 30 seconds');
    throw new ConfigurationError(`no bundle is usable: ${messageOf(failure)}`, failure);
  }

  /** A function that puts the bundle on disk in use, or null when there is none that passes the checks. */
  async #loadCached(): Promise<(() => void) | null> {
    const { cache, onError, compile } = this.#options;
    if (!cache) return null;
    try {
      const bundle = await cache.load();
      if (!bundle) return null;
      this.#isolation = bundle.isolation ?? null;
      const policyVersion = await this.#verifier.checkCached(bundle);
      const compiled = compile(bundle.bytes);
      const { bundleName, version } = bundle;
      return () => this.#swap({ bundleName, version, policyVersion, compiled });
    } catch (failure) {
      onError(failure, 'reading the bundle on disk');
      return null;
    }
  }

  #query(): { [name: string]: string } {
    const { hub, bundleName, tags } = this.#options;
    // An agent that lets the hub assign never names a bundle: that would win over its assignment.
    const name = bundleName === null ? null : (this.#current?.bundleName ?? bundleName);
    return {
      env: hub.env,
      // Bundles of contracts and rulesets alike.
      documents: 'any',
      isolation: '1',
      ...(this.#options.onToolPins ? { pins: '1' } : {}),
      ...(isTracing() ? { trace: '1' } : {}),
      ...(name === null ? {} : { bundle_name: name }),
      ...(this.#current ? { policy_version: this.#current.policyVersion } : {}),
      ...(Object.keys(tags).length === 0 ? {} : { tags: JSON.stringify(tags) }),
    };
  }

  #take(event: string, data: { readonly [name: string]: unknown }): void {
    if (event === 'contract_update') this.#queue('a pushed bundle', () => this.#pushed(data));
    else if (event === 'assignment_changed') this.#queue('a new assignment', () => this.#assigned(data));
    else if (event === 'isolation_changed') this.#takeIsolation(readIsolationMode(data.isolation));
    else if (event === 'tool_pins_changed') {
      this.#options.onToolPins?.(typeof data.server === 'string' ? data.server : null);
    } else if (event === 'resync') {
      if (this.#isolationFrames === 'live') this.#isolationFrames = 'lost';
      this.#options.onToolPins?.(null);
      this.#queue('reconnecting the stream', () => this.#refetchLatest());
    } else if (event === 'approval_decided') {
      const { approval_id, status, decided_by, traceparent } = data;
      if (typeof approval_id !== 'string' || (status !== 'approved' && status !== 'denied')) return;
      const by = typeof decided_by === 'string' ? decided_by : null;
      const trace = typeof traceparent === 'string' ? traceparent : undefined;
      this.#options.hub.approvals.decided(approval_id, status === 'approved', by, trace);
    }
  }

  /** The mode is in force at once, and is saved after the changes before it. */
  #takeIsolation(isolation: IsolationMode): void {
    this.#isolationFrames = 'live';
    this.#isolation = isolation;
    const { cache, onError } = this.#options;
    void this.#serial
      .run(async () => cache?.saveIsolation(isolation))
      .catch((failure: unknown) => onError(failure, 'saving the isolation of programs'));
  }

  async #pushed(data: { readonly [name: string]: unknown }): Promise<void> {
    const bundle = readBundle(data, this.#bundleName ?? '');
    if (this.#options.bundleName !== null && bundle.bundleName !== this.#bundleName) return;
    // The assignment may have changed while the stream was away: then the hub sends the new bundle alone.
    if (this.#bundleName !== null) this.#bundleName = bundle.bundleName;
    await this.#apply(bundle);
  }

  async #assigned({ agent_id, bundle_name }: { readonly [name: string]: unknown }): Promise<void> {
    if (agent_id !== undefined && agent_id !== this.#options.hub.agentId) return;
    if (typeof bundle_name !== 'string' || !identifierPattern.test(bundle_name)) return;
    this.#bundleName = bundle_name;
    if (this.#current?.bundleName !== bundle_name) await this.#refetch(bundle_name);
  }

  /** After a connection opened: an assignment whose bundle could not be fetched is tried again. */
  #catchUp(): void {
    if (this.#bundleName === null || this.#current === null || this.#bundleName === this.#current.bundleName)
      return;
    this.#queue('an earlier assignment', () => this.#refetchLatest());
  }

  async #refetchLatest(): Promise<void> {
    const name = this.#bundleName ?? this.#current?.bundleName;
    if (name !== undefined) await this.#refetch(name);
  }

  async #refetch(name: string, signal?: AbortSignal): Promise<void> {
    const stop = signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal;
    const bundle = await this.#options.hub.currentBundle(name, stop);
    if (bundle.isolation !== undefined) this.#takeAnswered(bundle.isolation);
    await this.#apply({ ...bundle, bundleName: name });
  }

  /** After lost frames, an answer makes the mode stricter only: the answer may be older than the last frame. */
  #takeAnswered(isolation: IsolationMode): void {
    if (this.#isolationFrames === 'none') this.#isolation = isolation;
    else if (this.#isolationFrames === 'lost') this.#isolation = stricterMode(this.isolation, isolation);
  }

  /** @throws BundleRejectedError, or what compile throws; the bundle in use stays */
  async #apply(bundle: FetchedBundle): Promise<void> {
    const { bundleName, version } = bundle;
    const checked = await this.#verifier.check(bundle);
    const { policyVersion } = checked;
    const isCurrent =
      this.#current?.policyVersion === policyVersion && this.#current.bundleName === bundleName;
    const compiled =
      isCurrent && this.#current ? this.#current.compiled : this.#options.compile(bundle.bytes);
    this.#swap({ bundleName, version, policyVersion, compiled });
    if (bundleName === (this.#bundleName ?? bundleName)) this.#endRetries();
    await this.#verifier
      .remember(checked)
      .catch((failure: unknown) => this.#options.onError(failure, 'saving the pin of a bundle'));
    const isolation = this.#isolation;
    await this.#options.cache
      ?.save({ ...bundle, revisionHash: policyVersion, ...(isolation === null ? {} : { isolation }) })
      .catch((failure: unknown) => this.#options.onError(failure, 'saving the bundle'));
    void this.#report(bundleName, policyVersion);
  }

  async #report(bundleName: string, policyVersion: string): Promise<void> {
    try {
      await this.#options.hub.report(bundleName, policyVersion, this.#closed.signal);
    } catch (failure) {
      if (!this.#closed.signal.aborted) this.#options.onError(failure, 'reporting the applied version');
    }
  }

  #swap(bundle: AppliedBundle<T>): void {
    this.#current = bundle;
    this.#options.onApplied(bundle);
    this.#whenApplied();
  }

  /** One change at a time, in the order of their frames. */
  #queue(what: string, task: () => Promise<void>): void {
    this.#serial.run(task).catch((failure: unknown) => {
      if (this.#closed.signal.aborted) return;
      this.#failed(failure, what);
      if (isPassing(failure)) this.#retryLater(failure);
    });
  }

  /** The stream sends an assignment once, so a fetch that fails is repeated until a bundle is in use. */
  #retryLater(failure: unknown): void {
    const seconds = failure instanceof HubResponseError ? (failure.retryAfter ?? 0) : 0;
    this.#retry?.cancel();
    this.#retry = this.#clock.after(this.#backoff.next(seconds * 1000), () => {
      this.#retry = null;
      this.#queue('fetching the bundle again', () => this.#refetchLatest());
    });
  }

  #endRetries(): void {
    this.#retry?.cancel();
    this.#retry = null;
    this.#backoff.reset();
  }

  #failed(failure: unknown, what: string): void {
    this.#lastFailure = failure;
    this.#options.onError(failure, what);
  }
}

/** The hub answered, and will answer so again: the bundle on disk must not stand in for that. */
const isRefusal = (failure: unknown): boolean =>
  failure instanceof HubResponseError &&
  failure.status >= 400 &&
  failure.status < 500 &&
  failure.status !== 429;

/** No answer of the hub, or one that a repeat may change. */
const isPassing = (failure: unknown): boolean =>
  failure instanceof HubConnectionError || (failure instanceof HubResponseError && !isRefusal(failure));
