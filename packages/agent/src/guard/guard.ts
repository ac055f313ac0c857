// The guard: an agent's one object. Holds the contracts in use, the run's counters and the sinks, and puts every call through them.
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { systemClock } from '../clock.ts';
import { ConfigurationError, type OnError } from '../failure.ts';
import type { GuardMode, Principal } from '../record.ts';
import { toolNameProblem } from '../rules/evaluate/call.ts';
import { globMatch } from '../rules/evaluate/glob.ts';
import { createRedaction, type Redaction } from '../rules/redact.ts';
import { MemorySessionStore, type SessionStore } from '../sessions.ts';
import { CollectingSink } from '../sinks/collecting.ts';
import { FileSink, StdoutSink } from '../sinks/line.ts';
import { ServerSink } from '../sinks/server.ts';
import { CompositeSink, type Sink } from '../sinks/sink.ts';
import { installedTelemetry, noTelemetry, type Telemetry, telemetryOf } from '../telemetry.ts';
import type { Governs, RunOptions, ToolArgs } from './call.ts';
import { connectGuard } from './connect.ts';
import { compilePolicy, type YamlSource } from './language.ts';
import type { ConnectOptions, GuardOptions } from './options.ts';
import type { DryRun, Policy } from './policy.ts';
import { GovernedCall } from './run.ts';

/** What a dry run is asked with, besides tool and arguments. */
export interface EvaluateOptions {
  readonly principal?: Principal | null;
  readonly environment?: string;
  readonly metadata?: { readonly [name: string]: unknown };
  /** The folder the tool would run in, for sandboxes. Over the guard's. */
  readonly cwd?: string;
  /** The tool's result; without it, post contracts are not asked. */
  readonly output?: unknown;
}

/** Where a guard says what its owner should know, unless the owner wants to hear it elsewhere. */
const notice = (message: string): void =>
  process.emitWarning(message, { type: 'ReeveWarning', code: 'REEVE_BUILT_IN_LIMIT' });

/** A guard keeps the counts of this many runs for `call_index`. */
const maxRuns = 10_000;

export class Guard implements Governs {
  /** The newest records of this guard, in memory. */
  readonly events: CollectingSink;
  readonly sessionId: string;
  readonly #options: GuardOptions;
  readonly #onError: OnError;
  readonly #sink: Sink;
  readonly #sessions: SessionStore;
  readonly #telemetry: Promise<Telemetry>;
  readonly #redaction: Redaction;
  readonly #parent = new AsyncLocalStorage<string>();
  readonly #callCounts = new Map<string, number>();
  readonly #closers: (() => Promise<void>)[] = [];
  #policy: Policy;

