// The guard: an agent's one object. Holds the contracts in use, the run's counters and the sinks, and puts every call
// through them.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ApprovalBackend } from '../approvals.ts';
import { type Clock, inTime, systemClock } from '../clock.ts';
import { BufferFullError, type OnError } from '../failure.ts';
import type { GuardMode } from '../record.ts';
import { toolNameProblem } from '../rules/evaluate/call.ts';
import { globMatch } from '../rules/evaluate/glob.ts';
import { type IsolationMode, stricterMode } from '../rules/isolation.ts';
import { createRedaction, type Redaction } from '../rules/redact.ts';
import { MemorySessionStore, type SessionStore } from '../sessions.ts';
import { CollectingSink } from '../sinks/collecting.ts';
import { FileSink, StdoutSink } from '../sinks/line.ts';
import { defaultCloseTimeout, ServerSink } from '../sinks/server.ts';
import { CompositeSink, type Sink } from '../sinks/sink.ts';
import { installedTelemetry, noTelemetry, type Telemetry, telemetryOf } from '../telemetry.ts';
import type { ServerListing } from '../tools/reporter.ts';
import { ToolReports } from '../tools/tool-reports.ts';
import { judgedArguments, judgedCopy } from './arguments.ts';
import type { Governs, RunOptions, ToolArgs } from './call.ts';
import { checkConnectOptions, checkEvaluateOptions, checkGuardOptions, checkRunOptions } from './checks.ts';
import { closeServerSink } from './closing.ts';
import { connectGuard } from './connect.ts';
import { Outcomes } from './counters.ts';
import { tellFindings } from './findings.ts';
import { compilePolicy, type YamlSource } from './language.ts';
import type { ConnectOptions, EvaluateOptions, GuardOptions } from './options.ts';
import { ParentCalls } from './parents.ts';
import type { DryRun, Policy } from './policy.ts';
import { GovernedCall } from './run.ts';

/** Counts of a guard's events for the hub. */
export interface EventCounts {
  /** Events that the hub does not have yet. */
  readonly waiting: number;
  /** Events lost because the buffer was full. */
  readonly dropped: number;
  /** Events that the hub does not store: malformed, or of an agent that the key is not bound to. */
  readonly refused: number;
}

/** Records that a guard keeps in memory by default. */
const maxEvents = 1000;
/** A guard keeps the counts of this many runs for `call_index`. */
const maxRuns = 10_000;

/**
 * Checks every call of a tool against contracts before it runs, asks people where a contract requires that, and records
 * the outcome. One guard serves any number of calls at once. Make it with `fromYaml`, `fromFile` or `connect`.
 */
export class Guard implements Governs {
  /** The newest records of this guard, in memory. */
  readonly events: CollectingSink;
  /** The run its calls are counted in, unless a call names another: `options.sessionId`, or a new UUID. */
  readonly sessionId: string;
  readonly #options: GuardOptions;
  readonly #onError: OnError;
  readonly #sink: Sink;
  #serverSink: ServerSink | null = null;
  readonly #sessions: SessionStore;
  readonly #outcomes = new Outcomes();
  readonly #clock: Clock;
  readonly #telemetry: Promise<Telemetry>;
  readonly #redaction: Redaction;
  readonly #parents = new ParentCalls();
  readonly #callCounts = new Map<string, number>();
  readonly #closers: (() => Promise<void>)[] = [];
  readonly #toolReports: ToolReports;
  /** The mode of the hub that it follows; null: it follows none. */
  readonly #hubIsolation: (() => IsolationMode) | null;
  #policy: Policy;

  /** Use `fromYaml`, `fromFile` or `connect`. */
  private constructor(policy: Policy, options: GuardOptions, hubIsolation: (() => IsolationMode) | null) {
    this.#policy = policy;
    this.#options = options;
    this.#hubIsolation = hubIsolation;
    this.#onError = options.onError ?? (() => {});
    const keyPrefix = options.hub?.http.keyPrefix ?? null;
    this.#redaction = createRedaction({
      ...options.redaction,
      keyPrefixes: [...(options.redaction?.keyPrefixes ?? []), ...(keyPrefix === null ? [] : [keyPrefix])],
    });
    this.sessionId = options.sessionId ?? randomUUID();
    this.events = new CollectingSink(options.maxEvents ?? maxEvents);
    this.#sessions = options.sessions ?? new MemorySessionStore();
    this.#clock = options.clock ?? options.hub?.http.clock ?? systemClock;
    this.#toolReports = new ToolReports({
      http: options.hub?.http ?? null,
      clock: this.#clock,
      onError: this.#onError,
    });
    this.#sink = new CompositeSink([this.events, ...this.#sinksOf(options, hubIsolation !== null)]);
    const { openTelemetry } = options;
    if (openTelemetry === undefined) this.#telemetry = installedTelemetry();
    else this.#telemetry = Promise.resolve(openTelemetry ? telemetryOf(openTelemetry) : noTelemetry);
  }

  /**
   * A guard over one YAML document, or over several in layers: later ones win, `observe_alongside` ones only record.
   * @throws TypeError naming an option that cannot be; ConfigurationError naming every problem of the contracts
   */
  static fromYaml(yaml: YamlSource | readonly YamlSource[], options: GuardOptions = {}): Guard {
    checkGuardOptions(options);
    const policy = compilePolicy(yaml, options, options.onFindings !== null);
    const guard = new Guard(policy, options, null);
    tellFindings(policy, options);
    return guard;
  }

  /**
   * A guard over a YAML file, or over several in layers, read once.
   * @throws TypeError naming a file that cannot be read, or an option that cannot be; ConfigurationError naming every
   *   problem of the contracts
   */
  static async fromFile(path: string | readonly string[], options: GuardOptions = {}): Promise<Guard> {
    checkGuardOptions(options);
    const layers = [path].flat().map(async (one) => {
      if (typeof one !== 'string' || one === '') throw new TypeError('path must be the path of a YAML file');
      return readFile(one).catch((failure: NodeJS.ErrnoException) => {
        throw new TypeError(`path: ${one} cannot be read (${failure.code ?? failure.message})`, {
          cause: failure,
        });
      });
    });
    return Guard.fromYaml(await Promise.all(layers), options);
  }

  /**
   * A guard over the bundle that a hub deploys, kept up to date by it. Must be closed.
   * @throws TypeError naming an option that cannot be; ConfigurationError when there is no bundle that can be used
   */
  static async connect(options: ConnectOptions): Promise<Guard> {
    checkConnectOptions(options);
    return connectGuard(options, (policy, own, hubIsolation) => {
      const guard = new Guard(policy, own, hubIsolation);
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

  /** Counts of its events for the hub; null without a hub. */
  get eventCounts(): EventCounts | null {
    if (!this.#serverSink) return null;
    const { size, dropped, refused } = this.#serverSink;
    return { waiting: size, dropped, refused };
  }

  /** Receiver of approval requests from its calls; null: none. */
  get approvals(): ApprovalBackend | null {
    return this.#options.approvals ?? this.#options.hub?.approvals ?? null;
  }

  /** Effect of a denial: `enforce` stops the call, `observe` records the denial and lets the call run. */
  get mode(): GuardMode {
    return this.#modeOf(this.#policy);
  }

  /**
   * The least isolation of programs that its tools run with `exec` of `reeve-agent/exec`: the stricter one of the
   * option and, with `connect`, of the mode in the hub's tool settings.
   */
  get isolation(): IsolationMode {
    return stricterMode(this.#options.isolation ?? 'none', this.#hubIsolation?.() ?? 'none');
  }

  /**
   * Puts other contracts in use; calls under way end by the old ones.
   * @throws ConfigurationError, and the old ones stay
   */
  reload(yaml: YamlSource | readonly YamlSource[]): void {
    this.#policy = compilePolicy(yaml, this.#options, this.#options.onFindings !== null);
    tellFindings(this.#policy, this.#options);
  }

  /**
   * Puts one call of a tool through the contracts and, when they allow it, calls `fn` with the arguments. They may hold
   * bytes, signals, streams and functions, which reach `fn` as they are. A call is denied when `fn` could find
   * something else in the arguments than was judged (`arguments_in_doubt`: getters, proxies, promises, hidden fields,
   * objects that turn into texts), or when they were changed since (`arguments_changed`).
   * @returns what `fn` returned, as post contracts left it
   * @throws DeniedError when the call is denied; whatever `fn` throws; ResultReplacedError when post contracts left
   *   only text of a result that was none; TypeError for a tool name, arguments or options that cannot be; storage
   *   failures of the counters
   */
  async run<A extends object, R>(
    tool: string,
    args: A,
    fn: (args: A) => R | PromiseLike<R>,
    options: RunOptions<R> = {},
  ): Promise<R> {
    checkTool(tool);
    if (typeof fn !== 'function') throw new TypeError('fn must be a function: the tool itself');
    checkRunOptions(options);
    const judged = judgedArguments(args);
    const runId = options.sessionId ?? this.sessionId;
    const own = this.#options;
    const { approvals } = this;
    const place = {
      runId,
      callIndex: options.rounds?.earlier?.callIndex ?? this.#nextIndex(runId),
      parentCallId: options.parentCallId !== undefined ? options.parentCallId : this.#parents.current(),
      environment: options.environment ?? this.#environment,
      principal: options.principal !== undefined ? options.principal : (own.principal ?? null),
    };
    const parts = {
      policy: this.#policy,
      currentPolicy: () => this.#policy,
      modeOf: (policy: Policy) => this.#modeOf(policy),
      hooks: own.hooks ?? [],
      contracts: own.contracts ?? [],
      matches: globMatch,
      sessions: this.#sessions,
      outcomes: this.#outcomes,
      approvals: options.approvals ? options.approvals(approvals) : approvals,
      within: <T>(callId: string, task: () => T): T => this.#parents.within(callId, task),
      sink: this.#sink,
      redaction: this.#redaction,
      telemetry: await this.#telemetry,
      clock: own.clock ?? systemClock,
      onError: this.#onError,
      strict: own.strictAudit ?? false,
    };
    return new GovernedCall<A, R>(parts, place, { tool, args, judged }, options).run(fn);
  }

  /**
   * Evaluates all contracts of the document without effects: nothing is run, counted, asked or recorded.
   * Hooks and contracts as code are not asked. @throws TypeError as `run`
   */
  evaluate(tool: string, args: ToolArgs, options: EvaluateOptions = {}): DryRun {
    checkTool(tool);
    checkEvaluateOptions(options);
    const call = {
      tool,
      args: judgedCopy(args),
      environment: options.environment ?? this.#environment,
      principal: options.principal !== undefined ? options.principal : (this.#options.principal ?? null),
      metadata: options.metadata ?? {},
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    };
    return this.#policy.dryRun(call, options.output);
  }

  /**
   * True if the document refuses every call of the tool, whatever its arguments, so that the tool need not be offered.
   * False if the result depends on arguments, counters or code. @throws TypeError for a name that no tool can have
   */
  refusesAlways(tool: string, options: EvaluateOptions = {}): boolean {
    checkTool(tool);
    checkEvaluateOptions(options);
    if (this.mode === 'observe') return false;
    return this.#policy.refusesAlways({
      tool,
      args: {},
      environment: options.environment ?? this.#environment,
      principal: options.principal !== undefined ? options.principal : (this.#options.principal ?? null),
    });
  }

  /**
   * Paths of arguments that are looked at by their names in calls of a tool, as lists of steps: those of contracts in
   * force and of the option `toolArguments`. Contracts as code are left out. @throws TypeError for a name that no
   * tool can have
   */
  argumentPaths(tool: string): readonly (readonly string[])[] {
    checkTool(tool);
    const declared = Object.entries(this.#options.toolArguments ?? {}).flatMap(([pattern, kinds]) =>
      globMatch(pattern, tool) ? Object.keys(kinds).map((path) => path.split('.')) : [],
    );
    return [...this.#policy.argumentPaths(tool), ...declared];
  }

  /**
   * Reports the tools that an MCP server lists to the hub, if they differ from its last list. Nothing is refused. A
   * failure goes to `onError`. Without a hub, nothing happens.
   * @param server the label of the server
   */
  reportTools(server: string, listing: ServerListing): void {
    this.#toolReports.report(server, listing);
  }

  /**
   * Ends the connection to the hub, delivers what sinks hold and closes them. It gives up when the hub has taken no
   * batch for `closeTimeout`. With the hub away, a warning of the Node process contains the number of waiting events
   * and their file. Another one contains the number of lost events.
   * @throws AggregateError of what else failed
   */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    this.#toolReports.close();
    const { closeTimeout = defaultCloseTimeout } = this.#options;
    const counted = inTime(this.#clock, closeTimeout, this.#outcomes.settled(), true)
      .then((isDone) => {
        if (isDone) return;
        const failure = new Error(`not done within ${closeTimeout} ms`);
        this.#onError(failure, 'counting the outcome of a call');
      })
      .catch((failure: unknown) => failures.push(failure));
    for (const close of [...this.#closers.splice(0), async () => this.#sink.close?.()]) {
      await close().catch((failure: unknown) => failures.push(failure));
    }
    await counted;
    if (failures.length > 0) throw new AggregateError(failures, 'closing the guard failed in part');
  }

  #modeOf(policy: Policy): GuardMode {
    return this.#options.mode ?? policy.bundle.mode;
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
      const server = new ServerSink({
        post: hub.postEvents,
        agentId: hub.agentId,
        bundleName: () => this.#policy.name,
        // The hub knows the contracts it deployed itself.
        manifest: () => (remote ? null : this.#policy.manifest(hub.agentId)),
        clock: options.clock ?? hub.http.clock,
        closeTimeout: options.closeTimeout ?? defaultCloseTimeout,
        onError: this.#onError,
        ...(options.spoolFile === undefined ? {} : { spoolFile: options.spoolFile }),
      });
      this.#serverSink = server;
      sinks.push({
        emit: options.strictAudit ? (record) => server.emit(record) : onceWhileFull(server),
        close: () => closeServerSink(server, options.spoolFile, this.#onError),
      });
    }
    // Only contracts of the agent's own may name a file on its disk.
    const { file, stdout } = this.#policy.observability;
    if (!remote && file !== null) sinks.push(new FileSink(file));
    if (!remote && stdout) sinks.push(new StdoutSink());
    return [...sinks, ...(options.sinks ?? [])];
  }
}

/** Emits to the sink; of the refusals while its buffer stays full, only the first is thrown. */
function onceWhileFull(sink: Sink): Sink['emit'] {
  let isFull = false;
  return async (record) => {
    try {
      await sink.emit(record);
      isFull = false;
    } catch (failure) {
      const isRepeat = isFull && failure instanceof BufferFullError;
      isFull = failure instanceof BufferFullError;
      if (!isRepeat) throw failure;
    }
  };
}

/** @throws TypeError */
function checkTool(tool: string): void {
  const problem = toolNameProblem(tool);
  if (problem) throw new TypeError(problem);
}