  /** Use `fromYaml`, `fromFile` or `connect`. */
  private constructor(policy: Policy, options: GuardOptions, remote: boolean) {
    this.#policy = policy;
    this.#options = options;
    this.#onError = options.onError ?? (() => {});
    const keyPrefix = options.hub?.http.keyPrefix ?? null;
    this.#redaction = createRedaction({
      ...(keyPrefix === null ? {} : { keyPrefixes: [keyPrefix] }),
      ...options.redaction,
    });
    this.sessionId = options.sessionId ?? randomUUID();
    this.events = new CollectingSink(options.maxEvents);
    this.#sessions = options.sessions ?? new MemorySessionStore();
    this.#sink = new CompositeSink([this.events, ...this.#sinksOf(options, remote)]);
    const { openTelemetry } = options;
    if (openTelemetry === undefined) this.#telemetry = installedTelemetry();
    else this.#telemetry = Promise.resolve(openTelemetry ? telemetryOf(openTelemetry) : noTelemetry);
  }

  /**
   * A guard over one YAML document, or over several in layers: later ones win, `observe_alongside` ones only record.
   * @throws ConfigurationError naming every problem
   */
  static fromYaml(yaml: YamlSource | readonly YamlSource[], options: GuardOptions = {}): Guard {
    return new Guard(compilePolicy(yaml, options), options, false);
  }

  /** A guard over a YAML file, or over several in layers, read once. @throws ConfigurationError */
  static async fromFile(path: string | readonly string[], options: GuardOptions = {}): Promise<Guard> {
    const layers = [path].flat().map((one) =>
      readFile(one).catch((failure: unknown) => {
        throw new ConfigurationError(`the contracts in ${one} cannot be read`, failure);
      }),
    );
    return Guard.fromYaml(await Promise.all(layers), options);
  }

  /** A guard over the bundle that a hub deploys, kept up to date by it. Must be closed. @throws ConfigurationError */
  static async connect(options: ConnectOptions): Promise<Guard> {
    return connectGuard(options, (policy, own) => {
      const guard = new Guard(policy, own, true);
      return {
        guard,
        swap: (next) => {
          guard.#policy = next;
        },
        onClose: (close) => guard.#closers.push(close),
      };
    });
  }

  /** Hex SHA-256 of the contracts in use. */
  get policyVersion(): string {
    return this.#policy.version;
  }

  /** The name in the contracts' metadata, or the one the hub deployed them under. */
  get bundleName(): string {
    return this.#policy.name;
  }

  get mode(): GuardMode {
    return this.#options.mode ?? this.#policy.bundle.mode;
  }

  /** Puts other contracts in use; calls under way end by the old ones. @throws ConfigurationError, and the old ones stay */
  reload(yaml: YamlSource | readonly YamlSource[]): void {
    this.#policy = compilePolicy(yaml, this.#options);
  }

  /**
   * Puts one call of a tool through the contracts and, when they allow it, calls `fn` with a copy of the arguments.
   * @returns what `fn` returned, or its text as post contracts left it
   * @throws DeniedError when the call is denied; whatever `fn` throws; TypeError for a tool name or arguments no rule can judge;
   * storage failures of the counters
   */
  async run<A extends object, R>(
    tool: string,
    args: A,
    fn: (args: A) => R | PromiseLike<R>,
    options: RunOptions<R> = {},
  ): Promise<R | string> {
    const seen = plainCopy(tool, args);
    const runId = options.sessionId ?? this.sessionId;
    const own = this.#options;
    const place = {
      runId,
      callIndex: this.#nextIndex(runId),
      parentCallId:
        options.parentCallId !== undefined ? options.parentCallId : (this.#parent.getStore() ?? null),
      environment: options.environment ?? this.#environment,
      principal: options.principal !== undefined ? options.principal : (own.principal ?? null),
    };
    const parts = {
      policy: this.#policy,
      currentPolicy: () => this.#policy,
      mode: this.mode,
      hooks: own.hooks ?? [],
      contracts: own.contracts ?? [],
      matches: globMatch,
      sessions: this.#sessions,
      approvals: own.approvals ?? own.hub?.approvals ?? null,
      within: <T>(callId: string, task: () => T): T => this.#parent.run(callId, task),
      sink: this.#sink,
      redaction: this.#redaction,
      telemetry: await this.#telemetry,
      clock: own.clock ?? systemClock,
      onError: this.#onError,
      onNotice: own.onNotice ?? notice,
      strict: own.strictAudit ?? false,
    };
    return new GovernedCall<A, R>(parts, place, tool, seen, options).run(fn);
  }

  /**
   * What the contracts of the document would say, all of them: nothing is run, counted, asked or recorded.
   * Hooks and contracts as code are not asked. @throws TypeError as `run`
   */
  evaluate(tool: string, args: ToolArgs, options: EvaluateOptions = {}): DryRun {
    const call = {
      tool,
      args: plainCopy(tool, args),
      environment: options.environment ?? this.#environment,
      principal: options.principal !== undefined ? options.principal : (this.#options.principal ?? null),
      metadata: options.metadata ?? {},
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    };
    return this.#policy.dryRun(call, options.output);
  }

  /** Ends the connection to the hub, delivers what sinks hold and closes them. @throws AggregateError of what failed */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of [...this.#closers.splice(0), async () => this.#sink.close?.()]) {
      await close().catch((failure: unknown) => failures.push(failure));
    }
    if (failures.length > 0) throw new AggregateError(failures, 'closing the guard left something undone');
  }

  get #environment(): string {
    return this.#options.environment ?? this.#options.hub?.env ?? 'production';
  }

  #nextIndex(runId: string): number {
    const index = this.#callCounts.get(runId) ?? 0;
    this.#callCounts.delete(runId);
    this.#callCounts.set(runId, index + 1);
    const oldest = this.#callCounts.keys().next();
    if (this.#callCounts.size > maxRuns && !oldest.done) this.#callCounts.delete(oldest.value);
    return index;
  }

  #sinksOf(options: GuardOptions, remote: boolean): Sink[] {
    const sinks: Sink[] = [];
    const { hub } = options;
    if (hub) {
      sinks.push(
        new ServerSink({
          post: hub.postEvents,
          agentId: hub.agentId,
          bundleName: () => this.#policy.name,
          // The hub knows the contracts it deployed itself.
          manifest: () => (remote ? null : this.#policy.manifest(hub.agentId)),
          clock: options.clock ?? hub.http.clock,
          onError: this.#onError,
          ...(options.spoolFile === undefined ? {} : { spoolFile: options.spoolFile }),
        }),
      );
    }
    // Only contracts of the agent's own may name a file on its disk.
    const { file, stdout } = this.#policy.observability;
    if (!remote && file !== null) sinks.push(new FileSink(file));
    if (!remote && stdout) sinks.push(new StdoutSink());
    return [...sinks, ...(options.sinks ?? [])];
  }
}

/** A copy that nobody can change while the call waits. @throws TypeError */
function plainCopy<A extends object>(tool: string, args: A): A {
  const problem = toolNameProblem(tool);
  if (problem) throw new TypeError(problem);
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new TypeError('the arguments must be an object');
  }
  try {
    return structuredClone(args);
  } catch (failure) {
    throw new TypeError('the arguments must be plain data', { cause: failure });
  }
}
